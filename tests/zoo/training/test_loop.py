"""Training: the draws are the scheme's, every setting has its effect, and what cannot work is said at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from torch import nn

from ecm import ECM, ECMError
from smoothing import Noise, Scheme
from zoo.certification import certify
from zoo.data import Dataset, load_data
from zoo.distributed import choose_device
from zoo.errors import CheckpointError, ModelError, TrainingError
from zoo.files import alone, load_tensors, save_tensors, write_atomically
from zoo.folder import CHECKPOINT
from zoo.models import Model, load
from zoo.training.journal import Journal
from zoo.training.objectives import FIT, OBJECTIVES, SHARPNESS, WIDTH, consistency, noisy, radius, stability
from zoo.training.optimizer import Average, learning_rate, make_optimizer
from zoo.training.recipe import Recipe, preset
from zoo.training.run import train
from zoo.training.samples import base_accuracy, draw_samples
from zoo.training.scheme import make_scheme

METRIC = ECM.lp("1/2", 3)
TINY: dict[str, Any] = {"epochs": 1, "budget": 24, "progress": False, "device": "cpu"}


@pytest.fixture(scope="module")
def table() -> Dataset:
    """Two well separated clouds of levels."""
    random = np.random.RandomState(0)
    labels = np.arange(400) % 2
    levels = np.clip(random.randint(0, 5, (400, 6)) + 8 * labels[:, None], 0, 15)
    return Dataset.from_arrays((levels, labels), q=15, name="clouds")


def weights(model: Model) -> dict[str, torch.Tensor]:
    return load_tensors(model.path / "model.safetensors")[0]


def test_a_short_run_learns_and_leaves_a_complete_folder(table: Dataset, tmp_path: Path) -> None:
    """The folder holds weights, scheme, card and metrics, no checkpoint, and reads back as the same function."""
    model = train("z**0.5/2", table, out=tmp_path / "run", **{**TINY, "epochs": 6})
    assert model.card["accuracy"]["base"]["value"] > 0.85
    assert model.card["training"]["lr"] == 0.1
    assert sorted(p.name for p in (tmp_path / "run").iterdir() if p.is_file()) == [
        "README.md",
        "card.json",
        "config.json",
        "metrics.jsonl",
        "model.safetensors",
        "scheme.json",
    ]
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6]
    again = Model.read(tmp_path / "run")
    shown = torch.rand(5, 12)
    assert torch.equal(again.base(shown), model.base(shown))
    assert model.smoothed().votes(table.test.images[:2]).shape == (2, model.scheme.samples)


def test_equal_seeds_give_equal_weights_and_others_do_not(table: Dataset, tmp_path: Path) -> None:
    """A run is a function of its settings and its seed."""
    first, second, other = (
        weights(train(METRIC, table, out=tmp_path / name, seed=seed, **TINY))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["network.1.weight"], other["network.1.weight"])


def test_the_global_generator_is_left_alone(table: Dataset, tmp_path: Path) -> None:
    """Training draws from its own generators."""
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(METRIC, table, out=tmp_path / "run", **TINY)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_every_objective_trains(objective: str, tmp_path: Path) -> None:
    """Some digits, each objective, in a network with batch norm."""
    digits = load_data("digits")
    data = Dataset.from_arrays((digits.test.take(range(200)), digits.test.labels[:200]), q=16)
    model = train(METRIC, data, model="small_cnn", out=tmp_path / "run", objective=objective, **TINY)
    assert model.card["training"]["objective"] == objective


def test_the_divergence_of_two_draws_can_be_given_another_weight(table: Dataset, tmp_path: Path) -> None:
    """6 is the usual one of `stability`, another gives other weights."""
    usual, same, other = (
        train(METRIC, table, out=tmp_path / str(weight), objective="stability", divergence=weight, **TINY)
        for weight in (None, 6.0, 1.0)
    )
    assert usual.card["weights"] == same.card["weights"] != other.card["weights"]


def test_image_folders_train_end_to_end(tmp_path: Path) -> None:
    """A folder of JPEGs streams through the loader into the network."""
    from PIL import Image

    for half in ("train", "val"):
        for label in ("dark", "light"):
            (tmp_path / "pets" / half / label).mkdir(parents=True)
            for k in range(4):
                image = Image.new("RGB", (230, 250), (200, 180, 190) if label == "light" else (20, 40, 30 + k))
                image.save(tmp_path / "pets" / half / label / f"{k}.jpg")
    model = train(METRIC, tmp_path / "pets", out=tmp_path / "run", batch=4, **TINY)
    assert model.card["data"]["shape"] == [3, 224, 224]
    assert model.card["accuracy"]["base"]["images"] == 8


def test_a_finished_run_is_returned_and_another_one_is_not_overwritten(table: Dataset, tmp_path: Path) -> None:
    """The same call gives the same model without training; a different one names what differs."""
    out = tmp_path / "run"
    train(METRIC, table, out=out, **TINY)
    changed = (out / "model.safetensors").stat().st_mtime_ns
    train(METRIC, table, out=out, **TINY)
    assert (out / "model.safetensors").stat().st_mtime_ns == changed
    with pytest.raises(CheckpointError, match=r"different settings: training.lr is 0.1 there, 0.3 here"):
        train(METRIC, table, out=out, lr=0.3, **TINY)
    train(METRIC, table, out=out, lr=0.3, resume=False, **TINY)


def test_a_folder_from_before_there_were_optimizers_is_of_sgd(table: Dataset, tmp_path: Path) -> None:
    """A setting that an old card does not name had one value."""
    train(METRIC, table, out=tmp_path, **TINY)
    card = json.loads((tmp_path / "card.json").read_text())
    del card["training"]["optimizer"]
    (tmp_path / "card.json").write_text(json.dumps(card))
    train(METRIC, table, out=tmp_path, **TINY)
    with pytest.raises(CheckpointError, match=r"training.optimizer is 'sgd' there, 'muon' here"):
        train(METRIC, table, out=tmp_path, optimizer="muon", **TINY)


def test_a_run_can_start_from_a_finished_model(tmp_path: Path) -> None:
    """Its network and normalisation are taken; without any epoch the function is the same, under another scheme too; a
    layer that reads fewer planes sums the kernels, so a bin without width looks the same to it."""
    settings: dict[str, Any] = {"progress": False, "device": "cpu", "model": "small_cnn", "budget": 8}
    first = train("z/2", "digits", epochs=1, out=tmp_path / "first", **settings)
    same = train("z**0.5/3", "digits", start=tmp_path / "first", epochs=0, budget=12, out=tmp_path / "same")
    shown = torch.rand(4, 2, 8, 8)
    assert torch.equal(first.base(shown), same.base(shown))
    assert same.card["training"]["start"] == {"name": "first", "weights": first.card["weights"]}
    scheme = Scheme(first.scheme.design, (1, 8, 8), representation="center")
    center = train(scheme, "digits", start=first, epochs=0, out=tmp_path / "center", progress=False)
    both = torch.cat([shown[:, :1]] * 2, 1)
    stems = center.base.network.stem(shown[:, :1]), first.base.network.stem(both)
    assert torch.allclose(*stems, atol=1e-5)
    with pytest.raises(TrainingError, match="'small_cnn' is not the one to train"):
        train("z/2", "digits", model="mlp", start=first, out=tmp_path / "mlp", progress=False)
    again: dict[str, Any] = {"epochs": 0, "budget": 12, "lr": 0.05, "progress": False, "model": "small_cnn"}
    train("z**0.5/3", "digits", start=first, out=tmp_path / "started", **again)
    with pytest.raises(CheckpointError, match=r"training.start.name is 'first' there, None here"):
        train("z**0.5/3", "digits", out=tmp_path / "started", **again)
    few = Dataset.from_arrays((np.zeros((40, 1, 8, 8), int), np.arange(40) % 2), q=16, name="few")
    with pytest.raises(TrainingError, match="same data and classes"):
        train("z/2", few, start=first, out=tmp_path / "few", progress=False)


def test_a_scheme_can_be_given_whole(table: Dataset, tmp_path: Path) -> None:
    """Fixed Lambda, global Lambda, permutations: a scheme is taken as it is, if it fits the data."""
    scheme = Scheme.l1(2, shape=(6,), q=15, coupling="permutation", representation="center_error")
    model = train(scheme, table, out=tmp_path / "run", **{**TINY, "budget": None})
    assert model.scheme == scheme
    with pytest.raises(TrainingError, match=r"the scheme is for inputs of shape \(5,\)"):
        train(Scheme.l1(2, shape=(5,), q=15), table, out=tmp_path / "other", **TINY)


class Explodes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, 2)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += self.training
        logits: torch.Tensor = self.linear(x)
        return logits * float("nan") if self.calls > 3 else logits


def test_a_loss_that_becomes_nan_stops_the_run_and_keeps_the_last_good_state(table: Dataset, tmp_path: Path) -> None:
    """What was saved before stays, is finite, and the error says what to change."""
    settings = {**TINY, "epochs": 3, "checkpoint_seconds": 0.0}
    with pytest.raises(TrainingError, match=r"NaN or infinite at step 3 .* its last good state is kept"):
        train(METRIC, table, model=Explodes(), out=tmp_path / "run", **settings)
    tensors, facts = load_tensors(tmp_path / "run" / CHECKPOINT)
    assert facts["step"] == 3
    assert all(bool(value.isfinite().all()) for value in tensors.values())


def test_a_device_that_is_not_there_is_an_error() -> None:
    """A GPU asked for by name is never silently replaced."""
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="sees 0 CUDA devices"):
            choose_device("cuda")
    with pytest.raises(TrainingError, match="unknown"):
        choose_device("gpu9")
    assert choose_device().type in ("cpu", "cuda", "mps")


def test_a_folder_that_cannot_be_written_is_an_error(table: Dataset, tmp_path: Path) -> None:
    """The message names the folder before any training."""
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match=r"run folder .*file/run cannot be used"):
        train(METRIC, table, out=tmp_path / "file" / "run", **TINY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 1}, "unknown training setting 'learning_rate'"),
        ({"lr": -1}, "lr = -1"),
        ({"lr": "fast"}, "lr = 'fast': write a number"),
        ({"batch": 2.5}, "batch = 2.5: write a whole number"),
        ({"lr": float("nan")}, "lr = nan"),
        ({"objective": "stable"}, "objective = 'stable'"),
        ({"schedule": "step"}, "schedule = 'step'"),
        ({"preset": "quick"}, "preset 'quick'"),
        ({"shift": "False"}, "shift = 'False': write true or false"),
        ({"nesterov": 1}, "nesterov = 1: write true or false"),
        ({"bits": 4}, "bits = 4: write one of 32, 16, 8"),
        (
            {"divergence": 1.0},
            "divergence = 1.0: the objective 'noisy' has no such setting",
        ),
        ({"aim": 0.2, "objective": "stability"}, "aim = 0.2: the objective 'stability' has no such setting"),
        ({"aim": 0.6, "objective": "radius"}, "aim = 0.6: it lies between 0 and 0.5"),
        ({"divergence": -1, "objective": "stability"}, "divergence = -1: it lies between 0 and"),
    ],
)
def test_settings_that_make_no_run_are_refused(
    changes: dict[str, Any], message: str, table: Dataset, tmp_path: Path
) -> None:
    """Before anything is computed."""
    with pytest.raises(TrainingError, match=message):
        train(METRIC, table, out=tmp_path / "run", **TINY, **changes)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(5, 2), r"Linear cannot read inputs of shape \(2, 12\) .* reads 12 channels or columns and gives 2"),
        (nn.Linear(12, 7), r"Linear maps \(2, 12\) to \(2, 7\), not to \(2, 2\)"),
        (nn.Linear(12, 1), r"Linear maps \(2, 12\) to \(2, 1\)"),
        (nn.Linear(12, 2).requires_grad_(False), "has nothing to train"),
        (lambda columns, classes: None, "gave a NoneType: it must return a torch.nn.Module"),
        (nn.LSTM, r"to tuple, not to"),
        (
            nn.Sequential(nn.BatchNorm1d(12, track_running_stats=False), nn.Linear(12, 2)),
            r"cannot read inputs of shape \(1, 12\)",
        ),
    ],
)
def test_a_network_that_does_not_fit_the_data_is_refused_at_once(
    model: Any, message: str, table: Dataset, tmp_path: Path
) -> None:
    """Too many classes would be found out only when votes are cast; a wrong input by an error from within torch."""
    with pytest.raises(ModelError, match=message):
        train(METRIC, table, model=model, out=tmp_path / "run", **TINY)
    assert not (tmp_path / "run").exists()


def test_what_is_no_metric_start_or_budget_of_the_scheme_is_refused(table: Dataset, tmp_path: Path) -> None:
    """Each with what to write instead."""
    scheme = make_scheme(METRIC, table, preset("fast", 320, (6,)), 24)
    for metric, options, message in (
        (3, {}, "a metric of type int: give an ECM"),
        (scheme, {"budget": 25}, "budget = 25, but the scheme has 24 outcomes: leave the budget out"),
        (METRIC, {"start": 3}, "a model of type int: give its folder or its name"),
    ):
        with pytest.raises(ECMError, match=message):
            train(metric, table, out=tmp_path / "run", **{**TINY, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_of_another_network_is_not_continued(finished: bool, table: Dataset, tmp_path: Path) -> None:
    """Two networks of one class name: the error is ours, and what is there stays."""
    train(METRIC, table, model=nn.Sequential(nn.Linear(12, 2)), out=tmp_path, **TINY)
    if not finished:
        (tmp_path / "card.json").unlink()
        tensors = {f"base.{name}": value for name, value in load_tensors(tmp_path / "model.safetensors")[0].items()}
        identity: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("zoo.training.run.fit", lambda run: identity.update(attrs.asdict(run.identity)) or sys.exit())
            with pytest.raises(SystemExit):
                train(METRIC, table, model=nn.Sequential(nn.Linear(12, 2)), out=tmp_path, **TINY)
        save_tensors(tmp_path / CHECKPOINT, tensors, {"step": 1, "sums": [0, 0, 0], "run": identity})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".safetensors"}
    with pytest.raises((ModelError, CheckpointError), match=r"do not fit the network|is of another network"):
        train(METRIC, table, model=nn.Sequential(nn.Linear(12, 3), nn.Linear(3, 2)), out=tmp_path, **TINY)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".safetensors"}


def test_a_module_serves_for_many_runs(table: Dataset, tmp_path: Path) -> None:
    """Training leaves the user's module as it was: the next run with it does not begin where the last one ended."""
    torch.manual_seed(0)
    network = nn.Linear(12, 2)
    before = network.weight.detach().clone()
    first, second = (train(METRIC, table, model=network, out=tmp_path / name, **TINY) for name in "ab")
    assert torch.equal(network.weight, before)
    assert first.card["weights"] == second.card["weights"]
    network.held = (f for f in ())  # a generator has no copy
    with pytest.raises(ModelError, match=r"cannot be copied .*: pass a function that makes it"):
        train(METRIC, table, model=network, out=tmp_path / "c", **TINY)


def test_tied_weights_train_and_are_saved(table: Dataset, tmp_path: Path) -> None:
    """Two layers may share a matrix, as language models do."""

    def tied(columns: int, classes: int) -> nn.Module:
        network = nn.Sequential(nn.Linear(columns, columns), nn.Linear(columns, columns), nn.Linear(columns, classes))
        network[1].weight = network[0].weight
        return network

    model = train(METRIC, table, model=tied, out=tmp_path, **TINY)
    again = load(tmp_path, base=tied(12, 2))
    assert torch.equal(again.base.network[1].weight, model.base.network[0].weight)


def test_one_process_trains_in_a_folder(table: Dataset, tmp_path: Path) -> None:
    """Another one is refused before it removes or writes anything."""
    (tmp_path / ".model.safetensors.1.part").write_text("of the process at work")
    with alone(tmp_path), pytest.raises(ECMError, match="in use by another process: wait"):
        train(METRIC, table, out=tmp_path, **TINY)
    assert [path.name for path in tmp_path.iterdir()] == [".model.safetensors.1.part"]


def test_a_run_that_is_replaced_takes_its_certification_with_it(table: Dataset, tmp_path: Path) -> None:
    """Votes, table and accuracies of the old weights are not left for the new ones."""
    first = train(METRIC, table, out=tmp_path, **TINY)
    certify(first, table, limit=3, progress=False)
    train(METRIC, table, out=tmp_path, seed=1, resume=False, **TINY)
    names = {path.name for path in tmp_path.iterdir()}
    assert not names & {"votes", "certify.tsv", "certify.json"}
    assert "certification" not in load(tmp_path).card


def test_a_damaged_line_of_the_journal_is_dropped(tmp_path: Path) -> None:
    """A full disk may leave half a line anywhere; a resumed run keeps the others up to its step."""
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"st\n[]\n{"step": 5}\n{"step": 9}\n{"step"')
    Journal(tmp_path, "digits", steps=10, start=5, show=False)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n{"step": 5}\n'


def test_training_draws_every_sample_as_often_as_it_votes() -> None:
    """Uniform over B for equal samples; by weight for a global Lambda."""
    design = ECM.lp("1/2", 2).design(60, 16, kind="periodic")
    scheme = Scheme(design, (2,), coupling="global")
    drawn = torch.bincount(draw_samples(scheme, (60_000,), "test"), minlength=scheme.samples)
    assert scheme.weights is not None
    expected = 60_000 * torch.from_numpy(scheme.weights.copy()) / scheme.total
    assert bool(((drawn - expected).abs() < 6 * expected.sqrt() + 1).all())
    plain = Scheme(design, (2,))
    drawn = torch.bincount(draw_samples(plain, (60_000,), "test"), minlength=60)
    assert bool(((drawn - 1000).abs() < 6 * 1000**0.5).all())


def test_the_base_accuracy_is_that_of_single_samples(table: Dataset) -> None:
    """A base that always answers 0 is right on the zeros; the number of images is told."""

    class Zero(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.eye(2)[torch.zeros(len(x), dtype=torch.int64)]

    noise = Noise(Scheme.l1(2, shape=(6,), q=15))
    found = base_accuracy(Zero(), noise, table.test, limit=50)
    assert found["value"] == float((table.test.labels[:50] == 0).double().mean())
    assert found["images"] == 50


def test_objectives_against_their_formulas() -> None:
    """Stability and consistency, written out in double precision."""
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0])
    p, q = logits.softmax(-1)
    kl = lambda a, b: (a * (a / b).log()).sum(-1).mean()  # noqa: E731
    ce = lambda a: -a[torch.arange(5), labels].log().mean()  # noqa: E731
    assert torch.isclose(noisy(logits, labels), ce(p))
    assert torch.isclose(stability(logits, labels), ce(p) + 6 * kl(p, q))
    assert torch.isclose(stability(logits, labels, divergence=0.5), ce(p) + 0.5 * kl(p, q))
    mean = (p + q) / 2
    entropy = -(mean * mean.log()).sum(-1).mean()
    wanted = (ce(p) + ce(q)) / 2 + 10 * (kl(mean, p) + kl(mean, q)) / 2 + 0.5 * entropy
    assert torch.isclose(consistency(logits, labels), wanted)


def test_the_radius_objective_counts_the_images_that_miss_their_radius() -> None:
    """Written out image by image; and its gradient is largest for an image at the threshold, not for a lost one."""
    torch.manual_seed(0)
    logits = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    labels, aim = torch.tensor([4, 0, 2]), 0.1
    missed = 0.0
    for k, label in enumerate(labels.tolist()):
        shares = logits[:, k].softmax(-1).mean(0).tolist()
        rival = max((j for j in range(5) if j != label), key=lambda j: shares[j])
        share = torch.sigmoid(SHARPNESS * (logits[:, k, label] - logits[:, k, rival])).mean()
        missed += torch.sigmoid((0.5 + aim - share) / WIDTH) / 3
    assert torch.isclose(radius(logits, labels, aim=aim), missed + FIT * noisy(logits.view(1, 12, 5), labels.repeat(4)))

    margins = torch.linspace(-1.5, 1.5, 25, dtype=torch.float64)
    pushes = []
    for margin in margins:
        leaf = torch.stack([margin, torch.zeros_like(margin)]).expand(4, 1, 2).clone().requires_grad_()
        label = torch.zeros(1, dtype=torch.long)
        (radius(leaf, label, aim=aim) - FIT * noisy(leaf.view(1, 4, 2), label.repeat(4))).backward()
        pushes.append(float(leaf.grad.abs().sum()))
    steepest = float(torch.sigmoid(SHARPNESS * margins[pushes.index(max(pushes))]))
    assert abs(steepest - (0.5 + aim)) < 0.1
    assert max(pushes) > 10 * max(pushes[0], pushes[-1])


def test_the_aim_of_the_radius_objective_counts(table: Dataset, tmp_path: Path) -> None:
    """0.22 is the usual one, another gives other weights."""
    usual, same, other = (
        train(METRIC, table, out=tmp_path / str(aim), objective="radius", aim=aim, **TINY) for aim in (None, 0.22, 0.05)
    )
    assert usual.card["weights"] == same.card["weights"] != other.card["weights"]


@pytest.mark.parametrize("schedule", ["one_cycle", "cosine"])
def test_the_learning_rate_rises_falls_and_never_exceeds_its_peak(schedule: Any) -> None:
    """Up during the warm-up, down to `final` afterwards."""
    recipe = Recipe(epochs=1, lr=0.5, warmup=0.3, final=0.1, schedule=schedule)
    rates = [learning_rate(recipe, step, 100) for step in range(100)]
    assert rates[:30] == sorted(rates[:30])
    assert rates[30:] == sorted(rates[30:], reverse=True)
    assert max(rates) == 0.5
    assert 0.05 <= rates[-1] < 0.07


def test_norms_and_biases_are_not_decayed() -> None:
    """Only tensors with two axes or more lose weight."""
    network = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))
    groups = make_optimizer(network, Recipe(epochs=1)).param_groups
    assert {p.ndim for p in groups[0]["params"]} == {4, 2}
    assert {p.ndim for p in groups[1]["params"]} == {1}
    assert (groups[0]["weight_decay"], groups[1]["weight_decay"]) == (5e-4, 0.0)


def test_the_average_follows_weights_and_running_statistics() -> None:
    """After many equal steps it is what it averages; with decay 0 it is the module itself."""
    norm = nn.BatchNorm1d(2)
    average = Average(norm, 0.9)
    norm.running_mean.fill_(3.0)  # type: ignore[union-attr]
    with torch.no_grad():
        norm.weight.fill_(2.0)
    for step in range(200):
        average.update(step)
    assert torch.allclose(average.state["running_mean"], torch.full((2,), 3.0))
    assert torch.allclose(average.state["weight"], torch.full((2,), 2.0))
    assert Average(norm, 0.0).state["weight"].data_ptr() == norm.weight.data_ptr()


def test_equal_tensors_and_facts_are_equal_files(tmp_path: Path) -> None:
    """A model is known by the sha256 of its weights: the same run again, or resumed, is the same model."""
    tensors = {"b": torch.arange(3.0), "a": torch.ones(2, 2, dtype=torch.bfloat16), "n": torch.tensor(7)}
    contents = set()
    for k in range(8):
        save_tensors(tmp_path / str(k), tensors, {"text": 'é "x"', "step": 1})
        contents.add((tmp_path / str(k)).read_bytes())
    assert len(contents) == 1
    again, facts = load_tensors(tmp_path / "0")
    assert facts == {"text": 'é "x"', "step": 1}
    assert all(torch.equal(again[name], value) for name, value in tensors.items())


def test_checkpoints_are_whole_or_refused(tmp_path: Path) -> None:
    """Truncated, changed by a bit, or another kind of file: each is refused, and what was saved comes back."""
    path = tmp_path / "state.safetensors"
    tensors = {"a": torch.arange(6.0).view(2, 3).t(), "b": torch.tensor(7), "c": torch.rand(3, 2, 4, 4)}
    save_tensors(path, tensors, {"step": 3})
    found, facts = load_tensors(path)
    assert facts == {"step": 3}
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    whole = path.read_bytes()
    for damaged in (whole[:-3], whole[:-1] + bytes([whole[-1] ^ 1]), b"", b"PK\x03\x04 a zip"):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            load_tensors(path)
    with pytest.raises(CheckpointError, match="missing"):
        load_tensors(tmp_path / "nothing")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is an error that says so; the previous content and nothing else remains."""
    path = tmp_path / "state"
    write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device; the previous state is intact"):
        write_atomically(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]
    assert path.read_bytes() == b"old"


def test_a_journal_tells_the_time_left_and_says_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal a line after ten seconds; the remaining steps at the speed so far."""
    clock = iter([0.0, 9.0, 40.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    journal = Journal(tmp_path, "digits", steps=300, start=100, show=True)
    journal.step(110, 1.0, 0.5)
    journal.step(120, 1.0, 0.5)
    assert "steps on digits: 120 of 300, loss 1.000, base accuracy 50.0%, 0:06:00 left" in capsys.readouterr().err
    journal.path = Path("/dev/full")
    with pytest.raises(TrainingError, match=r"could not be written: No space left on device; make room"):
        journal.epoch({"epoch": 1})


def test_tensorboard_is_written_to_when_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of an epoch becomes a scalar at its step."""
    told: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            assert (folder, purge_step) == (str(tmp_path / "tensorboard"), 0)

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, value, step))

    writer = ModuleType("torch.utils.tensorboard.writer")
    writer.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", ModuleType("torch.utils.tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", writer)
    row = {"epoch": 1, "step": 5, "loss": 0.5, "train_base_accuracy": 0.25, "test_base_accuracy": 0.75}
    Journal(tmp_path, "digits", steps=10, start=0, show=False).epoch({**row, "lr": 0.1, "seconds": 1.0})
    assert told[:2] == [("loss", 0.5, 5), ("train_base_accuracy", 0.25, 5)]


def test_presets_name_their_design() -> None:
    """The paper's: 1000 alpha periodic outcomes in the published order; the fast one: 128 alpha aperiodic."""
    paper = preset("paper", 50_000, (3, 32, 32))
    assert (paper.per_alpha, paper.kind, paper.order, paper.recipe.epochs) == (1000, "periodic", "published", 120)
    assert preset("paper", 10**6, (3, 224, 224)).model == "resnet50"
    data = load_data("digits")
    assert make_scheme("z**0.5/3", data, preset("fast", 1438, data.shape), None).total == 128 * 3
    assert make_scheme("z**0.5/3", data, paper, None).total == 1000 * 3
    assert make_scheme("z**0.5/3", data, paper, 30).total == 30
