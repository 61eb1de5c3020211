"""The search for the multiplier: it finds nearly the best one, and never leaves the range in which nothing wraps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoothing.certificates.dual import FeatureItems, maximize


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).map(sorted), min_size=1, max_size=6),
    need=st.integers(1, 40),
    start=st.integers(0, 300),
    scale=st.sampled_from([64, 100, 256]),
)
def test_the_search_finds_nearly_the_best_multiplier(rows: list[list[int]], need: int, start: int, scale: int) -> None:
    """From wherever it starts: all m = 0..scale are tried here, and the best is missed by less than one step of m."""
    items = FeatureItems(((np.array(rows), np.array([scale // 5, scale // 2, scale])),))
    if items.attainable < need:
        return
    bound, m = maximize(items, need, scale, start)
    assert 0 <= m <= scale
    assert bound == m * need - items.excess(m)[0]
    best = max(k * need - items.excess(k)[0] for k in range(scale + 1))
    assert best - need < bound <= best


def test_gains_that_cost_nothing_leave_no_ball() -> None:
    """Every m > 0 gives a negative bound, so what is left is m = 0 and the bound 0, not a unit more."""
    items = FeatureItems(((np.array([[9, 9, 9]]), np.array([0, 0, 0])),))
    assert maximize(items, 5, 64, 30) == (0, 0)


@pytest.mark.parametrize("start", [1, 1500, 2048, 1 << 40])
def test_the_search_stays_where_products_fit(start: int) -> None:
    """One item gains 2**50, and all of the others are needed as well, which a larger m would pay for."""
    items = FeatureItems(((np.array([[1 << 50], [1]]), np.array([1 << 58])),))
    bound, m = maximize(items, (1 << 50) + 1, 1 << 60, start)
    assert m <= (1 << 61) // (1 << 50)
    assert bound == m * ((1 << 50) + 1) - max(0, (m << 50) - (1 << 58)) - max(0, m - (1 << 58))
