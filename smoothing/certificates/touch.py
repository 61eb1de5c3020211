"""Which samples a change of one feature touches, and what they are worth to a rival.

Moving feature i from level x_i by k levels touches exactly the samples whose outcome has a divider on the way. For a
given worth of every sample (what a rival gains at most if the sample changes), the gain of the move is the sum over
the touched samples; it is computed here for all features and distances, up and down, as exact integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.allocation import Outcomes
from ecm.arrays import Floats, Ints, Shorts

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


_CELLS = 1 << 18  # entries of the arrays of one chunk of features: they should stay in the cache
_FINE, _STEP = 512, 1.01


def menu(q: int) -> Ints:
    """Return the distances in levels at which moves are priced: all of 1..q up to a few hundred, geometric beyond.

    A move by k levels, menu[a] <= k < menu[a+1], is given the cost of menu[a] and the gain of menu[a+1]-1 levels:
    both err on the safe side, and up to q = 512 nothing is lost.
    """
    steps = [*range(1, min(q, _FINE) + 1)]
    while steps[-1] < q:
        steps.append(min(q, int(steps[-1] * _STEP) + 1))
    return np.array(steps, dtype=np.int64)


def distances(outcomes: Outcomes, levels: Ints) -> tuple[Shorts, Shorts]:
    """Return how many levels a value must move up, and down, until it passes a divider, for every level and outcome.

    Both arrays have the shape [levels, finite + 1]. They hold q + 1 where there is no divider, as in the last column,
    the outcome without dividers.

    >>> up, down = distances(Outcomes.from_rows([[1, 3], [2]], q=4, budget=3), np.array([0, 2]))
    >>> up.tolist(), down.tolist()
    ([[1, 2, 5], [1, 5, 5]], [[5, 5, 5], [2, 1, 5]])
    """
    q, finite = outcomes.q, outcomes.finite
    never = np.full((len(levels), finite + 1), q + 1, dtype=np.int32)
    up, down = never, never.copy()
    if finite:
        row = np.arange(finite)
        flat = np.repeat(row, np.diff(outcomes.starts)) * (q + 2) + outcomes.gaps
        at = np.searchsorted(flat, row * (q + 2) + levels[:, None], side="right")  # the first gap above the level
        gaps = np.append(outcomes.gaps, 0)
        above, below = at < outcomes.starts[1:], at > outcomes.starts[:-1]
        up[:, :-1] = np.where(above, gaps[at] - levels[:, None], q + 1)
        down[:, :-1] = np.where(below, levels[:, None] - gaps[at - 1] + 1, q + 1)
    return up, down


@attrs.frozen(slots=False, eq=False)
class Touch:
    """The moves of every feature under a scheme: what does not depend on the image, prepared once.

    `gains(levels, worth)` yields, for chunks of features of one component, the table [features, moves] of the largest
    gain over both directions of moving at most that far.
    """

    scheme: Scheme

    @cached_property
    def moves(self) -> Ints:
        """Distances at which moves are priced, in levels."""
        return menu(self.scheme.q)

    @cached_property
    def _column(self) -> Ints:
        """Index into `moves` of every distance 0..q+1; the last, len(moves), is for q + 1 = never."""
        column = np.searchsorted(self.moves, np.arange(self.scheme.q + 2), side="right") - 1
        column[-1] = len(self.moves)
        return column.astype(np.int64)

    @cached_property
    def _tables(self) -> dict[int, tuple[Ints, Ints]] | None:
        """Columns by level and outcome for all levels, where they are small enough to be kept."""
        sizes = (self._shown(c) for c in range(len(self.scheme.design.outcomes)))
        entries = sum((self.scheme.q + 1) * (finite + 1) for finite in sizes)
        if entries > 1 << 22:
            return None
        return {c: self._columns(c, np.arange(self.scheme.q + 1)) for c in self.components}

    @cached_property
    def components(self) -> list[int]:
        """Components that show anything at all; features of the others never touch a sample."""
        return [c for c, outcomes in enumerate(self.scheme.design.outcomes) if outcomes.finite]

    def _shown(self, component: int) -> int:
        """Return how many rows the tables of a component have: one an outcome, or one a different outcome if all
        features share a global width."""
        part = self.scheme.design.outcomes[component]
        return part.distinct.finite if self.scheme.coupling == "global" else part.finite

    def _columns(self, component: int, levels: Ints) -> tuple[Ints, Ints]:
        part = self.scheme.design.outcomes[component]
        up, down = (self._column[table] for table in distances(part.distinct, levels))
        if self.scheme.coupling != "global" and part.distinct is not part:
            row = part.distinct_of(np.arange(part.finite + 1))
            up, down = up[:, row], down[:, row]
        return up, down

    @cached_property
    def _positions(self) -> list[Ints]:
        """The place of each finite outcome of a component in the arranged list, and of one infinite outcome."""
        inverse = np.argsort(self.scheme.lists, axis=1)
        return [np.append(row[: o.finite], 0) for row, o in zip(inverse, self.scheme.design.outcomes, strict=True)]

    @cached_property
    def _samples(self) -> Callable[[int, int], NDArray[np.int32]]:
        """Permutation coupling: the samples in which a site uses the outcomes of `_positions`, by component and site.
        Kept, up to 256 MB: drawing a permutation takes longer than using it."""

        def find(component: int, site: int) -> NDArray[np.int32]:
            return np.argsort(self.scheme.permutation(site))[self._positions[component]].astype(np.int32)

        most = max(len(positions) for positions in self._positions)
        return lru_cache(maxsize=max(1, (1 << 26) // most))(find)

    def gains(self, levels: Ints, worth: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield (component, features, gains [features, moves]) for chunks of all features that show anything.

        `levels` [features] are those of the image, `worth` [samples] what a touched sample brings, >= 0.
        """
        for component in self.components:
            for chunk in self._chunks(component):
                yield component, chunk, self._chunk(component, chunk, levels[chunk], worth)

    def whole(self, worth: Ints) -> Ints:
        """Return, by site, the worth of all samples in which its features show anything (schemes of one component)."""
        sums = []
        for chunk in self._chunks(0):
            firsts = chunk[chunk < self.scheme.sites]  # the first channel stands for the others
            if not len(firsts):
                break
            _, shown, brings = self._used(0, firsts, worth)
            sums.append(np.where(shown, brings, 0).sum(axis=1))
        return np.concatenate(sums).astype(np.int64)

    def _chunks(self, component: int) -> Iterator[Ints]:
        mine = np.flatnonzero(self.scheme.component == component)
        scheme = self.scheme
        used = scheme.samples if scheme.coupling == "global" else scheme.design.outcomes[component].finite
        step = max(1, _CELLS // (used + len(self.moves)))
        for start in range(0, len(mine), step):
            yield mine[start : start + step]

    def _used(self, component: int, features: Ints, worth: Ints) -> tuple[Ints | None, NDArray[np.bool_], Floats]:
        """Return what is used by the features: outcome ids [features, uses] (None: 0..finite in order), whether the
        outcome has a divider, and the worth of the sample in which it is used."""
        scheme, finite = self.scheme, self.scheme.design.outcomes[component].finite
        exact = worth.astype(np.float64)
        if scheme.cyclic:
            # Only finite outcomes matter: outcome o is used at sample (position of o - offset) mod B.
            late = scheme.total - scheme.offsets[scheme.site[features]]
            brings = np.concatenate([exact, exact]).take(self._positions[component] + late[:, None])
            return None, np.arange(finite + 1) < finite, brings
        if scheme.coupling == "permutation":
            sites = scheme.site[features].tolist()
            return None, np.arange(finite + 1) < finite, exact[np.stack([self._samples(component, s) for s in sites])]
        part = scheme.design.outcomes[component]
        ids = part.distinct_of(scheme.outcome(features[:, None], np.arange(scheme.samples)))
        return ids, ids < part.distinct.finite, np.broadcast_to(exact, ids.shape)

    def _chunk(self, component: int, features: Ints, levels: Ints, worth: Ints) -> Ints:
        if self._tables is not None:
            (up, down), at = self._tables[component], levels
        else:
            distinct, at = np.unique(levels, return_inverse=True)
            up, down = self._columns(component, distinct)
        ids, _, brings = self._used(component, features, worth)
        gains = []
        for table in (up, down):
            columns = table.take(at, axis=0) if ids is None else table[at[:, None], ids]
            gains.append(self._cumulated(columns, brings))
        return np.maximum(*gains)

    def _cumulated(self, columns: Ints, brings: Floats) -> Ints:
        """Return gain of moving at most moves[a] levels (up to just before moves[a+1]) in one direction."""
        rows, width = len(columns), len(self.moves) + 1
        columns += (np.arange(rows) * width)[:, None]
        # Sums of doubles, exact: all worths are integers and together stay below 2**53.
        sums = np.bincount(columns.ravel(), brings.ravel(), minlength=rows * width).reshape(rows, width)
        return np.cumsum(sums[:, :-1], axis=1).astype(np.int64)
