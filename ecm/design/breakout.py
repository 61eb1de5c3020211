"""Breakout local search over the Monge matrices that are designs: lower the worst gap, one rectangle at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ecm.arrays import Floats, Ints, Shorts
from ecm.design.blocks import splits_of

UNIT = 64  # price of one violated cell
PULL = 4  # price of the squared distance from the middle of the allowed band, in 1/UNIT
REACH = 6.0  # half width of the window of rectangles, in typical distances between blocks
WIDE = 0.1  # share of the steps that look at all rectangles
NEVER = np.int32(1 << 30)
EMPTY = 1 << 20  # empty blocks are free: f(s, s) never runs out


def _toeplitz(values: Ints) -> Shorts:
    """Return the matrix m[x, y] = values[y - x] above the diagonal and 0 elsewhere, as a view on 2q+1 numbers."""
    q = len(values) - 1
    line = np.zeros(2 * q + 1, dtype=np.int32)
    line[q + 1 :] = values[1:]
    step = line.itemsize
    return as_strided(line[q:], shape=(q + 1, q + 1), strides=(-step, step), writeable=False)


class Breakout:
    """Search state: blocks f and slack caps[y-x] - c(x, y) of a design that is always a design, not always sound.

    A move adds or takes 1 on c over a rectangle [s1, s2) x [t1, t2), s2 <= t1. Up: one block (s1, t2) and one block
    (s2, t1) nested in it (empty if s2 = t1) become (s1, t1) and (s2, t2). Down is the reverse. So f stays a
    non-negative flow and c the split counts of some outcomes. A cell is violated if c exceeds its cap or lies more
    than the current goal below `target`; a step picks a violated cell, prices every rectangle over it inside a window
    with one 2-D prefix sum, takes the cheapest (up to noise) and adds weight to the cell if no move was an
    improvement (Morris 1993). A small pull to the middle of the band keeps room for later moves. When nothing is
    violated the state is sound, is kept as `best`, and the goal is lowered below its worst gap.

    All prices are integers, the noise is drawn from a frozen generator: the search is reproducible.
    """

    def __init__(self, blocks: Shorts, caps: Ints, target: Floats, seed: int, enough: float = 0.0) -> None:
        """Start from the blocks of a sound design; a worst gap of `enough` outcomes ends the search."""
        self.q = len(caps) - 1
        self.caps, self.target, self.enough = caps, target, enough
        self.blocks = blocks.copy()
        np.fill_diagonal(self.blocks, EMPTY)
        self.slack: Shorts = np.triu(_toeplitz(caps) - splits_of(blocks), 1)
        self.weight: Shorts = np.zeros_like(self.slack)
        self.raised: Shorts = np.zeros_like(self.slack)  # price of c + 1, cell by cell
        self.lowered: Shorts = np.zeros_like(self.slack)  # price of c - 1
        self.random = np.random.RandomState(seed)
        k = np.arange(1, self.q + 1)
        half = (k + 1) // 2
        slope = np.maximum((target[k] - target[k - half]) / half, 1e-3)
        reach = np.clip(REACH * np.sqrt(2 * k / slope), 8, self.q + 1)
        self.reach = [0, *reach.astype(int).tolist()]
        self.steps = 0
        self.queue: list[int] = []
        self._keep()

    def _keep(self) -> None:
        """The state is sound: remember it and aim below its worst gap."""
        room = np.array([int(np.diagonal(self.slack, k).max()) for k in range(self.q + 1)])
        self.worst = float((self.target - self.caps + room).max())
        self.best = self.blocks.copy()
        goal = self.worst - 1e-6
        lowest = np.maximum(0, np.ceil(self.target - goal - 1e-9)).astype(np.int64)
        middle = self.target - goal / 2 - self.caps
        self.band = _toeplitz(self.caps - lowest)
        self.middle_up = _toeplitz(np.rint(PULL * (1 - 2 * middle)).astype(np.int64))
        self.middle_down = _toeplitz(np.rint(PULL * (1 + 2 * middle)).astype(np.int64))
        self.pull = _toeplitz(np.full(self.q + 1, 2 * PULL))
        self.weight[:] = _toeplitz(np.full(self.q + 1, UNIT))
        self._price(0, self.q + 1, 0, self.q + 1)
        self.queue = np.flatnonzero((self.slack > self.band) & (self.weight > 0)).tolist()

    @property
    def finished(self) -> bool:
        """The worst gap is small enough, or as small as integers can be: max(target - caps)."""
        return self.worst <= max(self.enough, float((self.target - self.caps).max())) + 1e-6

    def _price(self, r0: int, r1: int, c0: int, c1: int) -> None:
        box = (slice(r0, r1), slice(c0, c1))
        slack, band, weight = self.slack[box], self.band[box], self.weight[box]
        pull = self.pull[box] * slack
        up = (slack <= 0).view(np.int8) - (slack > band).view(np.int8)
        self.raised[box] = up * weight + self.middle_up[box] - pull
        down = (slack >= band).view(np.int8) - (slack < 0).view(np.int8)
        self.lowered[box] = down * weight + self.middle_down[box] + pull

    def _violated(self) -> tuple[int, int] | None:
        """Return a random violated cell; entries of the queue that are no longer violated are dropped on the way."""
        while self.queue:
            i = int(self.random.random_sample() * len(self.queue))
            x, y = divmod(self.queue[i], self.q + 1)
            slack = self.slack[x, y]
            if slack < 0 or slack > self.band[x, y]:
                return x, y
            self.queue[i] = self.queue[-1]
            self.queue.pop()
        return None

    def run(self, steps: int, report: Callable[[int, float], None] | None = None) -> Shorts:
        """Search for `steps` more steps; the best sound blocks so far."""
        end = self.steps + steps
        while self.steps < end and not self.finished:
            cell = self._violated()
            if cell is None:
                self._keep()
                continue
            self.steps += 1
            self._step(*cell)
            if report is not None and self.steps % 100 == 0:
                report(self.steps, self.worst)
        best = self.best.copy()
        np.fill_diagonal(best, 0)
        return best

    def _step(self, x: int, y: int) -> None:
        q = self.q
        wide = self.random.random_sample() < WIDE
        reach = q + 1 if wide else self.reach[y - x]
        sign = 1 if self.slack[x, y] > 0 else -1
        found = self._cheapest(x, y, reach, sign)
        if found is None or found[0] >= 0:
            self.weight[x, y] += UNIT
            self._price(x, x + 1, y, y + 1)
            if found is None:
                self.reach[y - x] = min(2 * self.reach[y - x], q + 1)
                return
        _, s1, s2, t1, t2 = found
        self.blocks[s1, t2] -= sign
        self.blocks[s1, t1] += sign
        self.blocks[s2, t2] += sign
        if s2 != t1:
            self.blocks[s2, t1] -= sign
        slack = self.slack[s1:s2, t1:t2]
        slack -= sign
        self._price(s1, s2, t1, t2)
        broken = slack < 0 if sign > 0 else slack > self.band[s1:s2, t1:t2]
        rows, columns = broken.nonzero()
        self.queue.extend(((rows + s1) * (q + 1) + columns + t1).tolist())

    def _cheapest(self, x: int, y: int, reach: int, sign: int) -> tuple[int, int, int, int, int] | None:
        """Return price (with noise) and sides of the best rectangle over (x, y) within `reach`; None if there is
        none."""
        top, bottom = max(0, x - reach + 1), min(y, x + reach)
        left, right = max(x + 1, y - reach + 1), min(self.q + 1, y + reach)
        sums = np.zeros((bottom - top + 1, right - left + 1), dtype=np.int32)
        inner = sums[1:, 1:]  # wraps around beyond 32 bits, which differences of sums do not see
        np.add.accumulate((self.raised if sign > 0 else self.lowered)[top:bottom, left:right], axis=1, out=inner)
        np.add.accumulate(inner, axis=0, out=inner)
        first = slice(top, x + 1)
        second = slice(x + 1, bottom + 1)
        near, far = slice(left, y + 1), slice(y + 1, right + 1)
        if sign > 0:  # outer block (s1, t2), inner block (s2, t1)
            s1, t2 = self.blocks[first, far].nonzero()
            s2, t1 = self.blocks[second, near].nonzero()
        else:  # crossing blocks (s1, t1) and (s2, t2)
            s1, t1 = self.blocks[first, near].nonzero()
            s2, t2 = self.blocks[second, far].nonzero()
        s2 += x + 1 - top
        t2 += y + 1 - left
        if sign > 0 and left < bottom:
            nested = s2 + top <= t1 + left
            s2, t1 = s2[nested], t1[nested]
        if not len(s1) or not len(s2):
            return None
        if sign > 0:
            prices = sums[s2].take(t2, axis=1)
            prices += sums[s1].take(t1, axis=1).T
            prices -= sums[s2, t1][:, None]
            prices -= sums[s1, t2]
        else:
            prices = sums[s2, t2][:, None] + sums[s1, t1]
            prices -= sums[s2].take(t1, axis=1)
            prices -= sums[s1].take(t2, axis=1).T
            if left < bottom:
                prices[(s2 + top)[:, None] > t1 + left] = NEVER
        prices += self.random.randint(0, UNIT, size=prices.shape, dtype=np.int32)
        j, i = divmod(int(prices.argmin()), prices.shape[1])
        price = int(prices[j, i])
        if price >= NEVER:
            return None
        a1, a2 = int(s1[i]) + top, int(s2[j]) + top
        b1, b2 = (int(t1[j]), int(t2[i])) if sign > 0 else (int(t1[i]), int(t2[j]))
        return price, a1, a2, b1 + left, b2 + left
