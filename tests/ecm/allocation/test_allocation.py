"""Allocations are sound or do not exist."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm.allocation.allocation import Allocation, allocate, verify_allocation
from ecm.allocation.periodic_budget import smallest_periodic_budget
from ecm.errors import AllocationError, ECMError
from ecm.metric import Profile
from ecm.verification.strategies import budgets, concave_tables

SQRT = Profile.from_expr("sqrt(z)")
KNOWN = {1: 17, 4: 17, 14: 2, 17: 1, 23: 1, 40: 1, 47: 1, 67: 1, 169: 1, 254: 1, 255: 1}


def splits(weights: dict[int, int], k: int) -> int:
    """N(k) by its definition."""
    return sum(w * min(j, k) for j, w in weights.items())


def test_published_weights_verify() -> None:
    """The weights known for p = 1/2, q = 255, B = 1000 are sound with eps .0198."""
    n = verify_allocation(SQRT, KNOWN, 255, 1000)
    assert n.tolist() == [splits(KNOWN, k) for k in range(256)]
    assert round(Allocation(SQRT, KNOWN, 255, 1000).eps, 4) == 0.0198


@pytest.mark.parametrize("width", KNOWN)
def test_one_more_of_any_published_weight_breaks_it(width: int) -> None:
    """Adding one to any of the known weights goes over a cap, or over the budget, and says where."""
    with pytest.raises(AllocationError, match=r"exceeds floor\(B g\(\d+/255\)\) = \d+|more than the budget"):
        verify_allocation(SQRT, KNOWN | {width: KNOWN[width] + 1}, 255, 1000)


def test_error_names_distance_splits_and_cap() -> None:
    """The message has k, N(k) and the cap."""
    with pytest.raises(AllocationError, match=r"N\(1\) = 63 exceeds floor\(B g\(1/255\)\) = 62"):
        verify_allocation(SQRT, {1: 63}, 255, 1000)


@settings(max_examples=200, deadline=None)
@given(concave_tables(), budgets(), st.data())
def test_verification_is_the_definition(values: tuple[Fraction, ...], budget: int, data: st.DataObject) -> None:
    """Weights verify iff N(k) <= B g(k/q) for every k and they fit the budget, in fractions."""
    q = len(values) - 1
    weights = data.draw(st.dictionaries(st.integers(1, q), st.integers(0, 4)))
    sound = all(splits(weights, k) <= budget * values[k] for k in range(q + 1))
    fits = sum(j * w for j, w in weights.items()) <= budget
    if sound and fits:
        allocation = Allocation(Profile.from_values(values), weights, q, budget)
        gaps = [values[k] - Fraction(splits(weights, k), budget) for k in range(q + 1)]
        assert gaps[allocation.worst] == max(gaps)
        assert allocation.eps == pytest.approx(float(max(gaps)), rel=1e-15, abs=1e-17)
        assert allocation.within(max(gaps))
        assert not max(gaps) or not allocation.within(max(gaps) * Fraction(999, 1000))
        assert allocation.infinite == budget - sum(j * w for j, w in weights.items())
    else:
        with pytest.raises(AllocationError):
            Allocation(Profile.from_values(values), weights, q, budget)


@pytest.mark.parametrize(
    "weights",
    [{0: 1}, {256: 1}, {-1: 1}, {1: -1}, {1: 1.5}, {"1": 1}, {1: 10**30}, [(1, 1), (1, 1)], [(1, 2, 3)], {None: 1}, 5],
)
def test_malformed_weights_raise_our_error(weights: dict[int, int]) -> None:
    """Widths outside 1..q, counts below 0, fractions, texts, huge numbers and repeated widths are refused."""
    with pytest.raises(AllocationError):
        Allocation(SQRT, weights, 255, 1000)


@pytest.mark.parametrize(("budget", "q"), [(0, 255), (-5, 255), (10, 0), (2**60, 255), (10.5, 4), ("9", 4), (9, None)])
def test_sizes_out_of_range_raise_our_error(budget: int, q: int) -> None:
    """A budget or grid that makes no sense, or would leave 64 bits, is refused before anything is computed."""
    with pytest.raises(ECMError):
        allocate(SQRT, budget, q)


def test_unknown_method_and_bad_epsilon() -> None:
    """The message lists what can be written."""
    with pytest.raises(AllocationError, match="'exact', 'mip', 'floor' or 'slopes'"):
        allocate(SQRT, 10, 4, method="best")  # type: ignore[arg-type]
    with pytest.raises(AllocationError, match="negative"):
        allocate(SQRT, 10, 4, epsilon=-0.5)


def test_frozen() -> None:
    """Neither the fields, nor N, nor the weights of an allocation can be changed after the check."""
    allocation = Allocation(SQRT, KNOWN, 255, 1000)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        allocation.budget = 2000  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        allocation.N[1] = 1000
    allocation.weights[1] = 1000
    assert allocation.weights == KNOWN
    assert hash(allocation) == hash(Allocation(SQRT, sorted(KNOWN.items()), 255, 1000))


def test_json_round_trip_verifies_again() -> None:
    """JSON gives the same object back, and tampered weights do not load."""
    allocation = allocate(SQRT, 300, 64)
    again = Allocation.from_json(allocation.to_json())
    assert again == allocation
    assert again.optimality == allocation.optimality
    text = allocation.to_json().replace('"weights": [[1, ', '"weights": [[1, 1')
    assert text != allocation.to_json()
    with pytest.raises(AllocationError):
        Allocation.from_json(text)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": "other"}', "[" * 100_000])
def test_other_json_raises_our_error(text: str) -> None:
    """Text that is not an allocation raises the package's own exception."""
    with pytest.raises(ECMError):
        Allocation.from_json(text)


def test_table_shows_every_width() -> None:
    """The printed table has a row per width, the infinite rest and eps as a formula."""
    _, _, *lines, last = str(Allocation(SQRT, KNOWN, 255, 1000)).splitlines()
    assert [line.split()[:2] for line in lines] == [[str(j), str(w)] for j, w in KNOWN.items()] + [["inf", "15"]]
    assert last == "eps = g(109/255) - 634/1000 = 0.0197974 (given; not known to be optimal)"


@settings(max_examples=50, deadline=None)
@given(concave_tables(), budgets(60))
def test_outcomes_split_as_often_as_the_allocation_says(values: tuple[Fraction, ...], budget: int) -> None:
    """In the list of outcomes every pair at distance k is separated exactly N(k) times."""
    allocation = allocate(Profile.from_values(values), budget, len(values) - 1)
    outcomes = allocation.outcomes()
    assert outcomes.infinite == allocation.infinite
    assert outcomes.least.tolist() == outcomes.most.tolist() == allocation.N.tolist()


@settings(max_examples=200, deadline=None)
@given(concave_tables(), st.integers(1, 3000))
def test_floor_is_the_rounded_down_law(values: tuple[Fraction, ...], budget: int) -> None:
    """w_j = floor(B P_j / j) exactly, with eps < (q^2 + q)/(2B)."""
    q = len(values) - 1
    allocation = allocate(Profile.from_values(values), budget, q, method="floor")
    extended = [*values, values[-1]]
    real = {j: budget * (2 * extended[j] - extended[j - 1] - extended[j + 1]) for j in range(1, q + 1)}
    assert allocation.weights == {j: w // 1 for j, w in real.items() if w >= 1}
    assert allocation.eps < (q * q + q) / (2 * budget)


@settings(max_examples=200, deadline=None)
@given(concave_tables(), st.integers(1, 300))
def test_rounded_slopes_are_sound_and_no_better_than_the_optimum(values: tuple[Fraction, ...], budget: int) -> None:
    """The quick method gives a verified allocation whose eps is at least eps*."""
    q = len(values) - 1
    profile = Profile.from_values(values)
    assert allocate(profile, budget, q, method="slopes").eps >= allocate(profile, budget, q).eps


@pytest.mark.parametrize("budget", [100, 1000, 10**5])
def test_the_eps_of_an_allocation_is_within_reach(budget: int) -> None:
    """The float eps of the optimum, given back as epsilon, is met by the same weights, and a little less is not."""
    best = allocate(SQRT, budget)
    assert best.within(best.eps)
    assert allocate(SQRT, budget, epsilon=best.eps).weights == best.weights
    with pytest.raises(AllocationError, match="out of reach"):
        allocate(SQRT, budget, epsilon=best.eps * (1 - 1e-9))


@pytest.mark.parametrize("epsilon", ["", "x", float("nan"), float("inf"), -1, None.__class__])
def test_epsilon_that_is_no_number_raises_our_error(epsilon: object) -> None:
    """Whatever is not a number >= 0 is refused by the package's own exception."""
    with pytest.raises(ECMError):
        allocate(SQRT, 10, 4, epsilon=epsilon)  # type: ignore[arg-type]


def test_methods_that_miss_epsilon_say_so() -> None:
    """A method without a proof does not claim that its eps is the smallest."""
    with pytest.raises(AllocationError, match="method 'floor' reaches only"):
        allocate(SQRT, 1000, epsilon=0.02, method="floor")


def test_zero_metric_is_all_infinite() -> None:
    """g = 0 allows no divider and needs none: eps = 0."""
    allocation = allocate(Profile.from_values([0, 0, 0]), 7, 2)
    assert (allocation.weights, allocation.infinite, allocation.eps) == ({}, 7, 0.0)


@pytest.mark.parametrize("budget", [1000, 262_144, 10**10])
def test_sixteen_bit_levels_are_served(budget: int) -> None:
    """q = 65535 is served by rounded slopes at every budget."""
    allocation = allocate(SQRT, budget, 65_535, method="slopes")
    assert allocation.N[-1] <= budget
    assert allocation.eps < 1


@settings(max_examples=60, deadline=None)
@given(concave_tables(), st.fractions(Fraction(1, 20), 1, max_denominator=60))
def test_smallest_budget_is_the_first_that_is_enough(values: tuple[Fraction, ...], epsilon: Fraction) -> None:
    """eps*(B) <= epsilon at the answer and at no smaller budget, although eps* is not monotone."""
    profile, q = Profile.from_values(values), len(values) - 1
    answer = smallest_periodic_budget(profile, epsilon, q)
    enough = [allocate(profile, budget, q).within(epsilon) for budget in range(1, answer + 1)]
    assert enough.index(True) == answer - 1


def test_smallest_budget_limits() -> None:
    """epsilon = 0 needs a limit, and a limit that is too low says so."""
    with pytest.raises(AllocationError, match="limit="):
        smallest_periodic_budget(SQRT, 0)
    with pytest.raises(AllocationError, match="no budget up to 100 reaches"):
        smallest_periodic_budget(SQRT, 0.01, limit=100)


def test_more_outcomes_may_be_worse() -> None:
    """400 outcomes come closer to sqrt than 500 at q = 255."""
    at_400, at_500 = allocate(SQRT, 400), allocate(SQRT, 500)
    assert at_400.eps < at_500.eps
    assert np.all(np.diff(at_400.N, 2) <= 0)
