"""Counting votes: how many a class has, how many are unsure, and how far every rival is from winning."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothing.errors import VoteError


@attrs.frozen
class Tally:
    """Sure votes by class, unsure ones, and the total weight B (the number of samples where all weigh 1).

    `need(k) = s_c - s_k - U + [c < k]` is how much rival k must gain on the prediction c to win, when all U unsure
    votes already count against c (docs/theory.md, unsure votes). Need <= 0: jitter alone may flip x itself.

    >>> tally = Tally.of(np.array([2, 2, 0, 255, 2, 0], dtype=np.uint8), classes=3)
    >>> tally
    Tally(counts=(2, 0, 3), unsure=1, total=6)
    >>> tally.prediction, tally.need(0), tally.need(1)
    (2, 0, 2)
    """

    counts: tuple[int, ...]
    unsure: int
    total: int

    @classmethod
    def of(cls, votes: ArrayLike, classes: int, weights: ArrayLike | None = None) -> Tally:
        """Return the tally of one image's votes (uint8 or uint16; the largest value of the dtype means UNSURE)."""
        array = checked_votes(votes, classes)
        worth = np.ones(len(array), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
        if worth.shape != array.shape:
            raise VoteError(f"{len(array)} votes for {len(worth)} weighted samples: one vote per sample is needed")
        sure = array != unsure_code(array)
        counts = np.zeros(classes, dtype=np.int64)
        np.add.at(counts, array[sure], worth[sure])
        total = int(worth.sum())
        return cls(tuple(counts.tolist()), total - int(counts.sum()), total)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @cached_property
    def prediction(self) -> int:
        """The class with most sure votes, ties to the smaller index."""
        return self.counts.index(max(self.counts))

    @cached_property
    def rivals(self) -> list[int]:
        """The other classes, nearest to winning first."""
        others = (k for k in range(self.classes) if k != self.prediction)
        return sorted(others, key=lambda k: (self.need(k), k))

    def need(self, rival: int) -> int:
        """Return how much `rival` must gain on the prediction to win."""
        c = self.prediction
        return self.counts[c] - self.counts[rival] - self.unsure + (c < rival)

    @property
    def least_need(self) -> int:
        """The smallest need over all rivals."""
        return min(self.need(k) for k in self.rivals)


def unsure_code(votes: NDArray[np.unsignedinteger]) -> int:
    """Return the value that stands for UNSURE in votes of this dtype: 255 or 65535."""
    return int(np.iinfo(votes.dtype).max)


def checked_votes(votes: ArrayLike, classes: int) -> NDArray[np.unsignedinteger]:
    """Return one image's votes as a flat uint8/uint16 array, or a VoteError that says what is wrong."""
    array = np.asarray(votes)
    if array.dtype not in (np.uint8, np.uint16):
        raise VoteError(f"votes of dtype {array.dtype}: store classes as uint8, or as uint16 above 255 classes")
    if array.ndim != 1 or not len(array):
        raise VoteError(f"votes of shape {array.shape}: give the votes of one image, one entry per sample")
    if not 2 <= classes <= unsure_code(array):
        raise VoteError(f"classes = {classes}: votes of dtype {array.dtype} hold 2..{unsure_code(array)} classes")
    wrong = (array >= classes) & (array != unsure_code(array))
    if wrong.any():
        t = int(np.argmax(wrong))
        raise VoteError(f"the vote at sample {t} is {array[t]}, but the classes are 0..{classes - 1}")
    return array
