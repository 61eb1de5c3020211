"""Where an election stands while votes are missing: what is certain already, and what is still possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecm.arrays import Ints
from smoothing.certificates import Packing, checked_rankings, checked_votes, preferences, unsure_code

_NEVER = 1 << 60  # on the diagonal, which never binds


class Standing(Protocol):
    """The state of an election after some of its samples."""

    def read(self, chunk: ArrayLike) -> NDArray[np.unsignedinteger]:
        """Return the samples of a chunk, checked, flat."""
        ...

    def after(self, ballots: NDArray[np.unsignedinteger], weights: Ints) -> Standing:
        """Return the state after these samples as well."""
        ...

    def certain(self, c: int, least: int, left: int) -> bool:
        """Return whether class c is certified however the missing weight `left` votes."""
        ...

    def possible(self, c: int, least: int, left: int) -> bool:
        """Return whether class c may still be certified (for a run-off: whether that is not excluded yet)."""
        ...


def _needs(classes: int) -> Ints:
    """Return needs[c, k] = s_c - s_k - U + [c < k] before any vote."""
    needs = np.triu(np.ones((classes, classes), np.int64), 1)
    np.fill_diagonal(needs, _NEVER)
    return needs


def _change(votes: NDArray[np.unsignedinteger], weights: Ints, classes: int) -> Ints:
    """Return what these votes add to needs[c, k]: +1 for c, -1 for k, -1 if unsure."""
    sure = votes != unsure_code(votes)
    counts = np.bincount(votes[sure], weights[sure], minlength=classes).astype(np.int64)
    change = counts[:, None] - counts[None, :] - int(weights[~sure].sum())
    np.fill_diagonal(change, 0)
    return np.asarray(change, dtype=np.int64)


@attrs.frozen(eq=False)
class PluralityStanding:
    """A plurality: class c is certified if its least need is at least `least`. With R missing, every need lies within R
    of what it is so far, and all of that range can still happen."""

    classes: int
    needs: Ints = attrs.field(default=attrs.Factory(lambda self: _needs(self.classes), takes_self=True))

    def read(self, chunk: ArrayLike) -> NDArray[np.unsignedinteger]:
        """See `Standing`."""
        return checked_votes(chunk, self.classes)

    def after(self, ballots: NDArray[np.unsignedinteger], weights: Ints) -> PluralityStanding:
        """See `Standing`."""
        return PluralityStanding(self.classes, self.needs + _change(ballots, weights, self.classes))

    def certain(self, c: int, least: int, left: int) -> bool:
        """See `Standing`."""
        return int(self.needs[c].min()) - left >= least

    def possible(self, c: int, least: int, left: int) -> bool:
        """See `Standing`."""
        return int(self.needs[c].min()) + left >= least


@attrs.frozen(eq=False)
class RunoffStanding:
    """A run-off: class c is certified if every event (see `runoff`) takes at least `least` changed samples.

    With R missing, a need of two classes lies within R of what it is so far, that of two rivals together between R less
    and 2R more. An event has several races, and those are looked at one by one: the answer is always that of the full
    vote, but it may be given a little later than it could be.
    """

    classes: int
    needs: Ints = attrs.field(default=attrs.Factory(lambda self: _needs(self.classes), takes_self=True))
    duels: Ints = attrs.field(default=attrs.Factory(lambda self: _needs(self.classes), takes_self=True))
    unsure: int = 0

    def read(self, chunk: ArrayLike) -> NDArray[np.unsignedinteger]:
        """See `Standing`."""
        return checked_rankings(chunk, self.classes)

    def after(self, ballots: NDArray[np.unsignedinteger], weights: Ints) -> RunoffStanding:
        """See `Standing`."""
        packing, codes = Packing.of(self.classes), ballots.astype(np.uint32)
        votes = packing.votes(codes)
        duels = 2 * preferences(packing.ranks(codes), weights) - int(weights.sum())
        np.fill_diagonal(duels, 0)
        return RunoffStanding(
            self.classes,
            self.needs + _change(votes, weights, self.classes),
            self.duels + duels,
            self.unsure + int(weights[votes == unsure_code(votes)].sum()),
        )

    def certain(self, c: int, least: int, left: int) -> bool:
        """See `Standing`."""
        return self._safe(c, least, -left, -left)

    def possible(self, c: int, least: int, left: int) -> bool:
        """See `Standing`."""
        return self._safe(c, least, left, 2 * left)

    def _safe(self, c: int, least: int, two: int, three: int) -> bool:
        """Return whether every event takes `least` changes or more once needs of two classes have grown by `two`, and
        those of two rivals together by `three`."""
        rivals = np.delete(np.arange(self.classes), c)
        ahead = self.needs[c, rivals] + two >= 2 * least - 1
        among = self.needs[np.ix_(rivals, rivals)]
        np.fill_diagonal(among, -_NEVER)
        final = (self.duels[c, rivals] + two >= 2 * least - 1) | (among.max(axis=0) + two >= 2 * least - 1)
        if not final.all():
            return False
        # needs[c, k] counts every unsure vote against c, and so does the sum of two: once too often
        together = self.needs[c, rivals, None] + self.needs[c, rivals] + self.unsure + three >= 3 * least - 2
        pairs = ahead[:, None] | ahead | together | np.eye(len(rivals), dtype=bool)
        return bool(pairs.all())


def answer(
    standing: Standing, candidates: Sequence[int], least: int | None, left: int
) -> tuple[bool, int | None] | None:
    """Return (certified, class) if that is fixed, whatever the missing weight votes; None if it is not."""
    if least is None or not any(standing.possible(c, least, left) for c in candidates):
        return False, None
    return next(((True, c) for c in candidates if standing.certain(c, least, left)), None)
