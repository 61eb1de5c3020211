"""The exact program finds the true optimum: compared with an enumeration that shares nothing with it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm.allocation import dynamic_program
from ecm.allocation.allocation import allocate
from ecm.allocation.caps import Tube
from ecm.errors import AllocationError
from ecm.metric import Profile
from ecm.verification.strategies import budgets, concave_tables


def every_allocation(caps: list[int]) -> Iterator[tuple[int, ...]]:
    """N(0..q) of all weights that respect the caps, slope by slope."""

    def extend(n: tuple[int, ...], slope: int) -> Iterator[tuple[int, ...]]:
        k = len(n)
        if k == len(caps):
            yield n
            return
        for step in range(min(slope, caps[k] - n[-1]) + 1):
            yield from extend((*n, n[-1] + step), step)

    yield from extend((0,), caps[-1] if caps else 0)


def brute_force(values: tuple[Fraction, ...], budget: int) -> list[tuple[Fraction, int]]:
    """(eps, sum of N) of every sound allocation, best first: smallest eps, then largest sum."""
    caps = [floor(budget * value) for value in values]
    every = (
        (max(g - Fraction(n, budget) for g, n in zip(values, ns, strict=True)), -sum(ns))
        for ns in every_allocation(caps)
    )
    return [(eps, -total) for eps, total in sorted(every)]


def exact_eps(values: tuple[Fraction, ...], n: np.ndarray, budget: int) -> Fraction:
    return max(g - Fraction(int(x), budget) for g, x in zip(values, n, strict=True))


@settings(max_examples=300, deadline=None)
@given(concave_tables(), budgets())
def test_optimum_is_that_of_the_enumeration(values: tuple[Fraction, ...], budget: int) -> None:
    """eps and the sum of N(k) are those of the best of all allocations, as fractions."""
    allocation = allocate(Profile.from_values(values), budget, len(values) - 1)
    assert (exact_eps(values, allocation.N, budget), int(allocation.N.sum())) == brute_force(values, budget)[0]
    assert allocation.optimality.startswith("proved optimal")


@settings(max_examples=200, deadline=None)
@given(concave_tables(), budgets(), st.fractions(0, 1, max_denominator=50))
def test_epsilon_gives_the_smallest_mean_gap_or_the_smallest_eps(
    values: tuple[Fraction, ...], budget: int, epsilon: Fraction
) -> None:
    """With epsilon the sum of N(k) is the largest of all allocations within it; without one the error names eps*."""
    every = brute_force(values, budget)
    within = [total for eps, total in every if eps <= epsilon]
    if within:
        allocation = allocate(Profile.from_values(values), budget, len(values) - 1, epsilon=epsilon)
        assert int(allocation.N.sum()) == max(within)
        assert allocation.within(epsilon)
    else:
        with pytest.raises(AllocationError, match=rf"smallest possible eps is {float(every[0][0]):.8g} "):
            allocate(Profile.from_values(values), budget, len(values) - 1, epsilon=epsilon)


@pytest.mark.parametrize("q", [2, 5, 7])
@pytest.mark.parametrize("budget", [3, 8, 13, 20])
def test_optimum_for_irrational_values(q: int, budget: int) -> None:
    """sqrt(k/q) is irrational, and the optimum is still that of the enumeration in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        values = (*(Fraction((Decimal(k) / q).sqrt()) for k in range(q)), Fraction(1))
    allocation = allocate(Profile.from_expr("sqrt(z)"), budget, q)
    eps, total = brute_force(values, budget)[0]
    assert abs(exact_eps(values, allocation.N, budget) - eps) < Fraction(1, 10**50)
    assert int(allocation.N.sum()) == total
    assert allocation.eps == pytest.approx(float(eps), rel=1e-15, abs=1e-17)


@pytest.mark.parametrize(
    ("text", "optima"),
    [
        ("sqrt(z)", {255: 0.1363, 400: 0.0347, 500: 0.0431, 1000: 0.01720, 2000: 0.0057}),
        ("z**(1/3)", {255: 0.1529, 400: 0.0675, 500: 0.0340, 1000: 0.0200, 2000: 0.00485}),
    ],
)
def test_known_optima_at_255(text: str, optima: dict[int, float]) -> None:
    """The proven optima of theory and MILP at q = 255 come out to all known digits."""
    profile = Profile.from_expr(text)
    assert {budget: round(allocate(profile, budget).eps, len(str(eps)) - 2) for budget, eps in optima.items()} == optima


def test_alpha_only_adds_infinite_outcomes() -> None:
    """g/18 with a budget of 18 B has the weights of g with B."""
    whole = allocate(Profile.from_expr("sqrt(z)"), 1000)
    part = allocate(Profile.from_expr("sqrt(z)/18"), 18_000)
    assert part.weights == whole.weights
    assert part.infinite == whole.infinite + 17_000
    assert part.eps == pytest.approx(whole.eps / 18, rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=6))
def test_sequence_fills_any_tube(bounds: list[tuple[int, int]]) -> None:
    """For any rising bounds, a sequence is found iff the enumeration has one, and it lies between them."""
    lower = np.concatenate([[0], np.cumsum([low for low, _ in bounds])])
    upper = np.maximum.accumulate(lower + np.array([0, *(room for _, room in bounds)]))
    inside = [n for n in every_allocation(upper.tolist()) if all(a <= b for a, b in zip(lower, n, strict=True))]
    found = dynamic_program.sequence(lower, upper)
    if not inside:
        assert found is None
    else:
        assert found is not None
        assert tuple(found.tolist()) in inside
        densest = dynamic_program.densest(lower, upper)
        assert densest is not None
        assert tuple(densest.tolist()) in inside
        assert int(densest.sum()) == max(map(sum, inside))


def test_close_fractional_parts_are_told_apart() -> None:
    """Fractional parts that agree to 60 bits and more still get their exact order, and equal ones the same rank."""
    tiny = Fraction(1, 10**40)
    third = Fraction(1, 3)
    tube = Tube.of(Profile.from_values([0, third + tiny, third * 2, 1 - tiny]), 3, 3)
    assert tube.caps.tolist() == [0, 1, 2, 2]
    assert tube.ranks.tolist() == [0, 1, 0, 2]


def test_second_pass_may_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second pass would need too many cells, eps* stays proved and the text says what was not done."""
    profile = Profile.from_expr("sqrt(z)")
    best = allocate(profile, 200, 60)
    monkeypatch.setattr(dynamic_program, "MOST_CELLS", 10)
    quick = allocate(profile, 200, 60)
    assert quick.eps == best.eps
    assert "not maximised" in quick.optimality


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem beyond the memory limit raises and names the method to use."""
    monkeypatch.setattr(dynamic_program, "MOST_STATES", 10)
    with pytest.raises(AllocationError, match="method='slopes'"):
        allocate(Profile.from_expr("sqrt(z)"), 100, 60)
