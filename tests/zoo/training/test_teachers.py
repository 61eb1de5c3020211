"""Learning from finished models: their mean answer replaces labels, and a strong run trains its teachers first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from zoo.cli import app
from zoo.data import Dataset
from zoo.errors import CheckpointError, ModelError, SettingError, TrainingError
from zoo.models import Model, load
from zoo.training import train
from zoo.training.teachers import Teachers, surprise

TINY: dict[str, Any] = {"epochs": 6, "budget": 24, "progress": False, "device": "cpu"}


def clouds(wrong: bool = False, classes: int = 2) -> Dataset:
    """Separated clouds of levels, with the right labels or with each label moved to the next class."""
    random = np.random.RandomState(0)
    labels = np.arange(400) % classes
    levels = np.clip(random.randint(0, 5, (400, 6)) + 16 // classes * labels[:, None], 0, 15)
    return Dataset.from_arrays((levels, (labels + wrong) % classes), q=15, name="clouds")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model that tells the clouds apart."""
    return train("z**0.5/2", clouds(), out=tmp_path_factory.mktemp("runs") / "teacher", **TINY)


@pytest.mark.parametrize(("share", "right"), [(1.0, True), (0.9, True), (0.1, False), (0.0, False)])
def test_a_network_learns_what_its_teacher_answers(
    teacher: Model, tmp_path: Path, *, share: float, right: bool
) -> None:
    """On images with wrong labels the share of the loss decides whether the teacher or the labels are believed."""
    before = {name: value.clone() for name, value in teacher.base.state_dict().items()}
    pupil = train("z**0.5/2", clouds(wrong=True), teacher=teacher, teaching=share, out=tmp_path / "pupil", **TINY)
    accuracy = pupil.card["accuracy"]["base"]["value"]  # against the wrong labels
    assert accuracy < 0.15 if right else accuracy > 0.85
    assert pupil.card["training"]["teacher"] == {"name": "teacher", "weights": teacher.card["weights"]}
    assert all(torch.equal(value, before[name]) for name, value in teacher.base.state_dict().items())


def test_the_mean_logits_of_all_teachers_are_learned(teacher: Model, tmp_path: Path) -> None:
    """Two teachers answer with the mean of their logits, in evaluation mode and without a gradient."""
    other = train("z**0.5/2", clouds(wrong=True), out=tmp_path / "other", **TINY)
    shown = torch.rand(5, 12)
    told = Teachers([teacher, other])(shown)
    torch.testing.assert_close(told, (teacher.base(shown) + other.base(shown)).detach() / 2)
    assert not told.requires_grad


def test_the_surprise_is_a_divergence() -> None:
    """KL(teacher || student) by its formula, for each input; no constant added to logits changes it."""
    logits, told = torch.randn(7, 4), torch.randn(7, 4)
    p, q = told.softmax(-1), logits.softmax(-1)
    torch.testing.assert_close(surprise(logits, told), (p * (p / q).log()).sum(-1).mean())
    torch.testing.assert_close(surprise(logits + 3, told - 2), surprise(logits, told))


def test_teachers_of_other_tasks_are_refused(teacher: Model, tmp_path: Path) -> None:
    """Other classes, other inputs, a model that is not there, and an estimator, which learns from labels alone."""
    with pytest.raises(TrainingError, match="teacher = teacher: it reads other inputs or knows other classes"):
        train("z**0.5/2", clouds(classes=4), teacher=teacher, out=tmp_path / "classes", **TINY)
    with pytest.raises(TrainingError, match="teacher = teacher: it reads other inputs"):
        train("z**0.5/2", "digits", teacher=teacher, out=tmp_path / "inputs", **TINY)
    with pytest.raises(ModelError, match="no-such-model"):
        train("z**0.5/2", clouds(), teacher="no-such-model", out=tmp_path / "none", **TINY)
    with pytest.raises(SettingError, match="leave out start, teacher and epochs"):
        train("sign(z)/2", "iris", model="GaussianNB", teacher=teacher, out=tmp_path / "estimator", progress=False)


def test_a_run_with_other_teachers_is_another_run(teacher: Model, tmp_path: Path) -> None:
    """The folder of a run with a teacher is not continued without it."""
    train("z**0.5/2", clouds(), teacher=teacher, out=tmp_path / "run", **TINY)
    with pytest.raises(CheckpointError, match=r"training.teacher.name is 'teacher' there, None here"):
        train("z**0.5/2", clouds(), out=tmp_path / "run", **TINY)


def test_strong_trains_two_teachers_first(teacher: Model, tmp_path: Path) -> None:
    """They are standard runs with other seeds in the folder of the run; teachers that are given replace them."""
    made = {**TINY, "epochs": 1}
    table = clouds()
    strong = train("z**0.5/2", table, preset="strong", out=tmp_path / "strong", **made)
    assert strong.card["training"]["teacher"]["name"] == "teacher-1 + teacher-2"
    found = [load(tmp_path / "strong" / f"teacher-{k}").card["training"] for k in (1, 2)]
    assert [(one["preset"], one["seed"], one["epochs"] > 1) for one in found] == [
        ("standard", 1, True),
        ("standard", 2, True),
    ]
    again = train("z**0.5/2", table, preset="strong", out=tmp_path / "strong", **made)
    assert again.card == strong.card
    given = train("z**0.5/2", table, preset="strong", teacher=[teacher], out=tmp_path / "given", **made)
    assert given.card["training"]["teacher"]["name"] == "teacher"
    assert not (tmp_path / "given" / "teacher-1").exists()


def test_teachers_on_the_command_line(tmp_path: Path) -> None:
    """`--teacher` takes a name or a folder, several times; one that does not exist is named before anything is done."""
    call = ["train", "z**0.5/4", "--epochs", "0", "--budget", "16", "--out", str(tmp_path / "run")]
    said = CliRunner().invoke(app, [*call, "--teacher", "digits-l0.5-a4", "--teacher", "digits-l0.5-a4"])
    assert said.exit_code == 0, said.output
    card = load(tmp_path / "run").card
    assert card["training"]["teacher"]["name"] == "digits-l0.5-a4 + digits-l0.5-a4"
    refused = CliRunner().invoke(app, [*call, "--teacher", "digits-l0.5-a5"])
    assert isinstance(refused.exception, ModelError) or "digits-l0.5-a5" in refused.output
