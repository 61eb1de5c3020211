"""The tube under B g: sizes that stay inside 64 bits, and the exact order of fractional parts."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from ecm.allocation import dynamic_program
from ecm.allocation import outcomes as lists
from ecm.allocation.allocation import Allocation, allocate
from ecm.allocation.caps import Tube, as_epsilon, check_size
from ecm.allocation.outcomes import Outcomes
from ecm.errors import AllocationError, DesignError
from ecm.metric import Profile

SQRT = Profile.from_expr("sqrt(z)")


@pytest.mark.parametrize("q", [1, 2, 6, 254])
def test_sums_over_all_levels_stay_below_two_to_the_sixty(q: int) -> None:
    """The largest budget with B (q + 2) < 2**60 is accepted, and the next one is not."""
    most = ((1 << 60) - 1) // (q + 2)
    assert check_size(most, q) == (most, q)
    with pytest.raises(AllocationError, match="smaller budget"):
        check_size(most + 1, q)


def test_an_epsilon_of_zero_is_exactly_zero() -> None:
    """Any other float stands for the numbers that round to it."""
    assert as_epsilon(0.0) == 0
    assert as_epsilon(0.5) > Fraction(1, 2)


@pytest.mark.parametrize("q", [3, 4, 5, 8])
@pytest.mark.parametrize("tiny", [Fraction(1, 10**25), Fraction(1, 10**60), Fraction(0)])
def test_fractional_parts_that_agree_to_sixty_bits_are_ordered_exactly(q: int, tiny: Fraction) -> None:
    """B g(k/q) = k/2 - k**2 * tiny: far fewer different floors than different numbers."""
    budget = 2 * q
    values = [Fraction(k, 4 * q) - k * k * tiny for k in range(q + 1)]
    parts = [budget * v - budget * v // 1 for v in values]
    tube = Tube.of(Profile.from_values(values), budget, q)
    assert tube.ranks.tolist() == [sorted(set(parts)).index(part) for part in parts]
    assert tube.size == len(set(parts))


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("sqrt(z)", [0, 0, 1, 2, 0]),
        ("sqrt(z)*(1 - 1e-40) + 1e-40*z", [0, 3, 1, 2, 0]),
        ("z/2 + 1e-30*sqrt(z)", [0, 1, 2, 3, 4]),
        ("z/2 - 1e-30*(exp(z) - 1)", [0, 4, 3, 2, 1]),
    ],
)
def test_fractional_parts_of_formulas_are_ordered_exactly(text: str, ranks: list[int]) -> None:
    """Of 8 g(k/4), also where they differ by 1e-30 only."""
    assert Tube.of(Profile.from_expr(text), 8, 4).ranks.tolist() == ranks


def test_the_widths_that_occur_are_kept_and_no_others() -> None:
    """A count of 0 is no count; the text of an allocation has its keys in order."""
    with_none = Allocation(SQRT, {1: 0, 2: 0, 4: 1}, 4, 4)
    assert with_none == Allocation(SQRT, {4: 1}, 4, 4)
    assert with_none.weights == {4: 1}
    assert not with_none.proved
    assert list(json.loads(with_none.to_json())) == sorted(json.loads(with_none.to_json()))


def test_the_levels_of_a_byte_are_the_default() -> None:
    """q = 255."""
    assert allocate(SQRT, 10).q == 255


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_within_epsilon_the_sum_of_splits_is_the_largest(epsilon: Fraction) -> None:
    """Compared with all concave sequences below the caps, whose slopes are listed one by one."""
    q, budget = 4, 7
    caps = SQRT.floors(budget, q).tolist()
    found = allocate(SQRT, budget, q, epsilon=epsilon)
    sums = []
    for slopes in combinations_with_replacement(range(budget, -1, -1), q):
        n = [sum(slopes[:k]) for k in range(q + 1)]
        squares = [(n[k] + epsilon * budget) ** 2 * q >= budget**2 * k for k in range(q + 1)]  # the gap, squared
        if all(squares) and all(a <= b for a, b in zip(n, caps, strict=True)):
            sums.append(sum(n))
    assert int(found.N.sum()) == max(sums)
    assert found.optimality.startswith("within epsilon")
    assert found.within(epsilon)


def test_a_list_of_the_largest_size_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one with a divider more is not; lists that are too long are compared by their weights all the same."""
    monkeypatch.setattr(lists, "LARGEST_LISTING", 8)
    assert len(Outcomes.from_weights({4: 2}, 4, 8).gaps) == 8
    large = [Outcomes.from_weights({4: 3}, 4, budget) for budget in (12, 12, 13)]
    with pytest.raises(DesignError, match="written out"):
        _ = large[0].gaps
    assert large[0] == large[1]
    assert large[0] != large[2]


@pytest.mark.parametrize("weights", [{}, {1: 1}, {4: 1}, {1: 1, 2: 1, 4: 1}])
def test_the_key_of_a_sequence_is_the_least_that_allows_it(weights: dict[int, int]) -> None:
    """One less asks for a larger N(k) somewhere, namely where the gap is the largest."""
    tube, n = Tube.of(SQRT, 8, 4), Allocation(SQRT, weights, 4, 8).N
    key = tube.key(n)
    assert (tube.lower(key) <= n).all()
    assert not (tube.lower(key - 1) <= n).all()
    assert tube.gap(n, tube.worst(n)) == max(tube.gap(n, k) for k in range(5))


def test_a_text_that_does_not_say_whether_it_is_optimal_is_not_taken_to_be() -> None:
    """Older texts do not; others keep what they say."""
    for allocation, proved in ((Allocation(SQRT, {4: 1}, 4, 8), False), (allocate(SQRT, 8, 4), True)):
        assert Allocation.from_json(allocation.to_json()).proved == allocation.proved == proved
        data = json.loads(allocation.to_json())
        del data["proved"]
        assert not Allocation.from_json(json.dumps(data)).proved


def test_where_the_largest_sum_is_not_searched_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The eps is the same; the optimum stays proved."""
    best, within = allocate(SQRT, 30, 8), allocate(SQRT, 30, 8, epsilon=Fraction(1, 4))
    monkeypatch.setattr(dynamic_program, "densest", lambda *_: None)
    rough, allowed = allocate(SQRT, 30, 8), allocate(SQRT, 30, 8, epsilon=Fraction(1, 4))
    assert (rough.eps, rough.proved) == (best.eps, True)
    assert "not maximised" in rough.optimality
    assert allowed.within(Fraction(1, 4))
    assert not allowed.proved
    assert "not searched" in allowed.optimality
    assert int(allowed.N.sum()) <= int(within.N.sum())
