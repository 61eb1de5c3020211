"""Blocks, split matrices and outcomes are three views of one thing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from ecm import DesignError, Outcomes
from ecm.design.blocks import blocks_of, outcomes_of, splits_of
from tests.ecm.allocation.test_outcomes import outcome_lists


@settings(deadline=None)
@given(outcome_lists())
def test_split_matrix_from_blocks(outcomes: Outcomes) -> None:
    """The corner sums of the blocks give the split counts of the outcomes."""
    matrix = splits_of(blocks_of(outcomes))
    for x, row in enumerate(outcomes.splits()):
        assert matrix[x, x:].tolist() == row.tolist()


@settings(deadline=None)
@given(outcome_lists())
def test_paths_give_back_the_blocks(outcomes: Outcomes) -> None:
    """Any path decomposition has the same blocks, hence the same splits."""
    blocks = blocks_of(outcomes)
    again = outcomes_of(blocks, outcomes.budget)
    assert np.array_equal(blocks_of(again), blocks)
    assert int(blocks[0].sum()) == outcomes.budget
    assert (again.finite, again.infinite) == (outcomes.finite, outcomes.infinite)


def test_blocks_that_do_not_meet_are_refused() -> None:
    """A block that ends where none starts, or a negative count, is no list of outcomes."""
    blocks = np.zeros((5, 5), dtype=np.int32)
    blocks[0, 2] = blocks[3, 4] = 1
    with pytest.raises(DesignError, match="level 2"):
        outcomes_of(blocks, 1)
    blocks[0, 2] = -1
    with pytest.raises(DesignError, match="negative"):
        outcomes_of(blocks, 1)
