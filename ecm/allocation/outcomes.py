"""A list of B outcomes for one feature: each cuts the levels 0..q into intervals by dividers in gaps between levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import index

import attrs
import numpy as np

from ecm.arrays import Ints
from ecm.errors import DesignError

LARGEST_Q = 1 << 16  # 16-bit levels; every object on a grid has tables of q + 1 exact numbers
LARGEST_BUDGET = 1 << 50  # sums of weights stay exact, in int64 and as doubles
LARGEST_LISTING = 1 << 26  # dividers that are written out, 8 bytes each


def whole(value: object) -> int:
    """Return a size (q, or a budget) as a Python integer."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise DesignError(f"q and the budget are integers, not {value!r}") from error


def _integers(values: object) -> Ints:
    """Return a private int64 copy: nobody can change an outcome after it was checked. Floats are refused, not cut
    off."""
    array = np.array(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DesignError(f"dividers and starts are flat lists of integers, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


@attrs.frozen(eq=False, repr=False, slots=False)
class Outcomes:
    """`budget` equally likely partitions of the levels 0..q into intervals.

    Gap e lies between the levels e-1 and e (e = 1..q). Outcome r carries dividers in the gaps
    `gaps[starts[r]:starts[r+1]]`, strictly increasing. Outcomes without a divider (Lambda = inf) are counted in
    `infinite`, not stored; by convention they come last.

    >>> Outcomes.from_rows([[1, 3], [2]], q=4, budget=3)
    Outcomes(q=4, budget=3, finite=2, infinite=1, dividers=3)
    """

    q: int = attrs.field(converter=whole)
    budget: int = attrs.field(converter=whole)
    starts: Ints = attrs.field(converter=_integers)
    gaps: Ints = attrs.field(converter=_integers)

    def __attrs_post_init__(self) -> None:
        check_sizes(self.q, self.budget)
        if not len(self.starts):
            raise DesignError("starts is empty: it begins with 0 and has one more entry than there are finite outcomes")
        if not 0 <= self.finite <= self.budget:
            raise DesignError(f"{self.finite} outcomes with dividers do not fit a budget of {self.budget}")
        if self.starts[0] != 0 or self.starts[-1] != len(self.gaps) or bool((np.diff(self.starts) < 1).any()):
            raise DesignError("starts must rise from 0 to len(gaps), with at least one divider per outcome")
        if len(self.gaps) and not (self.gaps.min() >= 1 and self.gaps.max() <= self.q):
            raise DesignError(f"a divider lies outside the gaps 1..{self.q}")
        inside = np.ones(len(self.gaps), dtype=bool)
        inside[self.starts[:-1]] = False
        if bool((np.diff(self.gaps, prepend=0)[inside] < 1).any()):
            raise DesignError("the dividers of an outcome must be strictly increasing")
        self.starts.setflags(write=False)
        self.gaps.setflags(write=False)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int] | Ints], q: int, budget: int) -> Outcomes:
        """Return the outcomes with these divider gaps; an empty row is an infinite outcome."""
        try:
            kept = [_integers(row) for row in rows if len(row)]
        except DesignError:
            raise
        except (TypeError, ValueError) as error:  # a number in place of a row, or rows within a row
            raise DesignError(f"rows = {rows!r:.60}: give the divider gaps of each outcome, [[1, 3], [2]]") from error
        starts = np.concatenate([[0], np.cumsum([len(row) for row in kept], dtype=np.int64)]).astype(np.int64)
        gaps = np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)
        return cls(q, budget, starts, gaps)

    @classmethod
    def from_weights(cls, weights: Mapping[int, int], q: int, budget: int) -> Outcomes:
        """Return the periodic outcomes of an allocation: width j with all its j offsets, `weights[j]` times, widths
        ascending.

        >>> Outcomes.from_weights({1: 1, 2: 1}, q=4, budget=5)
        Outcomes(q=4, budget=5, finite=3, infinite=2, dividers=8)
        """
        return PeriodicOutcomes(q, budget, weights)

    @property
    def finite(self) -> int:
        """How many outcomes carry a divider."""
        return len(self.starts) - 1

    @property
    def infinite(self) -> int:
        """Number of outcomes that show nothing of the feature (one bin, Lambda = inf)."""
        return self.budget - self.finite

    @property
    def distinct(self) -> Outcomes:
        """Every different row once; `distinct_of` says which of them an outcome is."""
        return self

    def distinct_of(self, ids: Ints) -> Ints:
        """Return the row of `distinct` that each outcome 0..budget-1 uses; those without a divider give
        `distinct.finite`."""
        return np.minimum(ids, self.finite)

    @property
    def dividers(self) -> Ints:
        """Number of dividers of each finite outcome, [finite]."""
        sizes = np.diff(self.distinct.starts)
        return np.asarray(sizes[self.distinct_of(np.arange(self.finite))], dtype=np.int64)

    def rows(self) -> Iterator[Ints]:
        """Yield the divider gaps of every finite outcome."""
        for a, b in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield self.gaps[a:b]

    def splits(self) -> Iterator[Ints]:
        """Yield, for x = 0..q, the array over y = x..q of c(x, y), the number of outcomes that separate x and y."""
        nxt = np.roll(self.gaps, -1)
        nxt[self.starts[1:] - 1] = 0  # the last divider of an outcome has no successor
        order = np.argsort(self.gaps, kind="stable")
        bounds = np.searchsorted(self.gaps[order], np.arange(self.q + 2))
        ahead = np.bincount(self.gaps[self.starts[:-1]], minlength=self.q + 1)  # by first divider above the level x
        for x in range(self.q + 1):
            ahead[x] = 0
            np.add.at(ahead, nxt[order[bounds[x] : bounds[x + 1]]], 1)  # entry 0 is not read any more
            yield np.cumsum(ahead[x:])

    @cached_property
    def _extremes(self) -> tuple[Ints, Ints, Ints]:
        least = np.full(self.q + 1, self.budget, dtype=np.int64)
        most = np.zeros(self.q + 1, dtype=np.int64)
        total = np.zeros(self.q + 1, dtype=np.int64)
        for row in self.splits():
            n = len(row)
            np.minimum(least[:n], row, out=least[:n])
            np.maximum(most[:n], row, out=most[:n])
            total[:n] += row
        return least, most, total

    @property
    def least(self) -> Ints:
        """least[k] = min of c(x, x+k) over all x."""
        return self._extremes[0]

    @property
    def most(self) -> Ints:
        """most[k] = max of c(x, x+k) over all x; the design is sound for g iff most[k] <= B g(k/q) for all k."""
        return self._extremes[1]

    @property
    def total(self) -> Ints:
        """total[k] = sum of c(x, x+k) over the q+1-k pairs at distance k."""
        return self._extremes[2]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcomes):
            return NotImplemented
        same = (self.q, self.budget) == (other.q, other.budget)
        return same and np.array_equal(self.starts, other.starts) and np.array_equal(self.gaps, other.gaps)

    def __hash__(self) -> int:
        return hash((self.q, self.budget))

    def __repr__(self) -> str:
        counts = f"finite={self.finite}, infinite={self.infinite}, dividers={len(self.gaps)}"
        return f"Outcomes(q={self.q}, budget={self.budget}, {counts})"


class PeriodicOutcomes(Outcomes):
    """The outcomes of an allocation: every width j with all its j offsets, `weights[j]` times, widths ascending.

    Such a list is known by its weights. Every pair of levels at distance k is separated by exactly
    N(k) = sum_j w_j min(j, k) outcomes, and a list of 10**8 outcomes has no more than q(q+1)/2 different rows. So
    nothing here grows with the budget, but `starts`, `gaps` and `rows()`, which write out the list when asked to.

    >>> PeriodicOutcomes(4, 10**9, {1: 10**6, 4: 10**7}).most.tolist()
    [0, 11000000, 21000000, 31000000, 41000000]
    """

    def __init__(self, q: int, budget: int, weights: Mapping[int, int]) -> None:
        q, budget = whole(q), whole(budget)
        pairs = sorted((whole(width), whole(count)) for width, count in weights.items())
        for width, count in pairs:
            if not 1 <= width <= q or count < 0:
                raise DesignError(f"weight {count} at width {width}: widths are 1..{q}, weights are >= 0")
        used = sum(width * count for width, count in pairs)
        if used > budget:
            raise DesignError(f"the widths need {used} outcomes, more than the budget of {budget}; lower a weight")
        check_sizes(q, budget)
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "weights", tuple((width, count) for width, count in pairs if count))

    weights: tuple[tuple[int, int], ...]

    @property
    def finite(self) -> int:
        """How many outcomes carry a divider."""
        return sum(width * count for width, count in self.weights)

    @cached_property
    def distinct(self) -> Outcomes:
        """Every width once, with all its offsets."""
        return Outcomes.from_rows(
            [np.arange(s + 1, self.q + 1, width) for width, _ in self.weights for s in range(width)],
            self.q,
            self.budget,
        )

    def distinct_of(self, ids: Ints) -> Ints:
        """See `Outcomes.distinct_of`."""
        if not self.weights:
            return np.zeros_like(ids)
        width, count = np.array(self.weights, dtype=np.int64).T
        ends = np.cumsum(width * count)
        block = np.minimum(np.searchsorted(ends, ids, side="right"), len(ends) - 1)
        first = (np.cumsum(width) - width)[block]
        offset = (ids - ends[block]) % width[block]  # a block ends after whole sets of offsets
        return np.where(ids < ends[-1], first + offset, self.distinct.finite)

    @cached_property
    def _listed(self) -> tuple[Ints, Ints]:
        dividers = self.q * sum(count for _, count in self.weights)
        if dividers > LARGEST_LISTING:
            raise DesignError(
                f"{self.finite} outcomes with {dividers} dividers are too many to be written out one by one (at most "
                f"{LARGEST_LISTING}): take a smaller budget, an aperiodic design, or coupling='global', which needs "
                "the weights alone"
            )
        rows = Outcomes.from_rows(
            [
                row
                for width, count in self.weights
                for row in [np.arange(s + 1, self.q + 1, width) for s in range(width)] * count
            ],
            self.q,
            self.budget,
        )
        return rows.starts, rows.gaps

    @property
    def starts(self) -> Ints:
        """Where the dividers of each outcome begin in `gaps`."""
        return self._listed[0]

    @property
    def gaps(self) -> Ints:
        """The dividers of all outcomes, one outcome after another."""
        return self._listed[1]

    def splits(self) -> Iterator[Ints]:
        """Yield, for x = 0..q, the array over y = x..q of c(x, y) = N(y - x)."""
        for x in range(self.q + 1):
            yield self.most[: self.q + 1 - x]

    @cached_property
    def _extremes(self) -> tuple[Ints, Ints, Ints]:
        counts = np.zeros(self.q + 1, dtype=np.int64)
        for width, count in self.weights:
            counts[1 : width + 1] += count
        split = np.cumsum(counts)
        return split, split, split * np.arange(self.q + 1, 0, -1)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PeriodicOutcomes):
            return (self.q, self.budget, self.weights) == (other.q, other.budget, other.weights)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.q, self.budget))

    def __repr__(self) -> str:
        counts = f"finite={self.finite}, infinite={self.infinite}"
        return (
            f"Outcomes(q={self.q}, budget={self.budget}, {counts}, dividers={self.q * sum(w for _, w in self.weights)})"
        )


def check_sizes(q: int, budget: int) -> None:
    """Raise DesignError unless lists of this size can be counted exactly."""
    if not 1 <= q <= LARGEST_Q:
        raise DesignError(f"q = {q}: a grid needs at least one gap, q >= 1, and at most {LARGEST_Q}")
    if not 0 <= budget <= LARGEST_BUDGET:
        raise DesignError(f"budget = {budget}: a list has from 0 to {LARGEST_BUDGET} outcomes")
