"""Allocations without a search: the real solution rounded down, and its slopes rounded."""

from __future__ import annotations

import numpy as np

from ecm.allocation.caps import Tube
from ecm.arrays import Ints


def floor_weights(tube: Tube) -> Ints:
    """Return N(0..q) of w_j = floor(B P(Lambda = j/q) / j), the quantized law rounded down; eps < (q^2 + q) / (2B).

    `B P_j / j = B (2 g(j/q) - g((j-1)/q) - g((j+1)/q))` for j < q and `B (g(1) - g((q-1)/q))` for j = q. A value within
    4 * 2**-bits of an integer is taken as that integer if the caps allow all of these, otherwise as less.
    """
    x = tube.scaled
    real = np.append(2 * x[1:-1] - x[:-2] - x[2:], x[-1] - x[-2])  # 2**bits w_j, each off by less than 2
    for error in (2, -2):
        weights = np.maximum((real + error) >> tube.bits, 0)
        n = _from_slopes(np.cumsum(weights[::-1])[::-1])
        if bool((n <= tube.caps).all()):
            break
    return n


def rounded_slopes(tube: Tube) -> Ints:
    """Return N(0..q) whose slopes are B (g(k/q) - g((k-1)/q)) rounded at one of 15 thresholds, the largest clipped to
    fit.

    The error of rounded slopes comes back to about 0 after every unit of slope, instead of adding up as in
    `floor_weights`. Always sound, O(q) time and memory; not optimal.
    """
    real = np.diff(tube.scaled)
    best = np.zeros(tube.q + 1, dtype=np.int64)
    for sixteenth in range(1, 16):
        slopes = np.minimum.accumulate((real + (sixteenth << tube.bits >> 4)) >> tube.bits)
        low, high = 0, int(slopes[0])  # the largest clip that keeps N below the caps
        while low < high:
            middle = (low + high + 1) // 2
            fits = bool((_from_slopes(np.minimum(slopes, middle)) <= tube.caps).all())
            low, high = (middle, high) if fits else (low, middle - 1)
        best = min(best, _from_slopes(np.minimum(slopes, low)), key=tube.key)
    return best


def _from_slopes(slopes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(slopes)])
