"""The randomized mode: bounds against exact tails, radii against the worst points, bins against their definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.errors import ECMError
from smoothing.certificates.randomized import ABSTAIN, RandomizedSmoothing, lower_bound, radius_of, upper_bound
from smoothing.errors import InputError, VoteError


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 200), share=st.floats(0, 1), beta=st.sampled_from([0.1, 0.001, 1e-6]))
def test_clopper_pearson_bounds_have_the_tail_they_claim(n: int, share: float, beta: float) -> None:
    """At the lower bound, `successes` or more happen with probability at most beta, by the binomial sum itself."""
    successes = round(share * n)
    low, high = lower_bound(successes, n, beta), upper_bound(successes, n, beta)
    assert 0 <= low <= successes / n <= high <= 1
    tail = math.fsum(math.comb(n, k) * low**k * (1 - low) ** (n - k) for k in range(successes, n + 1))
    assert successes == 0 or tail <= beta * (1 + 1e-9)
    tail = math.fsum(math.comb(n, k) * high**k * (1 - high) ** (n - k) for k in range(successes + 1))
    assert successes == n or tail <= beta * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(
    difference=st.floats(0.001, 0.5),
    alpha=st.integers(1, 30),
    parts=st.lists(st.floats(0, 1), min_size=1, max_size=12),
)
def test_no_point_within_the_radius_differs_more_often(difference: float, alpha: int, parts: list[float]) -> None:
    """1 - prod(1 - g_i) < difference whenever sum g_i < radius, for g_i up to g(1) = 1/alpha."""
    metric = ECM.lp("1/2", alpha)
    radius = radius_of(difference, metric, (len(parts),))
    total = sum(parts) / alpha
    shrink = min(1.0, radius * (1 - 1e-12) / total) if total else 1.0
    assert 1 - math.prod(1 - shrink * u / alpha for u in parts) < difference * (1 + 1e-9)
    assert radius >= difference


def test_independence_pays_for_large_alpha_only() -> None:
    """No gain while r <= g(1); with many small steps the radius tends to -log(1 - D)."""
    assert radius_of(0.4, ECM.lp("1/2", 2), (100,)) == pytest.approx(0.4, abs=1e-12)
    assert radius_of(0.4, ECM.lp("1/2", 1000), (2000,)) == pytest.approx(-math.log(0.6), abs=1e-3)
    assert radius_of(0.4, ECM.lp("1/2", 1000), (100,)) == math.inf


def test_groups_with_the_largest_steps_are_the_worst() -> None:
    """The worst point fills the features with the largest g(1) first."""
    metric = ECM.grouped([ECM.l0(100), ECM.l0(4)])
    expected = 0.25 + (1 - 0.6 / 0.75 - 0) if 0.6 > 0.75 * 0.75 else 0.5 + (1 - 0.6 / 0.75**2)
    assert radius_of(0.4, metric, (2, 5)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("text", ["z**(1/2)/2", "sign(z)/3", "log(1+5*z)/log(6)", "Min(3*z, 1)/2"])
def test_two_points_are_separated_with_probability_g(text: str) -> None:
    """Bins hold their point, and the share of draws that separate two points is g, within five sigma."""
    metric = ECM.from_expr(text)
    smooth = RandomizedSmoothing(lambda lower, upper: np.zeros(len(lower)), 2, metric)
    x, y = np.array([0.3, 0.9, 0.5]), np.array([0.35, 0.1, 0.5])
    n = 20000
    one, two = (smooth.draw(v, n, np.random.default_rng(7)) for v in (x, y))
    assert (one[0] <= x + 1e-12).all()
    assert (one[1] >= x - 1e-12).all()
    assert one[0].min() >= 0
    assert one[1].max() <= 1
    share = ((one[0] != two[0]) | (one[1] != two[1])).mean(axis=0)
    g = metric.components[0](np.abs(x - y))
    assert (np.abs(share - g) <= 5 * np.sqrt(g * (1 - g) / n)).all()


def test_a_clear_case_is_certified_and_a_coin_is_not() -> None:
    """ABSTAIN carries no radius; the share of a coin is not above one half."""
    bright = RandomizedSmoothing(lambda lower, upper: (lower + upper).mean(axis=1) > 1, 2, ECM.lp("1/2", 3))
    for against in ("half", "rivals"):
        found = bright.certify(np.full(40, 0.95), 100, 1000, 0.001, against=against)  # type: ignore[arg-type]
        assert found.prediction == 1
        assert 0.4 < found.difference < 0.5
        assert found.radius > found.difference
        assert found.lp_radius() == pytest.approx((3 * found.radius) ** 2)
    assert bright.predict(np.full(40, 0.95), 200, 0.001) == 1
    rng = np.random.default_rng(0)
    coin = RandomizedSmoothing(lambda lower, upper: rng.integers(0, 2, len(lower)), 2, ECM.l1(2))
    lost = coin.certify(np.full(4, 0.5), 50, 500, 0.001)
    assert (lost.prediction, lost.radius) == (ABSTAIN, 0.0)
    assert coin.predict(np.full(4, 0.5), 100, 1e-6) == ABSTAIN


def test_failures_are_as_rare_as_promised() -> None:
    """A base whose class 1 has a known share of 0.6: the bound exceeds it in at most about beta of many runs."""
    rng = np.random.default_rng(1)
    smooth = RandomizedSmoothing(lambda lower, upper: rng.random(len(lower)) < 0.6, 2, ECM.l1(2))
    beta, runs = 0.1, 400
    wrong = sum(smooth.certify([0.5], 20, 100, beta, seed=s).lower > 0.6 for s in range(runs))
    assert wrong <= beta * runs + 5 * math.sqrt(beta * (1 - beta) * runs)


def test_the_same_seed_gives_the_same_certificate() -> None:
    """Randomized, but reproducible."""
    smooth = RandomizedSmoothing(lambda lower, upper: lower.mean(axis=1) > 0.3, 2, ECM.lp("1/2", 2))
    assert smooth.certify([0.7, 0.2], 20, 100, 0.01, seed=3) == smooth.certify([0.7, 0.2], 20, 100, 0.01, seed=3)


def test_wrong_inputs_and_bases_are_refused() -> None:
    """NaN, values outside [0,1], classes that do not exist, a confidence that is none."""
    smooth = RandomizedSmoothing(lambda lower, upper: np.full(len(lower), 5), 2, ECM.l1(2))
    with pytest.raises(InputError):
        smooth.certify([0.5, float("nan")], 10, 10, 0.1)
    with pytest.raises(InputError):
        smooth.certify([1.5], 10, 10, 0.1)
    with pytest.raises(VoteError):
        smooth.certify([0.5], 10, 10, 0.1)
    with pytest.raises(ECMError, match="beta"):
        smooth.certify([0.5], 10, 10, 1.5)


def constant(classes: int = 2, alpha: int = 2) -> RandomizedSmoothing:
    """Class 0 wherever it is asked."""
    return RandomizedSmoothing(lambda lower, upper: np.zeros(len(lower), int), classes, ECM.lp("1/2", alpha))


def test_what_is_compared_is_said() -> None:
    """A misspelt choice is not taken for the other one."""
    misspelt: Any = "Half"
    with pytest.raises(ECMError, match="against"):
        constant().certify(np.zeros(2), n0=1, n=1, beta=0.1, against=misspelt)


@pytest.mark.parametrize(
    ("classes", "wrong"), [(1, {}), (2, {"n": 0}), (2, {"batch_size": 0}), (2, {"batch_size": -1}), (2, {"beta": 2.0})]
)
def test_what_no_draws_can_answer_is_refused(classes: int, wrong: dict[str, Any]) -> None:
    """By a certificate and by a prediction: a test at the level 2 would never abstain."""
    chosen = {"n": 5, "beta": 0.1} | wrong
    with pytest.raises(ECMError, match="two classes or more"):
        constant(classes).predict(np.zeros(2), **chosen)
    with pytest.raises(ECMError, match="two classes or more"):
        constant(classes).certify(np.zeros(2), n0=5, **chosen)


def test_a_ball_without_an_outside_has_an_infinite_radius() -> None:
    """Three features of g(1) = 1/18 differ in less than a sixth of all draws, however far they go."""
    found = constant(alpha=18).certify(np.full(3, 0.5), n0=10, n=1000, beta=0.001)
    assert found.radius == found.lp_radius() == math.inf
