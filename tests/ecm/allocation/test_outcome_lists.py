"""Outcomes that are known by their weights are the outcomes of the list; what is no list of outcomes is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ecm.allocation import Outcomes
from ecm.errors import DesignError

WEIGHTS = [
    (4, 5, {1: 1, 2: 1}),
    (4, 9, {1: 2, 3: 1, 4: 1}),
    (6, 40, {2: 3, 5: 2, 6: 3}),
    (3, 7, {3: 2}),
    (5, 3, {}),
    (5, 8, {2: 0, 4: 2}),
    (1, 4, {1: 3}),
]


def listed(q: int, budget: int, weights: dict[int, int]) -> Outcomes:
    """Every width with all its offsets, as often as its weight says, one by one."""
    rows = [
        [gap for gap in range(1, q + 1) if gap % width == (s + 1) % width]
        for width, count in sorted(weights.items())
        for _ in range(count)
        for s in range(width)
    ]
    return Outcomes.from_rows(rows, q, budget)


@pytest.mark.parametrize(("q", "budget", "weights"), WEIGHTS)
def test_periodic_outcomes_are_those_of_the_list(q: int, budget: int, weights: dict[int, int]) -> None:
    """Row by row, pair by pair, and by the different rows."""
    periodic, plain = Outcomes.from_weights(weights, q, budget), listed(q, budget, weights)
    assert (periodic.finite, periodic.infinite) == (plain.finite, plain.infinite)
    assert [row.tolist() for row in periodic.rows()] == [row.tolist() for row in plain.rows()]
    assert np.array_equal(periodic.starts, plain.starts)
    assert np.array_equal(periodic.gaps, plain.gaps)
    assert periodic == plain
    assert plain == periodic
    assert hash(periodic) == hash(plain)
    for name in ("least", "most", "total", "dividers"):
        assert getattr(periodic, name).tolist() == getattr(plain, name).tolist(), name
    assert [row.tolist() for row in periodic.splits()] == [row.tolist() for row in plain.splits()]
    rows = [*(row.tolist() for row in periodic.distinct.rows()), []]
    assert len(rows) == 1 + sum(width for width, count in weights.items() if count)
    written = [*(row.tolist() for row in plain.rows()), *([[]] * plain.infinite)]
    assert [rows[at] for at in periodic.distinct_of(np.arange(budget))] == written


@pytest.mark.parametrize(("q", "budget", "weights"), WEIGHTS)
def test_splits_are_counted_pair_by_pair(q: int, budget: int, weights: dict[int, int]) -> None:
    """An outcome separates two levels if it has a divider between them."""
    plain = listed(q, budget, weights)
    rows = [row.tolist() for row in plain.rows()]
    for x, found in enumerate(plain.splits()):
        assert found.tolist() == [sum(any(x < gap <= y for gap in row) for row in rows) for y in range(x, q + 1)]
    assert plain.distinct_of(np.arange(budget)).tolist() == [min(at, plain.finite) for at in range(budget)]


def test_lists_that_differ_are_not_equal() -> None:
    """By weights, by rows, by size, or by kind."""
    one = Outcomes.from_weights({1: 1, 2: 1}, 4, 5)
    assert one != Outcomes.from_weights({1: 3}, 4, 5)
    assert one != Outcomes.from_weights({1: 1, 2: 1}, 4, 6)
    assert one != Outcomes.from_rows([[1]], 4, 5)
    assert Outcomes.from_rows([[1]], 4, 5) != one
    assert one != "one"
    assert Outcomes.from_rows([[1]], 4, 5) != [1]


@pytest.mark.parametrize(
    ("starts", "gaps"),
    [
        ([], []),
        ([0, 1], [0]),
        ([0, 1], [5]),
        ([0, 2], [0, 3]),
        ([0, 2], [3, 5]),
        ([0, 2], [2, 2]),
        ([0, 2], [3, 2]),
        ([0, 1, 3], [4, 2, 1]),
        ([1, 2], [1, 2]),
        ([0, 1], [1, 2]),
        ([0, 1, 1], [1]),
        ([0, 1, 2, 3, 4], [1, 1, 1, 1]),
    ],
)
def test_what_is_no_list_of_outcomes_is_refused(starts: list[int], gaps: list[int]) -> None:
    """Dividers outside of the gaps or not rising, starts that do not fit, more outcomes than the budget."""
    with pytest.raises(DesignError):
        Outcomes(4, 3, np.array(starts, int), np.array(gaps, int))


def test_outcomes_cannot_be_changed_after_they_were_checked() -> None:
    """Neither through the list nor through what it was made from."""
    starts, gaps = np.array([0, 2]), np.array([1, 3])
    outcomes = Outcomes(4, 3, starts, gaps)
    gaps[0] = 9
    assert outcomes.gaps.tolist() == [1, 3]
    for array in (outcomes.starts, outcomes.gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def test_sizes_have_limits() -> None:
    """The largest of each is allowed, the next is not; a list that is too long is not written out."""
    assert Outcomes.from_weights({}, 1 << 16, 1 << 50).finite == 0
    for q, budget in ((0, 1), ((1 << 16) + 1, 1), (4, -1), (4, (1 << 50) + 1)):
        with pytest.raises(DesignError):
            Outcomes.from_weights({}, q, budget)
    large = Outcomes.from_weights({4: (1 << 24) + 1}, 4, 1 << 30)
    with pytest.raises(DesignError, match="written out"):
        _ = large.gaps
    assert large.most.tolist() == [k * ((1 << 24) + 1) for k in range(5)]
