"""The exact dynamic program for integer allocations: concave integer sequences inside a tube."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ecm.allocation.caps import Tube
from ecm.arrays import Ints
from ecm.errors import AllocationError

MOST_STATES = 50_000_000  # states (k, N) of one pass that are kept at a time; 8 bytes each
MOST_CELLS = 8_000_000  # cells (k, N, last increment) of the second pass; about 100 bytes each


def climb(lower: Ints, upper: Ints) -> list[Ints] | None:
    """Return what an integer sequence from N(0) = 0 whose increments never rise can reach between the bounds.

    Both bounds are for k = 0..q and do not fall. For k = 1..q and N = lower[k], lower[k] + 1, ... the result holds the
    largest possible last increment N(k) - N(k-1), negative exactly where N cannot be reached; a level's array ends
    where nothing higher can be. None if no sequence reaches k = q.

    A larger last increment allows every continuation that a smaller one allows, so one number a state is enough. The
    best predecessor of N' is the smallest N with N + increment(N) >= N': a running maximum and one sorted search a
    level. An unreachable state needs no mask: its own negative increment keeps it from being anyone's valid predecessor
    (it reaches only below itself, which gives a negative increment again).
    """
    if bool((lower > upper).any()):
        return None
    states = int((upper - lower + 1).sum())
    if states > MOST_STATES:
        raise AllocationError(
            f"q = {len(upper) - 1}: the exact program would keep {states:,} states (k, N), more than {MOST_STATES:,}; "
            f"write method='slopes' (sound, near the optimum, not proved), a smaller budget or a coarser q"
        )
    lows, highs = lower.tolist(), upper.tolist()
    now = last = np.arange(lows[1], highs[1] + 1)
    increments = [last]
    for low, high in zip(lows[2:], highs[2:], strict=True):
        reach = np.maximum.accumulate(now + last)
        top = int(reach[-1])
        if top < low:
            return None
        targets = np.arange(low, min(top, high) + 1)
        last = targets - now[reach.searchsorted(targets)]
        now = targets
        increments.append(last)
    return increments if bool((last >= 0).any()) else None


def sequence(lower: Ints, upper: Ints) -> Ints | None:
    """Return one N(0..q) between the bounds with increments that never rise and are never negative, or None if there is
    none.

    >>> sequence(np.array([0, 3, 3, 5]), np.array([0, 4, 5, 6])).tolist()
    [0, 3, 5, 6]
    """
    increments = climb(lower, upper)
    if increments is None:
        return None
    n = np.zeros(len(lower), dtype=np.int64)
    at = int(lower[-1]) + int(np.flatnonzero(increments[-1] >= 0)[-1])
    for k in range(len(lower) - 1, 0, -1):
        n[k] = at
        at -= int(increments[k - 1][at - int(lower[k])])
    return n


def descend(lower: Ints, upper: Ints) -> list[Ints]:
    """Return, by k = 1..q and N = lower[k], lower[k] + 1, ..., the smallest last increment with which N can go on to q.

    The mirror image of `climb`: the next value is the smallest N' with N' - need(N') >= N. A level's array ends where
    nothing leads on.
    """
    lows, highs = lower.tolist(), upper.tolist()
    now = np.arange(lows[-1], highs[-1] + 1)
    need = np.zeros(len(now), dtype=np.int64)
    needs = [need]
    for low, high in zip(lows[-2:0:-1], highs[-2:0:-1], strict=True):
        reach = np.maximum.accumulate(now - need)
        here = np.arange(low, min(int(reach[-1]), high) + 1)
        need = now[reach.searchsorted(here)] - here
        now = here
        needs.append(need)
    return needs[::-1]


def densest(lower: Ints, upper: Ints) -> Ints | None:
    """Return the sequence in the tube (which must hold one) with the largest sum of N(k); None if there are too many
    cells.

    Cells are (k, N, last increment n) with `need <= n <= increment` from `descend` and `climb`, a handful of n for each
    N in practice, laid out flat: by k, then N, then n. The value of a cell is the largest sum up to k:

        value(k, N, n) = (N - lower(k)) + max over m >= n of value(k - 1, N - n, m)

    Only the maxima over m >= n are kept, as running maxima from the right. To stop them at the border of a state, the
    values of the states are shifted apart by more than any value; a negative value marks a cell out of reach.
    """
    increments = climb(lower, upper)
    if increments is None:
        raise AllocationError("no sequence lies between the bounds")
    sizes = np.zeros(len(lower), dtype=np.int64)
    tops, needs = [], []
    for k, (top, need) in enumerate(zip(increments, descend(lower, upper), strict=True), start=1):
        sizes[k] = min(len(top), len(need))
        tops.append(top[: sizes[k]])
        needs.append(need[: sizes[k]] if k > 1 else top[: sizes[k]])  # the first increment is N(1) itself
    if sum(int(np.maximum(top - need + 1, 0).sum()) for top, need in zip(tops, needs, strict=True)) > MOST_CELLS:
        return None
    top, need = np.concatenate(tops), np.concatenate(needs)
    ends = np.cumsum(sizes)  # the states of level k are ends[k-1] .. ends[k] - 1
    level = np.repeat(np.arange(len(lower)), sizes)
    height = np.arange(len(top)) - ends[level - 1]  # N - lower(k)
    count = np.maximum(top - need + 1, 0)
    start = np.concatenate([[0], np.cumsum(count)])

    cells = int(start[-1])
    state = np.repeat(np.arange(len(top)), count)
    increment = np.arange(cells) - start[state] + need[state]
    below = level[state] - 1
    origin = (lower[level] + height)[state] - increment - lower[below]
    known = (origin >= 0) & (origin < sizes[below])
    origin = np.where(known, origin + ends[below - 1], 0)
    place = np.maximum(increment - need[origin], 0)
    known &= place < count[origin]
    source = np.where(below == 0, cells + 1, np.where(known, start[origin] + place, cells))

    span = (len(lower) + 1) * int((upper - lower).max() + 1)  # more than any value
    shift = state * (-2 * span)
    gain = height[state] + shift - np.where(source < cells, np.append(shift, [0, 0])[source], 0)
    best = np.empty(cells + 2, dtype=np.int64)
    best[cells:] = -span, 0  # out of reach; N(0) = 0
    borders = start[ends].tolist()
    for first, end in pairwise(borders):
        value = best[source[first:end]] + gain[first:end]
        best[first:end] = np.maximum.accumulate(value[::-1])[::-1]

    n = np.zeros(len(lower), dtype=np.int64)
    last = borders[-2] + int((best[borders[-2] : cells] - shift[borders[-2] :]).argmax())
    for k in range(len(lower) - 1, 0, -1):
        equal = best[last : start[state[last] + 1]]
        cell = last + int(np.count_nonzero(equal == equal[0])) - 1  # where the maximum over m >= n is attained
        n[k] = lower[k] + height[state[cell]]
        last = int(source[cell])
    return n


def least_key(tube: Tube, start: Ints) -> tuple[int, Ints]:
    """Return the smallest key for which the tube holds a sequence, and such a sequence; `start` is any one below the
    caps.

    Bisection over integers. Every sequence found lowers the upper end to its own key.
    """
    best, high = start, tube.key(start)
    low = tube.size - 2  # the gap is at least the largest fractional part
    while high - low > 1:
        middle = (low + high) // 2
        found = sequence(tube.lower(middle), tube.caps)
        if found is None:
            low = middle
        else:
            best, high = found, min(middle, tube.key(found))
    return high, best
