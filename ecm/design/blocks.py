"""Outcomes as a count of blocks, and back: any flow of blocks from level 0 to level q+1 is a list of outcomes."""

from __future__ import annotations

import numpy as np

from ecm.allocation import Outcomes
from ecm.arrays import Shorts
from ecm.errors import DesignError


def blocks_of(outcomes: Outcomes) -> Shorts:
    """Return f[s, t] = how many outcomes have the block of levels {s..t-1}, 0 <= s < t <= q+1; infinite ones are (0,
    q+1).

    >>> blocks_of(Outcomes.from_rows([[1], [2]], q=2, budget=3))
    array([[0, 1, 1, 1],
           [0, 0, 0, 1],
           [0, 0, 0, 1],
           [0, 0, 0, 0]], dtype=int32)
    """
    q = outcomes.q
    blocks = np.zeros((q + 2, q + 2), dtype=np.int32)
    first, last = outcomes.starts[:-1], outcomes.starts[1:] - 1
    inner = np.ones(len(outcomes.gaps), dtype=bool)
    inner[first] = False
    inside = np.flatnonzero(inner)
    np.add.at(blocks, (outcomes.gaps[inside - 1], outcomes.gaps[inside]), 1)
    np.add.at(blocks[0], outcomes.gaps[first], 1)
    np.add.at(blocks[:, q + 1], outcomes.gaps[last], 1)
    blocks[0, q + 1] += outcomes.infinite
    return blocks


def splits_of(blocks: Shorts) -> Shorts:
    """Return c[x, y] for all 0 <= x <= y <= q: the outcomes minus those with one block over both, F(x, y) = sum_{s<=x,
    t>y} f.

    >>> splits_of(blocks_of(Outcomes.from_rows([[1], [2]], q=2, budget=3)))
    array([[0, 1, 2],
           [0, 0, 1],
           [0, 0, 0]], dtype=int32)
    """
    together = blocks[:-1, 1:].cumsum(axis=0, dtype=np.int32)
    together = together[:, ::-1].cumsum(axis=1, dtype=np.int32)[:, ::-1]
    return np.triu(blocks[0].sum(dtype=np.int32) - together, 1)


def outcomes_of(blocks: Shorts, budget: int) -> Outcomes:
    """Return outcomes with these blocks (a path decomposition); raises DesignError if blocks do not meet at some level.

    Blocks that end at a level are continued by those that start there, short ones by short ones, so that an outcome
    keeps about the same resolution over all levels, as a bin width Lambda would. All matchings have the same splits.

    >>> two = Outcomes.from_rows([[1, 3], [2]], q=4, budget=2)
    >>> outcomes_of(blocks_of(two), budget=2).least
    array([0, 0, 1, 2, 2])
    """
    q = len(blocks) - 2
    if int(blocks.min()) < 0:
        raise DesignError("a block is counted a negative number of times: this is not a list of outcomes")
    begin, end = np.nonzero(np.triu(blocks, 1))
    times = blocks[begin, end]
    begin, end = np.repeat(begin, times), np.repeat(end, times)
    bounds = np.searchsorted(begin, np.arange(q + 3))
    rows: list[list[int]] = [[] for _ in range(int(bounds[1]))]
    arriving: list[list[tuple[int, int]]] = [[] for _ in range(q + 2)]  # (length of the last block, outcome)
    arriving[0] = [(0, r) for r in range(len(rows))]
    for s in range(q + 1):
        leaving = end[bounds[s] : bounds[s + 1]].tolist()  # ascending
        if len(leaving) != len(arriving[s]):
            raise DesignError(f"{len(arriving[s])} blocks end at level {s}, {len(leaving)} start there: no outcomes")
        for (_, row), t in zip(sorted(arriving[s]), leaving, strict=True):
            arriving[t].append((t - s, row))
            if t <= q:
                rows[row].append(t)
    return Outcomes.from_rows(rows, q, budget)
