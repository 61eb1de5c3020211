"""The vote-aware run-off: at x every ranking is known, so both rounds are priced by what the touched samples bring.

The races and their needs are those of `runoff`. The least metric distance at which the touched samples can bring the
need of a race is bounded from below by duality (`dual`), exactly as for a plurality; the race's bound is the larger of
this and the one by counts. An event takes at least the most of its races, and the ball the least of its events.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecm.arrays import Ints
from smoothing.certificates.ranking import Packing, checked_rankings
from smoothing.certificates.runoff import Poll, Race
from smoothing.certificates.tally import Tally, unsure_code
from smoothing.certificates.vote_aware import VoteAware


@attrs.frozen
class RunoffBound:
    """The least distance at which another class can win is at least `radius` (None: none ever can).

    `races` holds (race, m) for every race that was priced, m in units of 1/`scale`, None if its need is out of reach;
    the bounds of all other races are those by counts.
    """

    radius: Fraction | None
    races: tuple[tuple[Race, int | None], ...]
    scale: int


@attrs.frozen(slots=False, eq=False)
class Electorate:
    """The samples of one image with their rankings.

    `ranks` [samples, classes]: a sample surely prefers the class with the smaller number; `votes` [samples] are the
    first places, `weights` [samples] what the samples count.

    >>> from smoothing.certificates import pack_orders
    >>> people = Electorate.of(pack_orders([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0]]), classes=3)
    >>> people.poll.counts, people.poll.prefers, people.poll.winner
    ((2, 1, 1), ((0, 2, 3), (2, 0, 2), (1, 2, 0)), 0)
    """

    ranks: NDArray[np.uint8]
    votes: NDArray[np.unsignedinteger]
    weights: Ints

    @classmethod
    def of(cls, codes: ArrayLike, classes: int, weights: ArrayLike | None = None) -> Electorate:
        """Return the electorate of one image's packed rankings."""
        array, packing = checked_rankings(codes, classes), Packing.of(classes)
        worth = np.ones(len(array), np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
        return cls(packing.ranks(array), packing.votes(array), worth)

    @cached_property
    def poll(self) -> Poll:
        """Both rounds in numbers."""
        tally = Tally.of(self.votes, self.ranks.shape[1], self.weights)
        prefers = preferences(self.ranks, self.weights).tolist()
        return Poll(tally.counts, tally.unsure, tally.total, tuple(map(tuple, prefers)))

    def worth(self, race: Race) -> Ints:
        """Return what a touched sample brings to a race at most, [samples]; see `runoff`."""
        c, (a, k) = self.poll.winner, race[1:]
        if race.kind == "duel":
            return np.where(self.ranks[:, c] < self.ranks[:, k], 2 * self.weights, 0)
        mine, sure = self.votes == k, self.votes != unsure_code(self.votes)
        extra = (self.votes == a) if race.kind == "overtake" else 2 * (self.votes == c) - (self.votes == a)
        return np.asarray((sure + extra.astype(np.int64) - mine) * self.weights, dtype=np.int64)

    def bound(self, engine: VoteAware, levels: Ints) -> RunoffBound:
        """Return the vote-aware bound, where `poll.changes` is not 0. Events that cannot be the least, by counts, are
        not priced; nor are races once their event is known to be further away than another."""
        poll, priced = self.poll, dict[Race, tuple[Fraction | None, int | None]]()
        best: Fraction | None = None

        def priced_at_least(event: Sequence[Race]) -> Fraction | None:
            value = Fraction(max(map(poll.least, event)), poll.total)
            for race in sorted(event, key=poll.least, reverse=True):
                if (best is not None and value >= best) or poll.need(race) <= 0:
                    break
                if race not in priced:
                    priced[race] = engine.against(levels, self.worth(race), poll.need(race))
                found, _ = priced[race]
                if found is None:
                    return None
                value = max(value, found)
            return value

        for event in sorted(poll.events(), key=lambda event: max(map(poll.least, event))):
            if best is not None and Fraction(max(map(poll.least, event)), poll.total) >= best:
                break  # all further events take at least as many changes
            value = priced_at_least(event)
            if value is not None:
                best = value if best is None else min(best, value)
        return RunoffBound(best, tuple((race, m) for race, (_, m) in priced.items()), engine.scale)


def preferences(ranks: NDArray[np.uint8], weights: Ints) -> Ints:
    """Return the weight of the samples that rank a above b, [classes, classes], from ranks [samples, classes].

    >>> preferences(np.array([[0, 1, 1], [2, 1, 0]], np.uint8), np.array([3, 1])).tolist()
    [[0, 3, 3], [1, 0, 0], [1, 1, 0]]
    """
    return np.stack([weights @ (ranks[:, a, None] < ranks) for a in range(ranks.shape[1])])
