"""The nearest input with another smoothed class that a budget of passes finds, for one image.

Greedy addition: the moves with the largest expected gain per cost towards a goal are tried on the samples that they
touch, and the best one is made, until the prediction changes. Then shrinking: moves are undone or made smaller while
the prediction stays changed. What is left of the budget goes into taking moves out and putting better ones in.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs
import numpy as np
import torch
from numpy.typing import NDArray

from zoo.attacks.front import Front, fronts, soft_gain
from zoo.attacks.menu import Menu

if TYPE_CHECKING:
    from ecm.arrays import Ints
    from zoo.attacks.evaluation import Change, Evaluation
    from zoo.attacks.rule import Floats

_GOALS = 3  # the nearest are attacked for, fewer if the budget is small
_SETUP = 4  # at most one part in so many of the budget is planned for their gradients
_POOL = 24  # moves that are tried on a few of their samples before one is made ...
_SAMPLES = 16  # ... on this many ...
_TRIALS = 3  # ... and moves that are then tried on all of them
_FAILURES = 8  # rounds of trials in a row without any gain after which a greedy run gives up


@attrs.frozen(eq=False)
class Point:
    """An image (flat levels) with the logits of all its samples, and its distance from where the attack began."""

    levels: Ints
    logits: Floats
    cost: float


class Spent(Exception):
    """The budget of passes is used up."""


class Search:
    """The attack on one image: `kept` are the points found with another prediction than `c`, each nearer than the last.

    `budget` is in passes through the base. `bound` limits the distance (a float): only nearer points are looked for.
    """

    def __init__(
        self, evaluation: Evaluation, x: Ints, c: int, *, budget: int, bound: float = np.inf, seed: int = 0
    ) -> None:
        self.evaluation, self.menu, self.c = evaluation, Menu(evaluation.scheme, x), c
        self.limit = evaluation.passes + budget
        self.bound = bound
        self.kept: list[Point] = []
        self.random = np.random.RandomState(seed)

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
        evaluation = self.evaluation
        start = Point(self.menu.x, evaluation.everywhere(self.menu.x), 0.0)
        if self._changed(start):
            self.kept.append(start)
            return
        samples = evaluation.scheme.samples
        count = max(1, min(_GOALS, (self.limit - evaluation.passes) // (_SETUP * samples) - 1))
        goals = evaluation.rule.goals(start.logits, self.c)[:count]
        self._afford(samples * (1 + len(goals)))
        _, made = fronts(evaluation, self.menu, goals)
        expected, steps = zip(*(self._expected(front, start) for front in made), strict=True)
        order = np.argsort(expected, kind="stable").tolist()
        for k in order:
            if self.best is None or expected[k] < 1.5 * expected[order[0]]:
                front = made[k].copy()
                found = self._greedy(front, start, steps=steps[k])
                if found is not None:
                    self._improve(front, self._shrink(found), rounds=4)
        while self.best is None:
            self._retry(made, start)
        while True:
            point = self.best
            front = min(made, key=lambda front: evaluation.rule.need(point.logits, front.goal))
            spent = evaluation.passes
            self._improve(front.copy(), point, rounds=8)
            if evaluation.passes == spent:
                return

    def _retry(self, made: list[Front], start: Point) -> None:
        """Nothing was found within the bound: begin again, for any goal and without some of the moves."""
        front = made[self.random.randint(len(made))].copy()
        left_out = self.random.choice(front.place, size=max(1, len(front.place) // 3))
        spent = self.evaluation.passes
        found = self._greedy(front, start, banned=set(self.menu.items[left_out].tolist()))
        if found is not None:
            self._shrink(found)
        elif self.evaluation.passes == spent:
            raise Spent  # no move fits below the bound at all

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _afford(self, passes: int) -> None:
        if self.evaluation.passes + passes > self.limit:
            raise Spent

    def _changed(self, point: Point) -> bool:
        return self.evaluation.rule.prediction(point.logits) != self.c

    def _keep(self, point: Point) -> None:
        if point.cost < self.bound:
            self.kept.append(point)
            self.bound = point.cost

    def _try(self, point: Point, moves: list[tuple[int, Ints]]) -> list[tuple[Change, Point]]:
        """The points after each of these moves (item, levels of its features), one at a time."""
        changes = [self.evaluation.change(point.levels, self.menu.features(item), new) for item, new in moves]
        self._afford(sum(len(change.samples) for change in changes))
        made = []
        for change, out in zip(changes, self.evaluation.at(point.levels, changes), strict=True):
            levels, logits = point.levels.copy(), point.logits.copy()
            levels[change.features], logits[change.samples] = change.levels, out
            made.append((change, Point(levels, logits, self.menu.cost(levels))))
        return made

    @staticmethod
    def _margins(logits: Floats, front: Front) -> Floats:
        found: Floats = front.goal.margins(torch.from_numpy(logits)).numpy()
        return found

    def _worth(self, point: Point, front: Front) -> Floats:
        return self.evaluation.rule.worth(point.logits, front.goal)

    def _need(self, point: Point, front: Front) -> int:
        return self.evaluation.rule.need(point.logits, front.goal)

    def _greedy(self, front: Front, start: Point, *, banned: Collection[int] = (), steps: int = 0) -> Point | None:
        """Add moves to `start` until the prediction changes; None if that is not reached below the bound.

        With an expected number of `steps` no more than half of the budget is planned for them: where it is small, fewer
        moves are tried before one is made.
        """
        point, failures, menu = start, 0, self.menu
        first = max(1, self._need(start, front))
        open_ = ~np.isin(menu.items[front.place], list(banned))
        while not self._changed(point):
            margins = self._margins(point.logits, front)
            worth = self._worth(point, front)
            gains = front.gains(margins, worth)
            here = menu.costs(point.levels)
            price = menu.prices[front.target, front.place] - here[front.place]
            fits = open_ & (price > 1e-12) & (point.cost + price < self.bound) & (gains > 0)
            if not fits.any() or failures > _FAILURES:
                return None
            rate = np.where(fits, gains / np.where(fits, price, 1), -np.inf)
            chosen = [int(k) for k in np.argsort(-rate, kind="stable")[:_POOL] if fits[k]]
            touch = self.evaluation.scheme.samples * float(price[chosen[:_TRIALS]].max())
            need = self._need(point, front) / first if steps else 0
            share = (self.limit - self.evaluation.passes) / (2 * (1 + steps * need)) if steps else np.inf
            if share >= _POOL * _SAMPLES + (_TRIALS + 2) * touch:
                chosen = self._screened(front, point, chosen, gains, price)
            else:
                chosen = chosen[: _TRIALS if share >= (_TRIALS + 2) * touch else 1]
            moves = [self._move(front, k) for k in chosen]
            tried = self._try(point, moves)
            values = []
            for k, (change, after) in zip(chosen, tried, strict=True):
                moved = self._margins(after.logits[change.samples], front) - margins[change.samples]
                front.learn(k, change.samples, moved)
                fresh = after.logits[change.samples]
                gain = self.evaluation.rule.value(point.logits, front.goal, change.samples, fresh, front.soft)
                values.append((self._changed(after), gain / price[k]))
            won = [n for n, (changed, _) in enumerate(values) if changed]
            if won:
                best = min(won, key=lambda n: price[chosen[n]])
            else:
                best = max(range(len(values)), key=lambda n: values[n][1])
                if values[best][1] <= 0:
                    failures += 1
                    continue
            failures = 0
            change, point = tried[best]
            same = front.place == front.place[chosen[best]]
            front.effect[:, torch.from_numpy(same)] -= front.effect[:, chosen[best]][:, None].clone()
            if not won and share >= 3 * touch:
                self._afford(2 * len(change.samples))
                front.refresh(self.evaluation, point.levels, change.samples)
        return point

    def _screened(
        self, front: Front, point: Point, moves: list[int], gains: NDArray[np.float64], price: NDArray[np.float64]
    ) -> list[int]:
        """The moves that look best after each was tried on a few of the samples that it touches.

        The expected gain is corrected by what was found: sum of beliefs + touched/tried * sum of (measured - believed).
        """
        if len(moves) <= _TRIALS:
            return moves
        changes, few = [], []
        for k in moves:
            item, new = self._move(front, k)
            change = self.evaluation.change(point.levels, self.menu.features(item), new)
            changes.append(change)
            some = self.random.permutation(len(change.samples))[:_SAMPLES]
            few.append(attrs.evolve(change, samples=np.sort(change.samples[some])))
        self._afford(sum(len(change.samples) for change in few))
        estimate = {}
        for k, change, part, out in zip(moves, changes, few, self.evaluation.at(point.levels, few), strict=True):
            rows = part.samples
            before = self._margins(point.logits[rows], front)
            worth = self._worth(point, front)[rows]
            believed = soft_gain(
                front.effect[rows][:, [k]], torch.from_numpy(before), torch.from_numpy(worth), front.soft
            )
            change_ = self._margins(out, front) - before
            front.learn(k, rows, change_)
            measured = soft_gain(
                front.effect[rows][:, [k]], torch.from_numpy(before), torch.from_numpy(worth), front.soft
            )
            correction = float(measured - believed) * len(change.samples) / max(1, len(rows))
            estimate[k] = (gains[k] + correction) / price[k]
        return sorted(moves, key=lambda k: -estimate[k])[:_TRIALS]

    def _expected(self, front: Front, start: Point) -> tuple[float, int]:
        """The cost and the number of moves that would change the prediction if all beliefs were true."""
        margins = self._margins(start.logits, front)
        worth = self._worth(start, front)
        price, cost = self.menu.prices[front.target, front.place], 0.0
        need, open_ = self._need(start, front), np.ones(len(price), dtype=bool)
        won, made = margins > 0, 0
        while need > worth[(margins > 0) & ~won].sum():
            gains = front.gains(margins, worth)
            fits = open_ & (gains > 0) & (price > 1e-12)
            if not fits.any():
                return np.inf, made
            best = int(np.argmax(np.where(fits, gains / np.where(fits, price, 1), -np.inf)))
            margins = margins + front.effect[:, best].numpy()
            cost += price[best]
            open_ &= front.place != front.place[best]
            made += 1
        return cost, made

    def _move(self, front: Front, k: int) -> tuple[int, Ints]:
        item = int(self.menu.items[front.place[k]])
        return item, self.menu.targets[front.target[k], self.menu.features(item)]

    def _shrink(self, point: Point) -> Point:
        """Undo moves, then make them smaller, as long as the prediction stays changed."""
        self._keep(point)
        menu = self.menu
        items = menu.moved(point.levels)
        costs = dict(zip(menu.items.tolist(), menu.costs(point.levels).tolist(), strict=True))
        for item in sorted(items, key=lambda i: -costs[i]):
            ((_, after),) = self._try(point, [(item, menu.x[menu.features(item)])])
            if self._changed(after):
                point = after
                self._keep(point)
        for item in sorted(menu.moved(point.levels), key=lambda i: -costs[i]):
            point = self._reduce(point, item)
        return point

    def _reduce(self, point: Point, item: int) -> Point:
        """Bisect how far an item has to move; every step that is kept was tried."""
        features = self.menu.features(item)
        x, far = self.menu.x[features], point.levels[features]
        good, bad = 1.0, 0.0  # shares of the way
        steps = int(np.ceil(np.log2(np.abs(far - x).max()))) if len(features) == 1 else 0
        for _ in range(steps):
            middle = (good + bad) / 2
            new = x + np.rint((far - x) * middle).astype(np.int64)
            if (new == point.levels[features]).all() or (new == x).all():
                break
            ((_, after),) = self._try(point, [(item, new)])
            if self._changed(after) and after.cost < point.cost:
                point, good = after, middle
                self._keep(point)
            else:
                bad = middle
        return point

    def _improve(self, front: Front, point: Point, rounds: int) -> None:
        """Take a few moves out and let greedy addition put better ones in; keep what is nearer."""
        for _ in range(rounds):
            items = self.menu.moved(point.levels)
            if not items:
                return
            count = 1 + self.random.randint(max(1, min(len(items), 1 + len(items) // 3)))
            out = set(self.random.choice(items, size=count, replace=False).tolist())
            less = point
            for item in sorted(out):
                ((_, less),) = self._try(less, [(item, self.menu.x[self.menu.features(item)])])
            found = self._greedy(front.copy(), less, banned=out)
            if found is not None:
                point = self._shrink(found)
