"""Moves are added to an image until its smoothed prediction changes, within a budget of passes.

The moves with the largest expected gain per cost towards a goal are tried on a few of the samples that they touch, and
the best of them are made.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import attrs
import numpy as np
import torch

from zoo.attacks.menu import Menu

if TYPE_CHECKING:
    from ecm.arrays import Floats, Ints, Singles
    from zoo.attacks.evaluation import Change, Evaluation
    from zoo.attacks.front import Front

_TRIALS = (8, 16)  # samples on which moves are tried; after the first trial the best third of the moves goes on ...
_LEAST = 4  # ... and at least this many
_POOL = (12, 96)  # the least and the most moves that are tried before some are made ...
_SHARE = 0.05  # ... and the share of what is left of the budget that this may take
_EXPLORED = 4  # one in so many of them is drawn at random
_BATCH = 4  # at once one in so many of the moves are made that are still needed ...
_COMMON = 0.3  # ... if this share of their touched samples, or less, is in common
_FAILURES = 6  # rounds in a row without any gain after which an addition gives up


@attrs.frozen(eq=False)
class Point:
    """An image (flat levels) with the logits of all its samples, and its distance from where the attack began."""

    levels: Ints
    logits: Singles
    cost: float


class Spent(Exception):
    """The budget of passes is used up."""


class Addition:
    """What may be spent on an image `x` of class `c`, and how moves are added to it.

    `budget` is in passes through the base. `bound` limits the distance (a float): only nearer points are looked for.
    `kept` are the points found with another prediction than `c`, each nearer than the last.
    """

    def __init__(
        self, evaluation: Evaluation, x: Ints, c: int, *, budget: int, bound: float = np.inf, seed: int = 0
    ) -> None:
        self.evaluation, self.menu, self.c = evaluation, Menu(evaluation.scheme, x), c
        self.budget, self.limit, self.bound = budget, evaluation.passes + budget, bound
        self.kept: list[Point] = []
        self.random = np.random.RandomState(seed)

    # ---- what it is made of ----------------------------------------------------------------------------------------

    @property
    def _left(self) -> int:
        return self.limit - self.evaluation.passes

    def _afford(self, passes: int) -> None:
        if passes > self._left:
            raise Spent

    def _changed(self, point: Point) -> bool:
        return self.evaluation.rule.prediction(point.logits) != self.c

    def _keep(self, point: Point) -> None:
        if point.cost < self.bound:
            self.kept.append(point)
            self.bound = point.cost

    def _move(self, front: Front, k: int, point: Point) -> Change:
        features = self.menu.features(int(front.item[k]))
        return self.evaluation.change(point.levels, features, self.menu.targets[front.target[k], features])

    def _after(self, point: Point, change: Change, logits: Singles) -> Point:
        """The point with a change, whose touched samples have these logits."""
        levels, every = point.levels.copy(), point.logits.copy()
        levels[change.features], every[change.samples] = change.levels, logits
        return Point(levels, every, self.menu.cost(levels))

    def _try(self, point: Point, items: Collection[int], levels: Ints) -> Point:
        """The point at which these items have the levels that they have in a whole image."""
        features = np.concatenate([self.menu.features(item) for item in items])
        change = self.evaluation.change(point.levels, features, levels[features])
        self._afford(len(change.samples))
        return self._after(point, change, self.evaluation.at(point.levels, [change])[0])

    @staticmethod
    def _margins(logits: Singles, front: Front) -> Singles:
        found: Singles = front.goal.margins(torch.from_numpy(logits)).numpy()
        return found

    def _gains(self, front: Front, point: Point, which: Ints | None = None, hard: bool = False) -> Floats:
        worth = self.evaluation.rule.worth(point.logits, front.goal)
        return front.gains(point.levels, self._margins(point.logits, front), worth, which, hard=hard)

    # ---- addition --------------------------------------------------------------------------------------------------

    def _add(self, front: Front, point: Point, banned: Collection[int] = ()) -> Point:
        """Add moves to a point until the prediction changes; the point that was reached, changed or not."""
        failures, allowed = 0, ~np.isin(front.item, list(banned))
        while not self._changed(point) and failures <= _FAILURES:
            price = front.price - self.menu.costs(point.levels)[front.place]
            fits = allowed & (price > 1e-12) & (point.cost + price < self.bound)
            if not fits.any():
                break
            rate = np.where(fits, self._gains(front, point) / np.where(fits, price, 1), -np.inf)
            pool = self._pool(rate)
            chosen = self._screened(front, point, pool, price)
            moves = self._batch(front, point, chosen, price)
            after = self._make(front, point, moves, price) if moves else None
            if after is None:
                failures += 1
                allowed[list(moves) or pool] = False
            else:
                failures, point = 0, after
        return point

    def _batch(self, front: Front, point: Point, chosen: Ints, price: Floats) -> dict[int, Change]:
        """The moves to make at once: the cheapest that is enough, or a few that have few touched samples in common."""
        need, gains = self.evaluation.rule.need(point.logits, front.goal), self._gains(front, point, chosen)
        enough = chosen[self._gains(front, point, chosen, hard=True) >= need]
        most = 1 + int(need / max(1.0, float(gains.max())) / _BATCH)
        if len(enough):
            chosen, most = enough[np.argsort(price[enough], kind="stable")], 1
        else:
            chosen = chosen[gains > 0]
        found: dict[int, Change] = {}
        hit = np.zeros(self.evaluation.scheme.samples, dtype=bool)
        for k in chosen.tolist():
            change = self._move(front, k, point)
            if hit[change.samples].sum() < _COMMON * len(change.samples):
                found[k] = change
                hit[change.samples] = True
            if len(found) == most or 2 * hit.sum() > len(hit):
                break
        return found

    def _pool(self, rate: Floats) -> Ints:
        """Moves to try: those with the best rates, and a few at random."""
        low, high = _POOL
        size = int(np.clip(_SHARE * self._left / (_TRIALS[0] + _TRIALS[1] / 3), low, high))
        order = np.argsort(-rate, kind="stable")[: int(np.isfinite(rate).sum())]
        best, others = order[: size - size // _EXPLORED], order[size - size // _EXPLORED :]
        return np.concatenate([best, self.random.permutation(others)[: size // _EXPLORED]])

    def _screened(self, front: Front, point: Point, pool: Ints, price: Floats) -> Ints:
        """The moves that look best after all were tried on a few of their samples, best first."""
        moves = {int(k): self._move(front, k, point) for k in pool}
        turn = self.random.permutation(self.evaluation.scheme.samples)  # moves are compared on the same samples
        order = {k: change.samples[np.argsort(turn[change.samples])] for k, change in moves.items()}
        start, need = 0, self.evaluation.rule.need(point.logits, front.goal)
        for count in _TRIALS:
            some = {k: np.sort(order[k][start : start + count]) for k in pool.tolist()}
            tests = [attrs.evolve(moves[k], samples=samples) for k, samples in some.items()]
            self._afford(sum(len(samples) for samples in some.values()))
            for (k, samples), out in zip(some.items(), self.evaluation.at(point.levels, tests), strict=True):
                self._learn(front, point, k, samples, out)
            rate = self._gains(front, point, pool) / price[pool]
            best = np.argsort(-rate, kind="stable")
            good = rate >= rate[best[0]] - abs(rate[best[0]]) / 2
            if count != _TRIALS[-1]:
                good[best[max(_LEAST, len(pool) // 3) :]] = False
            good |= self._gains(front, point, pool, hard=True) >= need  # what seems to be enough goes on
            pool = pool[best][good[best]]
            start += count
        return pool

    def _learn(self, front: Front, point: Point, k: int, samples: Ints, logits: Singles) -> None:
        change = self._margins(logits, front) - self._margins(point.logits[samples], front)
        front.learn(k, point.levels, samples, change)

    def _make(self, front: Front, point: Point, moves: dict[int, Change], price: Floats) -> Point | None:
        """Make the moves and believe the gradient there; None if that is no gain.

        If no two touch the same sample, only those are made that are about as good as the best, until the prediction
        changes.
        """
        touched = np.concatenate([change.samples for change in moves.values()])
        everything, levels = np.unique(touched), point.levels.copy()
        for change in moves.values():
            levels[change.features] = change.levels
        self._afford(2 * len(everything))
        logits, slopes = self.evaluation.gradients(levels, everything, front.goal)
        where = {k: np.searchsorted(everything, change.samples) for k, change in moves.items()}
        rates, apart = {}, len(everything) == len(touched)
        for k, change in moves.items():
            if apart:
                self._learn(front, point, k, change.samples, logits[where[k]])
            gain = self.evaluation.rule.value(point.logits, front.goal, change.samples, logits[where[k]], front.soft)
            rates[k] = gain / price[k]
        best, after = max(rates.values()), point
        made: list[Ints] = []
        for k in sorted(moves, key=lambda k: -rates[k]):
            if made and apart and (rates[k] <= best / 2 or self._changed(after)):
                break
            after = self._after(after, moves[k], logits[where[k]])
            made.append(where[k])
        if best <= 0 and not self._changed(after):
            return None
        at = np.unique(np.concatenate(made))
        if bool(slopes.any()):
            front.refresh(self.evaluation, after.levels, everything[at], slopes[torch.from_numpy(at)])
        return after
