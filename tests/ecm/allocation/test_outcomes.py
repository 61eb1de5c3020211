"""Outcomes count splits as a direct look at every pair does, and refuse what is no list of partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import DesignError, Outcomes


@st.composite
def outcome_lists(draw: st.DrawFn, q_most: int = 9) -> Outcomes:
    q = draw(st.integers(1, q_most))
    rows = draw(st.lists(st.sets(st.integers(1, q)), max_size=8))
    return Outcomes.from_rows([sorted(row) for row in rows], q, len(rows) + draw(st.integers(0, 3)) + (not rows))


def by_hand(outcomes: Outcomes, x: int, y: int) -> int:
    """How many outcomes have a divider in one of the gaps x+1..y."""
    return sum(any(x < gap <= y for gap in row) for row in outcomes.rows())


@settings(deadline=None)
@given(outcome_lists())
def test_splits_are_counted_as_by_hand(outcomes: Outcomes) -> None:
    """c(x, y) is the number of outcomes with a divider between x and y, for every pair."""
    for x, row in enumerate(outcomes.splits()):
        assert row.tolist() == [by_hand(outcomes, x, y) for y in range(x, outcomes.q + 1)]


@settings(deadline=None)
@given(outcome_lists())
def test_extremes_are_over_all_pairs_at_a_distance(outcomes: Outcomes) -> None:
    """least, most and total are the minimum, maximum and sum of c(x, x+k) over x."""
    for k in range(outcomes.q + 1):
        counts = [by_hand(outcomes, x, x + k) for x in range(outcomes.q + 1 - k)]
        assert (outcomes.least[k], outcomes.most[k], outcomes.total[k]) == (min(counts), max(counts), sum(counts))


@settings(deadline=None)
@given(st.integers(1, 12), st.dictionaries(st.integers(1, 12), st.integers(0, 3), max_size=4))
def test_full_offset_sets_split_min_j_k(q: int, weights: dict[int, int]) -> None:
    """The periodic outcomes of width j separate every pair at distance k exactly min(j, k) times."""
    weights = {j: w for j, w in weights.items() if j <= q}
    budget = sum(j * w for j, w in weights.items()) + 1
    outcomes = Outcomes.from_weights(weights, q, budget)
    expected = [sum(w * min(j, k) for j, w in weights.items()) for k in range(q + 1)]
    assert outcomes.least.tolist() == outcomes.most.tolist() == expected
    assert outcomes.infinite == 1


@pytest.mark.parametrize(
    ("rows", "q", "budget", "word"),
    [
        ([[0]], 4, 2, "outside"),
        ([[5]], 4, 2, "outside"),
        ([[2, 2]], 4, 2, "increasing"),
        ([[3, 1]], 4, 2, "increasing"),
        ([[1], [2], [3]], 4, 2, "budget"),
        ([[1.5]], 4, 2, "integers"),
        ([[1]], 0, 2, "q >= 1"),
        ([1], 4, 2, "divider gaps of each outcome"),
        ([[[1, 2], [3]]], 4, 2, "divider gaps of each outcome"),
    ],
)
def test_what_is_no_list_of_partitions_is_refused(rows: list[list[int]], q: int, budget: int, word: str) -> None:
    """Gaps outside 1..q, repeated or falling gaps, fractions and too many rows raise DesignError."""
    with pytest.raises(DesignError, match=word):
        Outcomes.from_rows(rows, q, budget)


def test_outcomes_cannot_be_changed_afterwards() -> None:
    """Neither the object's arrays nor the arrays it was made from reach its content."""
    gaps = np.array([1, 3])
    outcomes = Outcomes(4, 2, np.array([0, 2]), gaps)
    gaps[0] = 2
    assert outcomes.gaps.tolist() == [1, 3]
    with pytest.raises(ValueError, match="read-only"):
        outcomes.gaps[0] = 2


@pytest.mark.parametrize(
    ("starts", "gaps"),
    [([], []), ([1, 2], [1, 2]), ([0, 1], [1, 2]), ([0, 3], [1, 2]), ([0, 0, 1], [1]), ([0, 2, 1, 3], [1, 2, 3])],
)
def test_starts_that_do_not_cut_the_gaps_into_rows_are_refused(starts: list[int], gaps: list[int]) -> None:
    """They begin with 0, rise by at least one divider per outcome, and end with the number of gaps: files may lie."""
    with pytest.raises(DesignError, match="starts"):
        Outcomes(4, 8, np.array(starts, dtype=np.int64), np.array(gaps, dtype=np.int64))


@pytest.mark.parametrize("weights", [{0: 1}, {5: 1}, {2: -1}])
def test_widths_outside_the_grid_and_negative_counts_are_refused(weights: dict[int, int]) -> None:
    """Widths are 1..q, counts at least 0."""
    with pytest.raises(DesignError, match="widths are 1"):
        Outcomes.from_weights(weights, q=4, budget=8)


def test_lists_differ_by_grid_budget_and_dividers() -> None:
    """Equality is that of the whole content; a budget filled by finite outcomes alone is one, too."""
    one = Outcomes.from_rows([[1], [2, 4]], q=4, budget=2)
    assert one == Outcomes.from_rows([[1], [], [2, 4]], q=4, budget=2)
    others = [([[1], [2, 4]], 5, 2), ([[1], [2, 4]], 4, 3), ([[1], [2, 3]], 4, 2), ([[1, 2], [4]], 4, 2)]
    assert all(one != Outcomes.from_rows(rows, q, budget) for rows, q, budget in others)


@pytest.mark.parametrize(
    ("q", "budget"), [(4, 2**50 + 1), (4, 2**70), (10**30, 4), (4.0, 4), (4, "4"), (None, 4), (0, 4), (4, -1)]
)
def test_sizes_beyond_exact_sums_are_refused(q: int, budget: int) -> None:
    """And what is no size at all."""
    with pytest.raises(DesignError):
        Outcomes.from_rows([], q, budget)


def test_weights_beyond_the_budget_are_refused_before_they_are_listed() -> None:
    """The list would not fit any memory."""
    with pytest.raises(DesignError, match="more than the budget"):
        Outcomes.from_weights({4: 10**15}, q=4, budget=16)
