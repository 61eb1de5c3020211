"""The dual bound of the vote-aware certificate, evaluated in integers.

The least cost of an attack that gains `need` is a multiple-choice knapsack. For EVERY multiplier m >= 0,

    bound(m) = m*need - sum over items of max(0, max over moves of (m*gain - cost))

is at most that cost, so a search for m needs no proof: whatever it finds is sound. Costs are integers here, scaled and
rounded down, gains and m are integers, and every value is exact.
"""

from __future__ import annotations

from typing import Protocol

import attrs
import numpy as np

from ecm.arrays import Ints

_CELLS = 1 << 18


class Items(Protocol):
    """What an attacker may change, one item at a time: features, or pixels."""

    @property
    def attainable(self) -> int:
        """An upper bound on the gain of all items together."""
        ...

    @property
    def peak(self) -> int:
        """An upper bound on the gain of any one item: m * peak must fit 62 bits."""
        ...

    def excess(self, m: int) -> tuple[int, int]:
        """Return sum over items of max(0, max(m*gain - cost)), and the sum of the gains where the maxima are
        reached."""
        ...


def best_of_rows(gains: Ints, costs: Ints, m: int) -> tuple[Ints, Ints]:
    """Return max(0, max(m*gain - cost)) for every row of gains [rows, moves], and the gain where it is reached."""
    values, chosen = np.empty(len(gains), np.int64), np.empty(len(gains), np.int64)
    step = max(1, _CELLS // gains.shape[1])
    for start in range(0, len(gains), step):
        part = gains[start : start + step]
        reduced = part * np.int64(m)
        reduced -= costs
        rows = np.arange(len(part))
        best = np.argmax(reduced, axis=1)
        values[start : start + step] = reduced[rows, best]
        chosen[start : start + step] = part[rows, best]
    return np.maximum(values, 0), np.where(values > 0, chosen, 0)


def exact_sum(values: Ints) -> int:
    """Return the sum as a Python integer; the terms are below 2**61 in size, their sum need not be."""
    return (int((values >> 31).sum()) << 31) + int((values & 0x7FFFFFFF).sum())


@attrs.frozen
class FeatureItems:
    """One item a feature: tables of gains [features, moves], each with the costs [moves] of its component."""

    tables: tuple[tuple[Ints, Ints], ...]

    @property
    def attainable(self) -> int:
        """Every feature moves as far as it gains."""
        return sum(exact_sum(gains[:, -1]) for gains, _ in self.tables)

    @property
    def peak(self) -> int:
        """See `Items`."""
        return max((int(gains[:, -1].max()) for gains, _ in self.tables), default=0)

    def excess(self, m: int) -> tuple[int, int]:
        """See `Items`."""
        value = gain = 0
        for gains, costs in self.tables:
            values, chosen = best_of_rows(gains, costs, m)
            value, gain = value + exact_sum(values), gain + exact_sum(chosen)
        return value, gain


@attrs.frozen
class PixelItems:
    """One item a pixel, whose channels share their outcomes; gains [channels, pixels, moves].

    Changing the channels by delta costs min(g(1), sum_c g(delta_c)) and touches the union of the samples that the
    channels touch. At cost g(1) the gain is at most `whole` [pixels], that of all samples in which the pixel shows
    anything (and not more than its channels can gain together); at cost sum_c g(delta_c) it is at most the sum of the
    channels' gains, and the maximum separates by channel.
    """

    gains: Ints
    costs: Ints
    whole: Ints

    @property
    def attainable(self) -> int:
        """No pixel gains more than `whole`."""
        return exact_sum(self.whole)

    @property
    def peak(self) -> int:
        """See `Items`."""
        return int(self.gains[:, :, -1].sum(axis=0).max())

    def excess(self, m: int) -> tuple[int, int]:
        """See `Items`."""
        channels, pixels, moves = self.gains.shape
        values, chosen = best_of_rows(self.gains.reshape(-1, moves), self.costs, m)
        apart = values.reshape(channels, pixels).sum(axis=0)
        together = self.whole * np.int64(m) - self.costs[-1]
        gain = np.where(together > apart, self.whole, chosen.reshape(channels, pixels).sum(axis=0))
        return exact_sum(np.maximum(apart, together)), exact_sum(gain)


def maximize(items: Items, need: int, scale: int, start: int, rounds: int = 24) -> tuple[int, int]:
    """Return (bound, m) with a large bound(m), both in units of 1/scale, for attainable >= need.

    bound is concave and piecewise linear in m, with slope need - gain. From `start`, m doubles until the slope is
    negative, then the two tangents are intersected until they promise nothing more. No m > 1 (that is, > scale) can be
    best: costs are at most 1 and gains integers.
    """
    most = min(scale, (1 << 61) // max(items.peak, 1))

    def at(m: int) -> tuple[int, int, int]:
        value, gain = items.excess(m)
        return m, m * need - value, need - gain

    low, high = (0, 0, need), None
    best = low
    m = min(max(start, 1), most)
    for _ in range(rounds):
        point = at(m)
        best = max(best, point, key=lambda p: p[1])
        if point[2] == 0:
            break
        if point[2] > 0:
            low = point
        else:
            high = point
        if high is None:
            if m == most:
                break
            m = min(2 * m, most)
            continue
        # low: v1 + s1 (m - m1), high: v2 + s2 (m - m2), with s1 > 0 > s2
        m = (high[1] - low[1] + low[2] * low[0] - high[2] * high[0]) // (low[2] - high[2])
        promise = low[1] + low[2] * (m + 1 - low[0])
        if m <= low[0] or m >= high[0] or promise - best[1] <= best[1] >> 16:
            break
    return best[1], best[0]
