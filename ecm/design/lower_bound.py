"""A lower bound on the worst gap of every design: what the caps force through the Monge inequality."""

from __future__ import annotations

import numpy as np

from ecm.arrays import Floats, Ints


def feasible(caps: Ints, least: Ints) -> bool:
    """Return False if provably no design has least[k] <= c(x, x+k) <= caps[k] for all pairs; True proves nothing.

    Whatever outcome is looked at, for levels a <= b <= c <= d

        [a|d] + [b|c] <= [a|c] + [b|d],        [x|y] = 1 if the outcome separates x and y,

    since a divider between b and c makes both right-hand terms 1, and otherwise [b|c] = 0 while a divider between a
    and d lies left of b (then [a|c] = 1) or right of c (then [b|d] = 1). Summed over the outcomes, with U >= c >= L
    valid for all pairs at a distance, l = d-a, s = c-b, k1 = c-a, k2 = d-b, l + s = k1 + k2:

        U(l)  may be lowered to U(k1) + U(k2) - L(s)     (inside every pair at distance l there are such b, c),
        L(k1) may be raised to L(l) + L(s) - U(k2)       (if a pair at distance k1 can be extended to l on one side
                                                         wherever it stands: 2l - k1 <= q + 1).

    Both rules are repeated to their fixed point; U(k) < L(k) is the contradiction. With j = l - k1 = k2 - s the best s
    is a running minimum of U(s+j) - L(s), so one round costs O(q^2).
    """
    q = len(caps) - 1
    upper, lower = caps.copy(), np.maximum(least, 0)
    while True:
        before = (upper.sum(), lower.sum())
        for j in range(1, q + 1):
            spread = np.minimum.accumulate(upper[j:] - lower[: q + 1 - j])  # by k1 = 0..q-j
            np.minimum(upper[j:], upper[: q + 1 - j] + spread, out=upper[j:])
            reach = min(q + 1 - j, q + 2 - 2 * j)  # k1 <= q + 1 - 2j
            if reach > 0:
                np.maximum(lower[:reach], lower[j : j + reach] - spread[:reach], out=lower[:reach])
        upper = np.minimum.accumulate(upper[::-1])[::-1]
        lower = np.maximum.accumulate(lower)
        if bool((upper < lower).any()):
            return False
        if (upper.sum(), lower.sum()) == before:
            return True


def least_gap(caps: Ints, target: Floats) -> float:
    """Return a lower bound, in outcomes, on the worst gap max(target[k] - c(x, x+k)) of every design with these caps.

    The gap of a pair is one of the finitely many numbers target[k] - m; the answer is the smallest of them that
    `feasible` does not refute. Divided by B it bounds eps_max, about 1.9/B for z**p.

    >>> import numpy as np
    >>> least_gap(np.array([0, 1, 1]), np.array([0.0, 1.0, 1.5]))
    0.5
    """
    k = np.arange(len(caps))
    levels = [target[k] - np.maximum(caps - m, 0) for m in range(int(caps.max()) + 1)]
    choices = np.unique(np.concatenate(levels))
    choices = choices[choices >= float((target - caps).max()) - 1e-9]
    low, high = 0, len(choices) - 1  # c = 0 everywhere is a design: the last one is feasible
    while low < high:
        middle = (low + high) // 2
        if feasible(caps, np.ceil(target - choices[middle] - 1e-9).astype(np.int64)):
            high = middle
        else:
            low = middle + 1
    return float(choices[low])
