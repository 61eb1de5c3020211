"""Multipliers that were stored prove what they proved, and nothing is believed of those that were not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.design import Design
from smoothing.certificates.stored_multipliers import replay
from smoothing.certificates.tally import Tally
from smoothing.certificates.vote_aware import VoteAware
from smoothing.errors import VoteError
from smoothing.scheme import Scheme
from smoothing.verification.strategies import small_schemes


def cast(scheme: Scheme, seed: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray, Tally]:
    """Votes with a majority and a few unsure ones, flat levels, the tally."""
    rng = np.random.default_rng(seed)
    votes = rng.choice(classes, p=[0.8, 0.15, 0.05][:classes], size=scheme.samples).astype(np.uint8)
    votes[rng.random(scheme.samples) < 0.02] = 255
    return votes, rng.integers(0, scheme.q + 1, size=scheme.features), Tally.of(votes, classes, scheme.weights)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scheme=small_schemes(), seed=st.integers(0, 2**32), other=st.integers(0, 2**40))
def test_the_stored_multipliers_give_the_radius_again(scheme: Scheme, seed: int, other: int) -> None:
    """Under every coupling; other ones give a radius between that of the counts and the best one."""
    votes, levels, tally = cast(scheme, seed)
    if tally.least_need < 1:
        return
    aware = VoteAware(scheme)
    bound = aware.hard(votes, levels, tally)
    stored = dict(bound.multipliers)
    assert replay(aware, votes, levels, tally, stored) == bound.radius
    if bound.radius is None:
        return
    least = min(Fraction(-(-tally.need(rival) // 2), tally.total) for rival in tally.rivals)
    for worse in (0, other):
        changed = {rival: None if m is None else min(worse, m) for rival, m in stored.items()}
        for rival in tally.rivals:  # those that the better bounds had made unnecessary
            changed.setdefault(rival, 0)
        assert least <= replayed(aware, votes, levels, tally, changed)


def replayed(
    aware: VoteAware, votes: np.ndarray, levels: np.ndarray, tally: Tally, multipliers: dict[int, int | None]
) -> Fraction:
    """The radius where there is one; a rival that nothing can win is as far as any point."""
    found = replay(aware, votes, levels, tally, multipliers)
    return Fraction(aware.scheme.features) if found is None else found


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    """z/2 on three features: every level can be told from its neighbour, so every rival has a price."""
    return Scheme.l1(2, shape=(3,), q=4)


def test_a_rival_without_a_multiplier_is_not_passed_over(scheme: Scheme) -> None:
    """It might be the nearest."""
    votes, levels, tally = np.array([0] * 7 + [1], np.uint8), np.array([0, 2, 4]), Tally((7, 1), 0, 8)
    with pytest.raises(VoteError, match="class 1 has no multiplier"):
        replay(VoteAware(scheme), votes, levels, tally, {})


def test_a_rival_is_harmless_only_if_it_cannot_gain_enough(scheme: Scheme) -> None:
    """All changes together must bring less than it needs, not as much."""
    aware, levels = VoteAware(scheme), np.array([0, 2, 4])
    votes, tally = np.array([0] * 7 + [1], np.uint8), Tally((7, 1), 0, 8)
    with pytest.raises(VoteError, match="not less than the 7 it needs"):
        replay(aware, votes, levels, tally, {1: None})
    worth = 1 + (votes == 0).astype(np.int64) - (votes == 1)
    attainable = aware.items(levels, worth).attainable
    for missing, harmless in ((0, False), (1, True)):
        other = Tally((attainable + missing - 1, 0), 0, 8)  # it needs `attainable + missing`
        if harmless:
            assert replay(aware, votes, levels, other, {1: None}) is None
        else:
            with pytest.raises(VoteError, match="not less than"):
                replay(aware, votes, levels, other, {1: None})


@pytest.mark.parametrize("excess", [0, 1])
def test_a_multiplier_stays_within_what_64_bits_hold(scheme: Scheme, excess: int) -> None:
    """From 0 to the scale: beyond, a product could wrap, and a wrapped product is an unsound radius."""
    aware = VoteAware(scheme)
    votes, levels, tally = np.array([0] * 7 + [1], np.uint8), np.array([0, 2, 4]), Tally((7, 1), 0, 8)
    for m in (-excess, aware.scale + excess):
        if excess:
            with pytest.raises(VoteError, match="out of range"):
                replay(aware, votes, levels, tally, {1: m})
        else:
            assert replay(aware, votes, levels, tally, {1: m}) == Fraction(1, 2)  # what the counts alone give


def test_large_weights_have_small_multipliers() -> None:
    """Four samples that weigh 10**11 each: what a feature gains times m must stay within 2**61, far below the scale."""
    weight = 10**11
    scheme = Scheme(Design.from_weights(ECM.l1(1), {4: weight}, q=4, budget=4 * weight), (3,), coupling="global")
    votes, levels, tally = (
        np.array([0, 0, 0, 1], np.uint8),
        np.array([0, 2, 4]),
        Tally((3 * weight, weight), 0, 4 * weight),
    )
    aware = VoteAware(scheme)
    most = (1 << 61) // aware.items(levels, np.array([2, 2, 2, 0]) * weight).peak
    assert most < aware.scale
    replayed(aware, votes, levels, tally, {1: most})
    for m in (most + 1, aware.scale):
        with pytest.raises(VoteError, match="out of range"):
            replay(aware, votes, levels, tally, {1: m})


def test_where_features_cost_one_the_radius_ends_at_one() -> None:
    """A rival that can never win otherwise may still win where one of them is changed."""
    metric = ECM.grouped([ECM.lp("1/2", 2), ECM.from_expr("sign(z)")])
    design = Design.from_rows(metric, [[[2], [3]], [[1], [2], [3], [4]]], q=4, budget=12)
    votes, levels, tally = np.zeros(12, np.uint8), np.array([1, 2]), Tally((12, 0), 0, 12)
    aware = VoteAware(Scheme(design, (2,)))
    assert aware.hard(votes, levels, tally).radius == 1
    assert replay(aware, votes, levels, tally, {1: None}) == 1
