"""The greedy start is sound whatever it is asked for, and close to what it is asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import Outcomes
from ecm.design.greedy_start import greedy, greedy_rows, worst_gap
from ecm.metric import Profile
from ecm.verification.strategies import concave_tables

TABLES = st.integers(1, 20).flatmap(concave_tables)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(1, 200), st.floats(-1, 4))
def test_any_margin_is_sound(table: tuple[Fraction, ...], budget: int, margin: float) -> None:
    """No pair is separated more often than its cap, for any margin, even a senseless one."""
    profile, q = Profile.from_values(table), len(table) - 1
    caps = profile.floors(budget, q)
    rows = greedy_rows(caps, budget * profile.values(q), margin)
    assert len(rows) == caps[-1]
    assert bool((Outcomes.from_rows(rows, q, budget).most <= caps).all())


def test_linear_and_step_are_exact() -> None:
    """Where all of B g is whole and a design can be exact (l1 at B = q, l0 at any B), the start is exact."""
    line = np.arange(65)
    assert worst_gap(greedy(line, line.astype(float)), line.astype(float)) == 0
    step = np.minimum(line, 1) * 3
    assert worst_gap(greedy(step, step.astype(float)), step.astype(float)) == 0


def test_roots_come_within_four_outcomes() -> None:
    """z**(1/2) and z**(1/3) at q = 255: the worst pair is at most 4 outcomes below B g."""
    for power, budget in ((1 / 2, 32), (1 / 2, 100), (1 / 3, 50)):
        target = budget * (np.arange(256) / 255) ** power
        assert worst_gap(greedy(np.floor(target + 1e-9).astype(np.int64), target), target) <= 4
