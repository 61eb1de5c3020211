"""The search keeps a design a design, never returns a worse or unsound one, and repeats itself for a seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm.allocation import Outcomes
from ecm.design.blocks import blocks_of, outcomes_of, splits_of
from ecm.design.breakout import Breakout
from ecm.design.greedy_start import greedy, worst_gap
from ecm.metric import Profile
from ecm.verification.strategies import concave_tables


def root(power: float, budget: int, q: int = 255) -> tuple[np.ndarray, np.ndarray]:
    target = budget * (np.arange(q + 1) / q) ** power
    return np.floor(target + 1e-9).astype(np.int64), target


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 16).flatmap(concave_tables), st.integers(1, 120), st.integers(0, 3))
def test_sound_and_never_worse(table: tuple[Fraction, ...], budget: int, seed: int) -> None:
    """From any start the result is sound in integers, not worse than the start, and its worst gap is as stated."""
    profile, q = Profile.from_values(table), len(table) - 1
    caps, target = profile.floors(budget, q), budget * profile.values(q)
    none = Outcomes.from_rows([], q, int(caps[-1]))
    for start in (greedy(caps, target), none):
        search = Breakout(blocks_of(start), caps, target, seed)
        found = outcomes_of(search.run(120), int(caps[-1]))
        assert bool((found.most <= caps).all())
        assert worst_gap(found, target) == pytest.approx(search.worst, abs=1e-9)
        assert search.worst <= worst_gap(start, target) + 1e-9


def test_state_stays_consistent() -> None:
    """After hundreds of moves the slack matrix still is the caps minus the splits of the current blocks."""
    caps, target = root(0.5, 24, 40)
    search = Breakout(blocks_of(greedy(caps, target)), caps, target, seed=3)
    search.run(300)
    blocks = search.blocks.copy()
    np.fill_diagonal(blocks, 0)
    assert int(blocks.min()) >= 0
    x, y = np.triu_indices(41, 1)
    assert np.array_equal(search.slack[x, y], caps[y - x] - splits_of(blocks)[x, y])
    band = search.band[x, y]
    violated = set(np.flatnonzero((search.slack[x, y] < 0) | (search.slack[x, y] > band)))
    queued = {(cell // 41, cell % 41) for cell in search.queue}
    assert {(int(x[i]), int(y[i])) for i in violated} <= queued


def test_the_same_seed_gives_the_same_design() -> None:
    """Two runs agree block by block, also when one is made in two halves; another seed differs."""
    caps, target = root(0.5, 32, 64)
    start = blocks_of(greedy(caps, target))
    whole = Breakout(start, caps, target, seed=5).run(400)
    halves = Breakout(start, caps, target, seed=5)
    halves.run(150)
    assert np.array_equal(halves.run(250), whole)
    assert not np.array_equal(Breakout(start, caps, target, seed=6).run(400), whole)


@pytest.mark.parametrize(("power", "budget", "worst"), [(1 / 2, 50, 2.75), (1 / 3, 50, 2.75), (1 / 2, 100, 3.0)])
def test_few_steps_are_enough_at_255_levels(power: float, budget: int, worst: float) -> None:
    """300 steps already bring the greedy start below what the fast effort promises."""
    caps, target = root(power, budget)
    search = Breakout(blocks_of(greedy(caps, target)), caps, target, seed=0)
    search.run(300)
    assert search.worst <= worst
