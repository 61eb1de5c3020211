"""The paper's experiments as data, and `ecm reproduce`: what was published, what is run, what is said about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from ecm.errors import ECMError
from smoothing import Scheme
from zoo.certification import METHODS
from zoo.cli import app
from zoo.experiments.catalogue import EXPERIMENTS, FAMILIES, find_experiment
from zoo.experiments.checks import check, judge, paired_interval
from zoo.experiments.declarations import Claim, Experiment, Panel, Scale
from zoo.experiments.paper import PublishedTable, published, published_bases
from zoo.experiments.plan import MOST_EPOCHS, SIZES, Plan, Speed
from zoo.experiments.run import default_folder, reproduce
from zoo.experiments.schemes import make_scheme, votes_an_image
from zoo.experiments.table import Reproduction, certified_images
from zoo.files import load_tensors
from zoo.models import read_card

TABLES = [published(name) for name in ("table1-half", "table1-third", "representations", "seeds", "permutations")]
TABLES.append(published("large-alpha"))
PANELS = [(experiment, panel) for experiment in EXPERIMENTS.values() for panel in experiment.panels]
SPEED = Speed(1e-3, 1e-4, 1e-2)
IMAGES = 30


def ecm(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


# ---- what was published ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_published_rows_fall_with_the_radius_and_stay_below_their_clean_accuracy(table: PublishedTable) -> None:
    """Certified accuracy falls strictly in the radius, and the model that is best at a radius never gets a smaller
    alpha or a larger clean accuracy further out."""
    for cells in table.rows.values():
        assert len(cells) == len(table.radii)
        assert all(0 < cell.certified < cell.clean < 100 for cell in cells)
        for near, far in pairwise(cells):
            assert near.certified > far.certified
            assert near.alpha <= far.alpha
            assert near.clean >= far.clean
        for radius, cell in zip(table.radii, cells, strict=True):
            assert (cell.alpha / 2) ** float(1 / table.p) >= radius


@pytest.mark.parametrize("table", [table for table in TABLES if table.bold], ids=lambda table: table.name)
def test_bold_is_the_best_of_the_column(table: PublishedTable) -> None:
    """What the paper sets in bold is the largest number of its column, one at every radius."""
    assert tuple(sorted(table.bold)) == table.radii
    for at, radius in enumerate(table.radii):
        assert table.bold[radius] == max(table.rows, key=lambda label: table.rows[label][at].certified)


def test_a_row_that_stands_in_several_tables_is_the_same_in_all() -> None:
    """Seed 0, cyclic permutations, both channels: the models of Table 1."""
    for kind in ("", ", stability"):
        main = published("table1-half").row(f"Variable Lambda{kind}")
        others = [("seeds", "Seed 0"), ("permutations", "Cyclic"), ("representations", "Upper Lower")]
        assert all(published(name).row(label + kind) == main for name, label in others)
        baseline = f"L&F (2021) from l1{kind}"
        assert published("representations").row(baseline) == published("table1-half").row(baseline)
        clean = {(c.clean, c.alpha) for name in ("half", "third") for c in published(f"table1-{name}").row(baseline)}
        assert len(clean) == len({alpha for _, alpha in clean})  # one l1 model an alpha serves both panels


def test_published_base_accuracies_fall_with_alpha_and_rise_as_p_falls() -> None:
    """And standard training has the better base classifier at each alpha."""
    by = {(base.data, base.p, base.objective, min(base.by_alpha)): base.by_alpha for base in published_bases()}
    assert len(by) == 12
    for (data, p, objective, first), values in by.items():
        accuracies = [values[alpha] for alpha in sorted(values)]
        assert accuracies == sorted(accuracies, reverse=True)
        for smaller in (Fraction(1, 2), Fraction(1, 3)):
            other = by.get((data, smaller, objective, first))
            assert smaller >= p or other is None or all(other[alpha] > values[alpha] for alpha in values)
        stability = by.get((data, p, "stability", first))
        assert objective == "stability" or stability is None or all(values[a] > stability[a] for a in values)
    assert by["cifar10", Fraction(1, 2), "noisy", 21][21] < by["cifar10", Fraction(1, 2), "noisy", 1][18]


# ---- what is declared ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("experiment", "panel"), PANELS, ids=lambda part: getattr(part, "name", None))
def test_a_panel_has_the_rows_radii_and_alphas_of_its_table(experiment: Experiment, panel: Panel) -> None:
    """Every published row is declared and every published alpha is among the row's."""
    labels = [family.label for family in panel.families]
    assert len(set(labels)) == len(labels)
    assert all(set(family.small) <= set(family.alphas) for family in panel.families)
    assert experiment.data in SIZES
    if panel.table is None:
        assert experiment.note
        return
    table = published(panel.table)
    assert (table.p, table.radii) == (panel.p, panel.radii)
    assert set(table.rows) == set(labels)
    for family in panel.families:
        assert {cell.alpha for cell in table.row(family.label)} <= set(family.alphas)


def test_every_claim_is_true_of_the_published_numbers() -> None:
    """The orderings are the paper's own: its tables have them."""
    tried = 0
    for experiment, panel in PANELS:
        for claim in experiment.claims:
            first, second = panel.cells(claim.first), panel.cells(claim.second)
            if first is None or second is None:
                assert panel.table is None
                continue
            for radius, a, b in zip(panel.radii, first, second, strict=True):
                if radius >= claim.start.get(panel.p, 0):
                    difference = a.certified - b.certified
                    assert difference > 0 if claim.relation == "above" else abs(difference) < claim.points
                    tried += 1
    assert tried > 200


def test_names_of_runs_tell_models_apart() -> None:
    """Two families share a folder exactly if they are the same models."""
    seen: dict[str, Any] = {}
    for experiment in EXPERIMENTS.values():
        for name, (family, alpha) in experiment.models("paper").items():
            facts: tuple[Any, ...] = (family.p, family.objective, family.representation, family.coupling, family.seed)
            facts += (family.pixel, family.kind, family.kind and family.per_alpha)
            assert seen.setdefault(name, (experiment.data, alpha, *facts)) == (experiment.data, alpha, *facts)
    assert len(set(seen.values())) == len(seen)
    table1 = find_experiment("table1")
    assert len(table1.models("paper")) == 7 * 3 * 2
    assert table1.base(*table1.models("paper")["cifar10-l0.5-a18"]) == 60.75


def test_schemes_are_those_of_the_paper() -> None:
    """B = 1000 alpha periodic outcomes in the published order; the baseline is the fixed Lambda with B = alpha q."""
    scheme = make_scheme(FAMILIES["variable"], 3, (3, 4, 4), 255, "paper")
    assert (scheme.total, scheme.design.kind, scheme.order, scheme.seed) == (3000, "periodic", "published", 0)
    fixed = Scheme.l1(3, (3, 4, 4), 255, coupling="independent", order="published", representation="center")
    assert make_scheme(FAMILIES["baseline"], 3, (3, 4, 4), 255, "paper").fingerprint == fixed.fingerprint


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", ["paper", "small"])
def test_every_model_has_a_scheme(name: str, scale: Scale) -> None:
    """Its metric is z**p/alpha, and it takes as many votes as are counted in its cost."""
    experiment = EXPERIMENTS[name]
    q = SIZES[experiment.data].q
    for family, alpha in list(experiment.models(scale).values())[-2:]:
        scheme = make_scheme(family, alpha, (3, 2, 2), q, scale)
        assert scheme.metric.power() == (family.p, alpha)
        assert scheme.samples == votes_an_image(family, alpha, q, scale)
        usual = "independent" if scale == "paper" else "spread"
        assert (scheme.pixel, scheme.coupling) == (family.pixel, family.coupling or usual)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(EXPERIMENTS)), st.floats(0.01, 1e4), st.floats(1, 10))
def test_more_time_buys_no_fewer_epochs_or_images(name: str, minutes: float, factor: float) -> None:
    """And a plan keeps to its time unless it is already the least."""
    short, long = (
        Plan.small(EXPERIMENTS[name], t, None, SPEED, SIZES[EXPERIMENTS[name].data])
        for t in (minutes, factor * minutes)
    )
    assert short.epochs is not None
    assert long.epochs is not None
    assert 1 <= short.epochs <= long.epochs + 1 <= MOST_EPOCHS + 1  # one: more images may take the time of an epoch
    assert 20 <= short.images <= long.images
    assert short.estimated_seconds is not None
    assert short.estimated_seconds <= 60 * minutes + 0.1 or short.epochs == 1


# ---- what is said ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 400))
def test_the_interval_of_a_difference_is_antisymmetric_and_agrees_with_its_sign(a: int, b: int, rest: int) -> None:
    """Swapping the rows mirrors it, and it never excludes the side on which the count lies."""
    images = a + b + rest or 1
    low, high = paired_interval(a, b, images)
    assert paired_interval(b, a, images) == pytest.approx((-high, -low))
    assert (a < b) <= (low < 0)
    assert (a > b) <= (high > 0)


@pytest.mark.parametrize(
    ("relation", "interval", "answer"),
    [
        ("above", (0.001, 0.5), "holds"),
        ("above", (-0.5, -0.001), "does not hold"),
        ("above", (-0.5, 0.5), "too few images to tell"),
        ("alike", (-0.015, 0.019), "holds"),
        ("alike", (-0.5, -0.021), "does not hold"),
        ("alike", (0.021, 0.5), "does not hold"),
        ("alike", (-0.01, 0.03), "too few images to tell"),
    ],
)
def test_an_answer_needs_the_whole_interval(relation: Any, interval: tuple[float, float], answer: str) -> None:
    """Only an interval that lies on one side decides a claim."""
    assert judge(Claim(name="", first="a", second="b", relation=relation, points=2.0), interval) == answer


# ---- a run on digits -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce") / "digits"


@pytest.fixture(scope="module")
def done(folder: Path) -> Reproduction:
    """Stopped before its second model, then run to its end by the same call."""

    def stop(text: str) -> None:
        if text.startswith("[2/"):
            raise KeyboardInterrupt(text)

    settings: dict[str, Any] = {"minutes": 0.001, "images": IMAGES, "out": folder, "device": "cpu", "progress": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoo.experiments.run.measure", lambda *_: Speed(8e-7, 0, 0))  # 13 epochs
        with pytest.raises(KeyboardInterrupt):
            reproduce("digits", **settings, say=stop)
    before = (folder / "digits-l1-a3" / "model.safetensors").stat().st_mtime_ns
    found = reproduce("digits", **settings)
    assert (folder / "digits-l1-a3" / "model.safetensors").stat().st_mtime_ns == before
    return found


def test_a_small_run_makes_the_whole_table(done: Reproduction) -> None:
    """Every row, radius and certificate; a stronger certificate covers the images of a weaker one."""
    (panel,) = done.experiment.panels
    rows = done.rows(panel)
    assert [row.family.label for row in rows] == ["L&F (2021) from l1", "Variable Lambda"]
    assert done.images == IMAGES
    for row in rows:
        assert all(len(row.cells[method]) == len(panel.radii) for method in METHODS)
        for name, (family, alpha) in done.experiment.models("small").items():
            if family == row.family:  # the best over alpha is at least each
                run = done.models[name].certification
                for at, radius in enumerate(panel.radii):
                    if family.p == panel.p:
                        share = run.certified_accuracy(radius, "paper").share
                        assert row.cells["paper"][at].certified.share >= share
                        assert row.cells["paper"][at].alpha != alpha or row.cells["paper"][at].certified.share == share
    assert all(row.cells["paper"][0].certified.correct > 0 for row in rows)
    for weak, strong in pairwise(METHODS):
        for row in rows:
            for a, b in zip(row.cells[weak], row.cells[strong], strict=True):
                assert b.certified.correct >= a.certified.correct


def test_l1_certificates_are_converted(done: Reproduction) -> None:
    """A radius rho < 1 needs the l1 radius rho, and rho > 1 needs rho**(1/2) only: 9/4 needs 3/2."""
    gained = 0
    for name in ("digits-l1-a3", "digits-l1-a6"):
        run = done.models[name].certification
        for radius in (Fraction(k, 16) for k in range(4, 40)):
            rho = radius**2 if radius > 1 else radius
            for method in METHODS:
                hits = certified_images(run, Fraction(1, 2), rho, method)
                assert len(hits) == run.certified_accuracy(radius, method).correct
                gained += len(hits) - run.certified_accuracy(rho, method).correct
    assert gained > 0


def test_a_verdict_is_about_the_cells_of_the_table(done: Reproduction) -> None:
    """The difference is that of the two shares, with the sign of the claim, and its interval holds it."""
    (panel,), (verdict,) = done.experiment.panels, check(done)
    baseline, ours = (row.cells["paper"] for row in done.rows(panel))
    assert [found.radius for found in verdict.differences] == list(panel.radii)
    for found, first, second in zip(verdict.differences, ours, baseline, strict=True):
        assert found.value == pytest.approx(first.certified.share - second.certified.share)
        assert found.interval[0] - 0.01 <= found.value <= found.interval[1] + 0.01
    assert any(found.value for found in verdict.differences)


def test_the_command_prints_the_table_again_from_the_folder(done: Reproduction, folder: Path) -> None:
    """Nothing is trained or voted on anew, and a program reads the same numbers."""
    weights = {path: path.stat().st_mtime_ns for path in folder.glob("*/model.safetensors")}
    shown = ecm("reproduce", "digits", "--out", folder, "-n", IMAGES)
    assert shown.exit_code == 0, shown.stderr
    for words in ("Variable Lambda", "vote-aware", f"{IMAGES} test images", "not in the paper", "too few images"):
        assert words in shown.stdout
    data = json.loads(ecm("reproduce", "digits", "--out", folder, "-n", IMAGES, "--json").stdout)
    assert data["images"] == IMAGES
    assert [len(row["vote_aware"]) for row in data["panels"][0]["rows"]] == [6, 6]
    assert {model["run"] for model in data["models"]} == {path.parent.name for path in weights}
    (verdict,) = check(done)
    assert data["checks"] == [json.loads(json.dumps(verdict.to_dict()))]
    assert {path: path.stat().st_mtime_ns for path in weights} == weights


def test_a_folder_keeps_its_plan(done: Reproduction, folder: Path) -> None:
    """Other minutes would mean other epochs: refused, with what to write instead."""
    shown = ecm("reproduce", "digits", "--out", folder, "--minutes", 3)
    assert shown.exit_code == 2
    assert "--minutes 0.001" in shown.stderr


def test_an_interrupted_command_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit code 130 and the command itself."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt("stopped at step 7 of 9; the same command resumes")

    monkeypatch.setattr("zoo.experiments.run.train", stopped)
    monkeypatch.setattr("zoo.experiments.run.measure", lambda *_: SPEED)
    monkeypatch.setattr(sys, "argv", ["ecm", "reproduce", "digits"])
    shown = ecm("reproduce", "digits", "--out", tmp_path)
    assert shown.exit_code == 130
    assert "step 7 of 9" in shown.stderr
    assert "To resume: ecm reproduce digits" in shown.stderr


def test_a_model_that_borrows_votes_with_the_weights_of_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other designs and offsets, the same weights; and models of so many epochs are shared by experiments."""
    panel = EXPERIMENTS["digits"].panels[0]
    usual = attrs.evolve(FAMILIES["variable"], alphas=(3,), small=(3,))
    few = attrs.evolve(usual, label="few", kind="periodic", per_alpha=16, borrows=True)
    seed = attrs.evolve(usual, label="seed", seed=1, borrows=True)
    other = attrs.evolve(EXPERIMENTS["digits"], name="other", panels=(attrs.evolve(panel, families=(few, seed)),))
    assert list(other.models("small")) == ["digits-l0.5-a3", "digits-l0.5-a3-periodic16", "digits-l0.5-a3-seed1"]
    monkeypatch.setitem(EXPERIMENTS, "other", other)
    settings: dict[str, Any] = {"epochs": 1, "images": 4, "out": tmp_path, "device": "cpu", "progress": False}
    done = reproduce("other", **settings)
    first, *rest = [load_tensors(tmp_path / name / "model.safetensors")[0]["network.1.weight"] for name in done.models]
    assert all(torch.equal(first, one) for one in rest)
    assert {run.certification.scheme.total for run in done.models.values()} == {384, 48}
    assert read_card(tmp_path / "digits-l0.5-a3-seed1")["training"]["start"]["name"] == "digits-l0.5-a3"
    with pytest.raises(ECMError, match="give one of the two"):
        reproduce("digits", epochs=2, minutes=3)


def test_the_list_says_what_everything_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models, forward passes and time at both scales."""
    monkeypatch.setattr("zoo.experiments.plan.measure", lambda *_: SPEED)
    rows = json.loads(ecm("reproduce", "--list", "--json").stdout)["experiments"]
    assert [row["name"] for row in rows] == list(EXPERIMENTS)
    table1 = next(row for row in rows if row["name"] == "table1")
    assert table1["paper"]["models"] == 42
    assert table1["paper"]["training_passes"] == 120 * 50_000 * 21 * 3  # standard once, stability twice
    total = sum((1, 3, 6, 9, 12, 15, 18))
    assert table1["paper"]["certification_passes"] == 10_000 * 2 * total * (255 + 2 * 1000)
    shown = ecm("reproduce", "--list").stdout
    assert all(name in shown for name in EXPERIMENTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce"], "--list"),
        (["reproduce", "tabel1"], "did you mean 'table1'"),
        (["reproduce", "digits", "--scale", "paper", "--minutes", "3"], "small scale"),
        (["reproduce", "digits", "--minutes", "0"], "above 0"),
        (["reproduce", "digits", "--images", "0"], "--images"),
        (["reproduce", "digits", "--set", "objective=stability"], "every row declares its own"),
        (["reproduce", "digits", "--set", "lr"], "NAME=VALUE"),
    ],
)
def test_wrong_words_are_answered_by_right_ones(words: list[str], said: str) -> None:
    """Exit code 2, and what to write instead."""
    shown = ecm(*words)
    assert shown.exit_code == 2
    assert said in shown.stderr


def test_settings_of_the_recipe_reach_every_training(tmp_path: Path) -> None:
    """They stand in the cards."""
    done = reproduce("digits", epochs=1, images=2, out=tmp_path, progress=False, lr=0.05)
    assert {read_card(tmp_path / name)["training"]["lr"] for name in done.models} == {0.05}


def test_scales_and_images_are_checked_in_python_too() -> None:
    """As on the command line."""
    with pytest.raises(ECMError, match="'paper' or 'small'"):
        reproduce("digits", scale="large")  # type: ignore[arg-type]
    with pytest.raises(ECMError, match=">= 1"):
        reproduce("digits", images=0)


@pytest.mark.slow
def test_two_processes_make_one_table(tmp_path: Path) -> None:
    """Under torchrun one process measures, prints and writes; both train and vote."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    words = ["reproduce", "digits", "--minutes", "0.001", "-n", "6", "--out", str(tmp_path / "two"), "--json"]
    done = subprocess.run(
        [*launch, "--rdzv-endpoint", "localhost:0", "-m", "zoo", *words, "--device", "cpu"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["images"] == 6


def test_the_kept_records_have_the_schemes_that_their_commands_make() -> None:
    """`--coupling independent` makes the very schemes of docs/records; the default makes spread ones elsewhere."""
    records = Path(__file__).parents[3] / "docs" / "records" / "digits"
    experiment = find_experiment("digits")
    for name, (family, alpha) in experiment.models("small").items():
        kept = json.loads((records / name / "card.json").read_text())
        assert make_scheme(family, alpha, (1, 8, 8), 16, "small", coupling="independent").fingerprint == kept["scheme"]
        assert make_scheme(family, alpha, (1, 8, 8), 16, "small").coupling == "spread"
    assert default_folder(experiment, "small", 2) != default_folder(experiment, "small", 2, "independent")
    assert default_folder(experiment, "paper") == default_folder(experiment, "paper", None, "independent")
    with pytest.raises(ECMError, match="write 'independent'"):
        reproduce("digits", coupling="cyclic")
