"""The attack: what it reports is true, on tiny models it finds the nearest input, and it tests certificates."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import zoo
from ecm import ECM, ECMError
from smoothing import Certifier, Packing, SmoothedClassifier, pack_logits
from smoothing.certificates import Rule, finalists
from tests.zoo.attacks.worlds import World, classifier, sandwiches, schemes
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import ModelError
from zoo.attacks.evaluation import Evaluation
from zoo.attacks.inside import attack_inside
from zoo.attacks.result import Attacked, above, within
from zoo.attacks.rule import Plurality, Runoff
from zoo.attacks.search import Search
from zoo.certification import Unit, ball_text
from zoo.cli import app


@pytest.mark.parametrize("rule", ["plurality", "runoff"])
@pytest.mark.parametrize("kind", schemes())
def test_against_exhaustive_search(kind: str, rule: Rule) -> None:
    """certified radius <= nearest change (by going through all points) <= attack, and the attack is mostly nearest."""
    found = list(sandwiches(kind, rule))
    assert all(row.certified <= row.nearest + 1e-9 and row.nearest - 1e-9 <= row.found for row in found)
    assert sum(np.isfinite(row.nearest) for row in found) >= 3
    ratios = [row.found / row.nearest if np.isfinite(row.nearest) else 1.0 for row in found]
    assert np.median(ratios) <= 1.0001
    assert np.mean(np.array(ratios) <= 1.25) >= 0.7


@pytest.mark.parametrize("kind", schemes())
def test_only_touched_samples_see_another_input(kind: str) -> None:
    """A change touches exactly the samples at which some end of a bin differs."""
    scheme = schemes()[kind]
    evaluation, random = Evaluation(classifier(scheme, 0)), np.random.RandomState(0)
    for _ in range(20):
        x, y = random.randint(scheme.q + 1, size=(2, scheme.features))
        some = np.flatnonzero(random.rand(scheme.features) < 0.5)
        both = x.copy()
        both[some] = y[some]
        lower, upper = evaluation.classifier.noise.bounds(
            torch.from_numpy(np.stack([x, both])).view(2, *scheme.shape), range(scheme.samples)
        )
        differ = ((lower[0] != lower[1]) | (upper[0] != upper[1])).flatten(1).any(dim=1).numpy()
        change = evaluation.change(x, some, both[some])
        assert change.samples.tolist() == np.flatnonzero(differ).tolist()
        (out,) = evaluation.at(x, [change])
        assert np.allclose(out, evaluation.everywhere(both)[change.samples], atol=1e-5)


def test_a_base_without_gradients() -> None:
    """Rounding has no gradient: moves are then found by trying them."""
    scheme = schemes()["features"]

    class Steps(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            bright = (x.flatten(1).mean(dim=1) > 0.5).float()
            return torch.stack([1 - bright, bright], dim=1)

    smoothed = SmoothedClassifier(Steps(), scheme, classes=2)
    x = np.array([1, 1, 2, 1])
    c = int(smoothed.predict(x[None])[0])
    best = Search(Evaluation(smoothed), x, c, budget=100 * scheme.samples).run()
    assert best is not None
    assert smoothed.predict(best.levels[None])[0] != c


def test_the_budget_is_kept() -> None:
    """No search spends more passes than it was given, and the first vote comes out of them."""
    world = World(schemes()["features"], 1)
    for budget in (24, 50, 200, 1000):
        evaluation = Evaluation(world.smoothed)
        Search(evaluation, world.points[7], int(world.classes[7]), budget=budget).run()
        assert evaluation.passes <= budget


@pytest.mark.parametrize("classes", [2, 3, 5, 14])
def test_goals_are_all_the_ways_to_change_a_class(classes: int) -> None:
    """Random rankings: the rule predicts as the classifier does, and at any logits at which another class wins than
    before, some goal set at the logits before is reached, by a run-off as by a plurality."""
    random, packing = np.random.RandomState(classes), Packing.of(classes)
    for _ in range(200):
        samples = random.randint(3, 12)
        weights = random.randint(1, 3, size=samples)
        before, after = random.randn(2, samples, classes).astype(np.float32)
        before[:, 0] += 1
        for rule in (Plurality(weights), Runoff(weights)):
            codes = pack_logits(after)
            counts = np.bincount(packing.votes(codes), weights, minlength=classes)
            wins = int(counts.argmax())
            if isinstance(rule, Runoff):
                a, b = finalists(counts.tolist())
                place = packing.positions(codes)
                lead = weights @ ((place[:, a] < place[:, b]).astype(int) - (place[:, b] < place[:, a]))
                wins = a if lead >= 0 else b
            assert rule.prediction(after) == wins
            c = rule.prediction(before)
            goals = rule.goals(before, c)
            assert min(rule.need(before, goal) for goal in goals) > 0
            if wins != c and classes <= 5:
                assert min(rule.need(after, goal) for goal in goals) == 0


def test_a_final_is_lost_although_the_votes_are_won() -> None:
    """By plurality class 0 wins; the run-off is lost to class 1, whose supporters and those of class 2 agree."""
    logits = np.array([[2, 1, 0]] * 4 + [[0, 2, 1]] * 3 + [[0, 1, 2]] * 2, np.float32)
    weights = np.ones(9, np.int64)
    assert Plurality(weights).prediction(logits) == 0
    rule = Runoff(weights)
    assert rule.prediction(logits) == 1
    nearest = rule.goals(logits, 1)[0]
    # Two of the seven samples above class 1 in the second round are too many: one is enough, since ties go to 0.
    assert (nearest.targets, nearest.against, rule.need(logits, nearest)) == ((0,), (1,), 1)
    assert rule.worth(logits, nearest).tolist() == [2.0] * 9


# ---- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> zoo.Attack:
    out = tmp_path_factory.mktemp("attack") / "digits"
    return zoo.attack("digits-l0.5-a4", limit=6, budget=8, out=out, progress=False)


def test_what_is_reported_is_true(found: zoo.Attack) -> None:
    """Every adversarial input gets the class that is named, lies outside the ball, at the distance that is stated."""
    model, data = zoo.load("digits-l0.5-a4"), zoo.load_data("digits")
    smoothed, certified = model.smoothed(), {row.idx: row for row in zoo.read_certification(model.path).rows}
    assert [row.idx for row in found.rows] == list(certified)[:6]
    assert sum(row.distance is not None for row in found.rows) >= 5
    for row in found.rows:
        if row.distance is None:
            continue
        levels = data.test.take([row.idx])[0].numpy()
        changed = row.adversarial(levels)
        assert smoothed.predict(changed[None])[0] == row.turned != row.predict
        low, high = row.ball.distance(levels, changed)
        assert high <= row.distance <= high + Fraction(1, 2**63)
        assert float(low) == pytest.approx(model.scheme.metric.distance(levels, changed, q=16), rel=1e-12)
        assert not row.ball.contains(levels, changed)
        assert ball_text(row.ball) == ball_text(certified[row.idx].balls["runoff_vote_aware"])
        assert row.ratio is not None
        assert row.ratio >= 1
    for radius in found.unit.grid():
        assert found.certified_accuracy(radius).correct <= found.accuracy(radius).correct


def test_images_on_which_nothing_was_found_count_in_the_quartiles(found: zoo.Attack) -> None:
    """Without half of the successes, the upper quartile is infinite: a weak attack does not look tight."""
    low, high = found.ratio_quartiles
    assert low is not None
    assert high is not None
    assert found.median_ratio is not None
    assert low <= found.median_ratio <= high
    rows = [attrs.evolve(row, distance=None) if k % 2 else row for k, row in enumerate(found.rows)]
    assert attrs.evolve(found, rows=tuple(rows)).ratio_quartiles[1] is None


def test_a_stopped_attack_goes_on(found: zoo.Attack, tmp_path: Path) -> None:
    """A run killed in the middle of a row, then continued, ends with the rows of one that was not; a larger limit
    continues a smaller one."""
    part = zoo.attack("digits-l0.5-a4", limit=3, budget=8, out=tmp_path, progress=False)
    table = tmp_path / "attack.tsv"
    table.write_text(table.read_text()[:-30])
    assert len(zoo.read_attack(tmp_path).rows) == 2
    again = zoo.attack("digits-l0.5-a4", limit=4, budget=8, out=tmp_path, progress=False)

    def plain(rows: tuple[Attacked, ...]) -> list[Any]:
        return [(row.idx, row.distance, row.turned, row.changes, row.passes) for row in rows]

    assert plain(again.rows) == plain(found.rows[:4])
    assert plain(part.rows) == plain(found.rows[:3])
    assert zoo.read_attack(tmp_path).rows == again.rows


def test_other_settings_are_not_mixed(found: zoo.Attack) -> None:
    """Rows of another budget or seed are kept unless they are replaced on purpose."""
    with pytest.raises(ModelError, match="different settings \\(budget 8 instead of 9\\)"):
        zoo.attack("digits-l0.5-a4", limit=1, budget=9, out=found.folder, progress=False)


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"limit": 0}, "limit = 0"), ({"budget": 0.5}, "budget = 0.5"), ({"seed": -1}, "seed = -1")],
)
def test_wrong_settings(setting: dict[str, Any], message: str) -> None:
    """What makes no attack is refused before anything is loaded."""
    with pytest.raises(ECMError, match=message):
        zoo.attack("digits-l0.5-a4", progress=False, **setting)


def test_a_model_that_is_not_certified_yet(tmp_path: Path) -> None:
    """The attack certifies the images first, into the same folder; the report then shows both."""
    model, data = tiny_model(tmp_path / "model"), tiny_data()
    found = zoo.attack(model, data, limit=5, budget=30, progress=False)
    assert found.folder == model.path
    assert zoo.read_certification(model.path).images == 5
    text = zoo.report(model.path, data=data).read_text()
    assert 'id="attack"' in text
    assert "The true robust accuracy lies between the two curves." in text


def test_distances_in_the_unit_of_the_report() -> None:
    """Rounded up, and compared with radii in fractions: an attack exactly at r counts as within r."""
    half = Unit.of(ECM.lp("1/2", 18))
    assert above(half, None) == np.inf
    assert above(half, Fraction(1, 9)) == 4.0
    assert within(half, Fraction(1, 9), Fraction(4))
    assert not within(half, Fraction(1, 9) + Fraction(1, 10**30), Fraction(4))
    assert Fraction(above(half, Fraction(1, 7))) >= Fraction(18, 7) ** 2


# ---- certificates, tested from outside -------------------------------------------------------------------------------


def test_no_attack_succeeds_inside_a_certified_ball() -> None:
    """Real images, a generous budget, all of it spent inside the ball: the class never changes."""
    report = zoo.verify_model("digits-l0.5-a4", limit=8, budget=30)
    assert report.passed
    assert report.findings[0].cases == 8


def test_a_radius_that_is_too_large_is_caught() -> None:
    """The check above can fail: radii scaled by 1.3 are caught on some images."""
    report = zoo.verify_model("digits-l0.5-a4", limit=8, budget=30, scale="13/10")
    assert not report.passed
    assert "another class when features change" in report.failures[0].counterexample


def test_what_is_found_inside_lies_inside() -> None:
    """Of a ball far too large, the attack returns a point of that very ball with another class."""
    model, data = zoo.load("digits-l0.5-a4"), zoo.load_data("digits")
    smoothed = model.smoothed()
    levels = data.test.take([116])[0].numpy()
    votes = smoothed.votes(levels[None])[0]
    honest = Certifier(model.scheme, 10)(votes, levels)
    wrong = attrs.evolve(honest, radius=3 * honest.radius)
    found = attack_inside(Evaluation(smoothed), levels, wrong, budget=20)
    assert found is not None
    assert wrong.contains(levels, found)
    assert smoothed.predict(found[None])[0] != wrong.prediction
    assert attack_inside(Evaluation(smoothed), levels, honest, budget=5) is None


def test_the_command(tmp_path: Path) -> None:
    """`ecm attack` prints the totals, as a table or as data, and continues what is there."""
    arguments = ["attack", "digits-l0.5-a4", "--limit", "1", "--budget", "6", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "attack distance / certified radius" in first.output
    data = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert data["images"] == 1
    assert data["median_ratio"] >= 1


def test_a_hostile_description_of_an_attack_is_refused(tmp_path: Path) -> None:
    """However deeply it is nested: an error of ours, and no crash of the reader."""
    (tmp_path / "attack.json").write_text("[" * 200_000)
    with pytest.raises(zoo.ModelError, match="cannot be read"):
        zoo.read_attack(tmp_path)
