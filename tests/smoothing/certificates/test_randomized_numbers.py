"""The randomized mode, number by number: bounds by the binomial law itself, and a base whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ecm import ECM, ECMError
from ecm.arrays import Floats
from smoothing.certificates.randomized import (
    ABSTAIN,
    RandomizedCertificate,
    RandomizedSmoothing,
    lower_bound,
    upper_bound,
)
from smoothing.errors import InputError, VoteError

METRIC = ECM.lp("1/2", 2)


class Script:
    """Answers in turn, so often each class; notes the bins that it was shown."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(np.repeat(np.arange(len(answers)), answers))
        self.seen: list[tuple[Floats, Floats]] = []

    def __call__(self, lower: Floats, upper: Floats) -> Any:
        self.seen.append((lower, upper))
        given, self.answers = self.answers[: len(lower)], self.answers[len(lower) :]
        return np.array(given)


def smoothed(*answers: int, first: int = 0) -> RandomizedSmoothing:
    """`first` is given in the first ten draws, then come the answers."""
    script = Script(*answers)
    script.answers = [first] * 10 + script.answers
    return RandomizedSmoothing(script, len(answers), METRIC)


@pytest.mark.parametrize(("successes", "n"), [(1, 10), (7, 10), (10, 10), (990, 1000), (1, 1000)])
@pytest.mark.parametrize("beta", [0.001, 0.1])
def test_bounds_are_those_of_the_binomial_law(successes: int, n: int, beta: float) -> None:
    """At the lower bound so many successes have the probability beta; it is moved outward by 1e-9 and no more."""
    low = lower_bound(successes, n, beta)
    assert binom.sf(successes - 1, n, low + 0.99e-9) <= beta <= binom.sf(successes - 1, n, low + 2e-9)
    high = upper_bound(n - successes, n, beta)
    assert binom.cdf(n - successes, n, high - 0.99e-9) <= beta <= binom.cdf(n - successes, n, high - 2e-9)
    assert lower_bound(0, n, beta) == 0
    assert upper_bound(n, n, beta) == 1


def test_half_is_what_the_class_must_keep() -> None:
    """D < L - 1/2, with L at the level beta, from the draws that were not used to choose the class."""
    found = smoothed(20, 80, first=1).certify(np.full(3, 0.5), n0=10, n=100, beta=0.01)
    assert (found.prediction, found.lower) == (1, lower_bound(80, 100, 0.01))
    assert found.difference == found.lower - 0.5
    assert 0 < found.radius <= found.difference


def test_rivals_share_the_level() -> None:
    """D < (L - U)/2 for every rival, U no more than what L leaves, all at the level beta / C."""
    for counts in ((60, 25, 15), (60, 15, 25), (55, 45, 0)):
        found = smoothed(*counts).certify(np.full(3, 0.5), n0=10, n=100, beta=0.03, against="rivals")
        low = lower_bound(counts[0], 100, 0.01)
        expected = min((low - min(upper_bound(c, 100, 0.01), 1 - low)) / 2 for c in counts[1:])
        assert found.lower == low
        assert (found.prediction, found.difference) == ((0, expected) if expected > 0 else (ABSTAIN, 0.0))


def test_nothing_is_claimed_of_an_even_split() -> None:
    """Neither by half nor against rivals."""
    for against in ("half", "rivals"):
        found = smoothed(50, 50).certify(np.full(3, 0.5), n0=10, n=100, beta=0.01, against=against)  # type: ignore[arg-type]
        assert (found.prediction, found.radius, found.difference) == (-1, 0.0, 0.0)


def test_a_prediction_beats_the_second_class() -> None:
    """Of all classes the two most frequent ones are compared."""
    for counts, expected in (((10, 70, 20), 1), ((70, 10, 20), 0), ((40, 45, 15), ABSTAIN), ((0, 0, 100), 2)):
        script = RandomizedSmoothing(Script(*counts), 3, METRIC)
        assert script.predict(np.full(3, 0.5), n=100, beta=0.01, batch_size=33) == expected


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_every_draw_is_counted_once(batch_size: int) -> None:
    """In batches of any size; every bin holds its point and lies in [0, 1]."""
    script, x = Script(3, 5, 2), np.array([0.0, 0.3, 1.0])
    found = RandomizedSmoothing(script, 3, METRIC).counts(x, 10, batch_size, np.random.default_rng(0))
    assert found.tolist() == [3, 5, 2]
    assert sum(len(lower) for lower, _ in script.seen) == 10
    for lower, upper in script.seen:
        assert (lower >= 0).all()
        assert (lower <= x).all()
        assert (x <= upper).all()
        assert (upper <= 1).all()


def test_bins_of_the_step_are_the_point_or_everything() -> None:
    """g = sign(z)/2: with probability 1/2 the value is shown, otherwise nothing of it."""
    x = np.linspace(0.1, 0.9, 5)
    lower, upper = RandomizedSmoothing(Script(1), 2, ECM.l0(2)).draw(x, 400, np.random.default_rng(0))
    shown = (lower == x) & (upper == x)
    assert (shown | ((lower == 0) & (upper == 1))).all()
    assert 0.4 < shown.mean() < 0.6


@pytest.mark.parametrize("wrong", [[0, 1, 2, 3], [0, -1, 0, 0], [0, 0, 0], [[0], [0], [0], [0]], [0, 0, 0.5, 0]])
def test_one_answer_that_is_no_class_is_refused(wrong: Any) -> None:
    """Also among others that are."""
    smooth = RandomizedSmoothing(lambda lower, upper: np.array(wrong), 3, METRIC)
    with pytest.raises(VoteError):
        smooth.counts(np.full(2, 0.5), 4, 4, np.random.default_rng(0))


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.1, 2.0])
def test_a_confidence_lies_strictly_between(beta: float) -> None:
    """Neither certain nor void."""
    with pytest.raises(ECMError, match="beta"):
        smoothed(50, 50).certify(np.full(3, 0.5), n0=10, n=100, beta=beta)


def test_points_lie_in_the_unit_cube() -> None:
    """Its corners included."""
    for x in (np.zeros(2), np.ones(2)):
        assert RandomizedSmoothing(Script(0, 9), 2, METRIC).predict(x, n=9, beta=0.5) == 1
    for wrong in ([0.5, -0.1], [0.5, 1.1], [0.5, np.nan], []):
        with pytest.raises(InputError, match=r"\[0, 1\]"):
            RandomizedSmoothing(Script(0, 9), 2, METRIC).predict(np.array(wrong), n=9, beta=0.5)


@pytest.mark.parametrize("metric", [ECM.l0(2), ECM("log1p(z)")])
def test_other_metrics_have_no_lp_radius(metric: ECM) -> None:
    """Neither steps nor formulas that are no power."""
    with pytest.raises(ECMError, match="l_p radius"):
        RandomizedCertificate(0, 0.25, 0.25, 0.75, 0.001, metric).lp_radius()
    assert RandomizedCertificate(0, 0.25, 0.25, 0.75, 0.001, ECM.l1(2)).lp_radius() == np.nextafter(0.5, 0)
