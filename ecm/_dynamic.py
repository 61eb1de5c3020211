"""The exact dynamic program for integer allocations: concave integer sequences inside a tube."""

from __future__ import annotations

import numpy as np

from ecm._errors import AllocationError
from ecm._tube import Ints, Tube

MOST_STATES = 50_000_000  # states (k, N) of one pass that are kept at a time; 8 bytes each
MOST_CELLS = 20_000_000  # cells (k, N, increment) of the second pass


def climb(lower: Ints, upper: Ints) -> tuple[list[Ints], list[Ints]] | None:
    """All states (k, N) that an integer sequence from N(0) = 0 with increments that never rise can reach in the tube.

    Both bounds are for k = 0..q and do not fall. Returns, for k = 1..q, the N that were looked at and the largest
    possible last increment N(k) - N(k-1) of each, negative exactly where N cannot be reached; None if no sequence
    reaches k = q.

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
    every = np.arange(int(upper[-1]) + 1, dtype=np.int64)
    lows, highs = lower.tolist(), upper.tolist()
    levels = [every[lows[1] : highs[1] + 1]]
    increments = [levels[0]]
    now, last = levels[0], increments[0]
    for low, high in zip(lows[2:], highs[2:], strict=True):
        reach = np.maximum.accumulate(now + last)
        top = int(reach[-1])
        if top < low:
            return None
        targets = every[low : min(top, high) + 1]
        last = targets - now[reach.searchsorted(targets)]
        now = targets
        levels.append(now)
        increments.append(last)
    return (levels, increments) if bool((last >= 0).any()) else None


def sequence(lower: Ints, upper: Ints) -> Ints | None:
    """One N(0..q) in the tube with increments that never rise and are never negative, or None if there is none.

    >>> sequence(np.array([0, 3, 3, 5]), np.array([0, 4, 5, 6]))
    array([0, 3, 5, 6])
    """
    climbed = climb(lower, upper)
    if climbed is None:
        return None
    levels, increments = climbed
    n = np.zeros(len(lower), dtype=np.int64)
    at = int(levels[-1][np.flatnonzero(increments[-1] >= 0)[-1]])
    for k in range(len(levels), 0, -1):
        n[k] = at
        at -= int(increments[k - 1][at - int(levels[k - 1][0])])
    return n


def descend(lower: Ints, upper: Ints) -> list[Ints]:
    """For k = 1..q and N = lower[k], lower[k] + 1, ...: the smallest last increment with which N(k) = N can go on to q.

    The mirror image of `climb`: the next value is the smallest N' with N' - need(N') >= N. A level's array ends where
    nothing leads on.
    """
    every = np.arange(int(upper[-1]) + 1, dtype=np.int64)
    lows, highs = lower.tolist(), upper.tolist()
    now = every[lows[-1] : highs[-1] + 1]
    need = np.zeros(len(now), dtype=np.int64)
    needs = [need]
    for low, high in zip(lows[-2:0:-1], highs[-2:0:-1], strict=True):
        reach = np.maximum.accumulate(now - need)
        here = every[low : min(int(reach[-1]), high) + 1]
        need = now[reach.searchsorted(here)] - here
        now = here
        needs.append(need)
    return needs[::-1]


def densest(lower: Ints, upper: Ints) -> Ints | None:
    """Of all sequences in the tube (which must hold one) that with the largest sum of N(k); None if too many cells.

    States are (k, N, last increment n) with `need <= n <= increment` from `descend` and `climb`, a handful of n for
    each N in practice, laid out flat, N by N. The value of a cell is the largest sum of N(i) - lower(i), i <= k, or -1:

        value(k, N, n) = N - lower(k) + max over m >= n of value(k - 1, N - n, m)
    """
    climbed = climb(lower, upper)
    if climbed is None:
        raise AllocationError("no sequence lies between the bounds")
    levels = []
    for all_n, increments, needs in zip(*climbed, descend(lower, upper), strict=True):
        size = min(len(all_n), len(needs))
        levels.append((all_n[:size], increments[:size], needs[:size]))
    levels[0] = (levels[0][0], levels[0][1], np.maximum(levels[0][2], levels[0][0]))  # n = N at k = 1
    counts = [np.maximum(increments - needs + 1, 0) for _, increments, needs in levels]
    if sum(int(count.sum()) for count in counts) > MOST_CELLS:
        return None
    values: list[Ints] = []
    starts: list[Ints] = []
    span = (len(lower) + 1) * int((upper - lower).max() + 1)  # more than any value
    best = np.zeros(0, dtype=np.int64)
    for k, ((all_n, _, needs), count) in enumerate(zip(levels, counts, strict=True)):
        start = np.concatenate([[0], np.cumsum(count)])
        state = np.repeat(np.arange(len(count)), count)
        increment = np.arange(start[-1]) + (needs - start[:-1])[state]
        value = state.copy()
        if k:
            origin = all_n[0] + state - increment - levels[k - 1][0][0]
            known = (origin >= 0) & (origin < len(counts[k - 1]))
            origin = np.where(known, origin, 0)
            place = np.maximum(increment - levels[k - 1][2][origin], 0)
            known &= place < counts[k - 1][origin]
            before = best[np.where(known, starts[-1][origin] + place, 0)]
            value = np.where(known & (before >= 0), value + before, -1)
        shift = state * -span
        best = np.maximum.accumulate((value + shift)[::-1])[::-1] - shift  # over m >= n, state by state
        values.append(value)
        starts.append(start)
    return _trace(levels, values, starts)


def _trace(levels: list[tuple[Ints, Ints, Ints]], values: list[Ints], starts: list[Ints]) -> Ints:
    """Back from the best cell at k = q."""
    n = np.zeros(len(levels) + 1, dtype=np.int64)
    cell = int(values[-1].argmax())
    for k in range(len(levels) - 1, -1, -1):
        all_n, _, needs = levels[k]
        state = int(starts[k].searchsorted(cell, side="right")) - 1
        increment = int(needs[state]) + cell - int(starts[k][state])
        n[k + 1] = all_n[state]
        if k:
            origin = int(all_n[state]) - increment - int(levels[k - 1][0][0])
            first, end = int(starts[k - 1][origin]), int(starts[k - 1][origin + 1])
            first += max(increment - int(levels[k - 1][2][origin]), 0)
            cell = first + int(values[k - 1][first:end].argmax())
    return n


def least_key(tube: Tube, start: Ints) -> tuple[int, Ints]:
    """The smallest key for which the tube holds a sequence, and such a sequence; `start` is any one below the caps.

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
