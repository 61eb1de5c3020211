"""The nearest input with another smoothed class that a budget of passes finds, for one image.

After addition comes shrinking: moves are undone or made smaller while the prediction stays changed. What is left of the
budget goes into taking moves out and putting better ones in.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import torch

from zoo.attacks.addition import Addition, Point, Spent
from zoo.attacks.front import Front

if TYPE_CHECKING:
    from zoo.attacks.rule import Goal

_GOALS = 3  # the nearest are attacked for, as long as nothing is found or half of the budget is left
_REDUCED = 4  # moves that are made smaller after the others were undone


class Search(Addition):
    """The attack on one image: `run` spends the budget, and `kept` are the points that it has found."""

    # ---- the whole search ------------------------------------------------------------------------------------------

    def run(self) -> Point | None:
        """Spend the budget; the nearest point found, or None."""
        with suppress(Spent):
            self._run()
        return self.best

    @property
    def best(self) -> Point | None:
        """The nearest point found so far."""
        return self.kept[-1] if self.kept else None

    def _run(self) -> None:
        self._afford(self.evaluation.scheme.samples)
        start = Point(self.menu.x, self.evaluation.everywhere(self.menu.x), 0.0)
        if self._changed(start):
            self.kept.append(start)
        if self.kept or not len(self.menu.items):
            return
        fronts: list[Front] = []
        for goal in self._goals(start):
            if self.best is not None and self._left < self.budget / 2:
                break
            self._afford(2 * self.evaluation.scheme.samples)
            fronts.append(Front.of(self.evaluation, self.menu, goal, start.logits))
            point = self._attempt(fronts[-1], start)
        while self.best is None:
            point = self._retry(fronts, start, point)
        while True:
            best, left = self.best, self._left
            front = min(fronts, key=lambda front: self.evaluation.rule.need(best.logits, front.goal))
            self._improve(front.copy(), best, rounds=8)
            if self._left == left:
                return

    def _attempt(self, front: Front, start: Point, banned: Collection[int] = ()) -> Point:
        """Add moves; if that changes the prediction, shrink and improve. The point that addition has reached."""
        front = front.copy()
        point = self._add(front, start, banned)
        if self._changed(point):
            self._improve(front, self._shrink(front, point), rounds=4)
        return point

    def _retry(self, fronts: list[Front], start: Point, point: Point) -> Point:
        """Nothing was found within the bound: without some moves of the last attempt, go on or begin again."""
        moved, left = self.menu.moved(point.levels), self._left
        out = [item for item in moved if self.random.rand() < 0.5]
        begin = self._try(point, out, self.menu.x) if out and self.random.rand() < 0.5 else start
        point = self._attempt(fronts[self.random.randint(len(fronts))], begin, out)
        if self._left == left and not out:
            raise Spent  # no move fits below the bound at all
        return point

    def _goals(self, start: Point) -> list[Goal]:
        """The goals with the least change of margins, summed over the nearest samples that would reach them."""
        rule, work = self.evaluation.rule, []
        goals = rule.goals(start.logits, self.c)
        for goal in goals:
            short = -goal.margins(torch.from_numpy(start.logits)).numpy()
            order = np.argsort(short, kind="stable")
            order = order[short[order] >= 0]
            enough = np.cumsum(rule.worth(start.logits, goal)[order]) >= rule.need(start.logits, goal)
            work.append(short[order][: int(enough.argmax()) + 1].sum() if enough.any() else np.inf)
        return [goals[k] for k in np.argsort(work, kind="stable")[:_GOALS].tolist()]

    # ---- shrinking and exchange ------------------------------------------------------------------------------------

    def _weakest(self, front: Front, point: Point) -> list[int]:
        """The moved items, those first whose move brings least for what it costs."""
        weights = self.evaluation.weights.astype(np.float32)
        lost = front.losses(point.levels, self._margins(point.logits, front), weights)
        costs = dict(zip(self.menu.items.tolist(), self.menu.costs(point.levels).tolist(), strict=True))
        return sorted(self.menu.moved(point.levels), key=lambda item: lost.get(item, 0.0) / max(costs[item], 1e-12))

    def _shrink(self, front: Front, point: Point) -> Point:
        """Undo moves, then make a few of them smaller, as long as the prediction stays changed."""
        self._keep(point)
        for item in self._weakest(front, point):
            after = self._try(point, [item], self.menu.x)
            if self._changed(after):
                point = after
                self._keep(point)
        for item in self._weakest(front, point)[:_REDUCED]:
            point = self._reduce(point, item)
        return point

    def _reduce(self, point: Point, item: int) -> Point:
        """Bisect how far an item has to move; every step that is kept was tried."""
        features = self.menu.features(item)
        x, far = self.menu.x[features], point.levels[features]
        good, bad = 1.0, 0.0  # shares of the way
        for _ in range(_REDUCED):
            middle, levels = (good + bad) / 2, point.levels.copy()
            levels[features] = x + np.rint((far - x) * middle).astype(np.int64)
            if (levels[features] == x).all() or self.menu.cost(levels) >= point.cost:
                break
            after = self._try(point, [item], levels)
            if self._changed(after):
                point, good = after, middle
                self._keep(point)
            else:
                bad = middle
        return point

    def _beside(self, item: int, items: list[int]) -> list[int]:
        """Those of these items that are mostly shown in the same samples as one of them."""
        shown = {other: self.evaluation.showing[self.menu.features(other)[0]] for other in items}
        return [other for other in items if np.isin(shown[other], shown[item]).mean() > 0.5]

    def _improve(self, front: Front, point: Point, rounds: int) -> None:
        """Take moves out (the weakest, any, or all that meet in some samples) and let addition put better ones in."""
        for _ in range(rounds):
            items = self._weakest(front, point)
            if not items:
                return
            count = 1 + self.random.randint(1 + len(items) // 3)
            any_ = self.random.choice(items, count, False).tolist()
            out = (items[:count], any_, self._beside(any_[0], items))[self.random.randint(3)]
            twin = front.copy()
            found = self._add(twin, self._try(point, out, self.menu.x), banned=out)
            if self._changed(found):
                front, point = twin, self._shrink(twin, found)
