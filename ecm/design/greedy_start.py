"""Greedy start of a design: level by level, one divider at a time, into the outcome where it errs least."""

from __future__ import annotations

import numpy as np

from ecm.allocation import Outcomes
from ecm.arrays import Floats, Ints

MARGINS = (1.5, 1.25, 1.75, 1.0, 0.5, 0.0, 2.0)
ENOUGH = 3.7


def greedy_rows(caps: Ints, target: Floats, margin: float) -> list[list[int]]:
    """Return divider gaps of caps[q] outcomes with c(x, x+k) <= caps[k] for all pairs, c close to `target - margin`.

    `target[k]` = B g(k/q), `caps` = its exact floor. At gap t every outcome is known by its last divider p (0 if none);
    a divider there separates t from the levels p..t-1 and from no others. Dividers are added one by one, p not
    decreasing, to the group with the smallest marginal of

        sum over x >= p of k**(-1/2) (target[k] - margin - c(x, t))**2,        k = t - x,

    as long as the caps allow it and the marginal is negative. Adding none is always sound, so it never gets stuck.

    >>> import numpy as np
    >>> greedy_rows(np.array([0, 1, 2]), np.array([0.0, 1.0, 2.0]), margin=0.0)
    [[1], [2]]
    """
    q = len(caps) - 1
    weight = np.sqrt(1.0 / np.arange(q, 0, -1))  # all by falling k, so that x = 0..t-1 is a slice
    goal = (target - margin)[:0:-1]
    room_at = caps[:0:-1]
    rows: list[list[int]] = [[] for _ in range(int(caps[q]))]
    group: list[list[int]] = [list(range(len(rows)))[::-1]] + [[] for _ in range(q)]
    size = np.zeros(q + 1, dtype=np.int64)
    size[0] = len(rows)
    split = np.zeros(q + 1, dtype=np.int64)  # c(x, t)
    for t in range(1, q + 1):
        cost = weight[q - t :] * (1 - 2 * (goal[q - t :] - split[:t]))
        step = 2 * weight[q - t :]
        room = room_at[q - t :] - split[:t]
        p = 0
        while True:
            full = np.flatnonzero(room[p:] <= 0)
            p += int(full[-1]) + 1 if len(full) else 0
            if p >= t:
                break
            marginal = cost[p:][::-1].cumsum()[::-1]
            marginal = np.where(size[p:t] > 0, marginal, np.inf)
            best = int(marginal.argmin())
            if not marginal[best] < 0:
                break
            p += best
            cost[p:] += step[p:]
            room[p:] -= 1
            split[p:t] += 1
            size[p] -= 1
            size[t] += 1
            row = group[p].pop()
            rows[row].append(t)
            group[t].append(row)
    return rows


def worst_gap(outcomes: Outcomes, target: Floats) -> float:
    """Return max over all pairs of target[k] - c(x, x+k): B times eps_max, in outcomes."""
    return float((target - outcomes.least).max())


def greedy(caps: Ints, target: Floats) -> Outcomes:
    """Return the best of several margins; stops at the first whose worst gap is at most `ENOUGH` outcomes.

    A margin of 1.25 to 1.75 suits most g; where the caps are tight (caps[2] = caps[1], or g linear) smaller ones do.
    Where all of B g is whole (l0, l1), the margin 0 comes first: it may be exact.
    """
    q, budget = len(caps) - 1, int(caps[-1])
    best: Outcomes | None = None
    whole = bool((target - caps <= 1e-6).all())
    for margin in (0.0, *MARGINS) if whole else MARGINS:
        found = Outcomes.from_rows(greedy_rows(caps, target, margin), q, budget)
        if best is None or worst_gap(found, target) < worst_gap(best, target):
            best = found
        if worst_gap(best, target) <= (1e-6 if whole and margin == 0.0 else ENOUGH):
            break
    assert best is not None
    return best
