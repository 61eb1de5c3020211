"""The run-off by its counts alone, for tests that have no scheme."""

from __future__ import annotations

from collections.abc import Sequence

from smoothing.certificates.runoff import Poll


def runoff_changes(counts: Sequence[int], pairs: Sequence[Sequence[int]], unsure: int = 0) -> int:
    """Return the largest M such that fewer than M changed samples keep the winner; 0 if near-ties alone may oust it."""
    return Poll(tuple(counts), unsure, sum(counts) + unsure, tuple(map(tuple, pairs))).changes
