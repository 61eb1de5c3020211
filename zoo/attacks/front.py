"""What the attack believes about its moves for one goal: by sample, how much each move brings it nearer.

The belief starts as the gradient of the base under the noise times the change that the sample would see. A move to the
far end of the scale is no small step, so the gradient is often wrong. Wherever a move was tried, the measured effect
replaces it, and the mean surprise corrects the belief about the samples that were not tried, and about the same move of
the features nearby.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import conv2d

if TYPE_CHECKING:
    from torch import Tensor

    from ecm.arrays import Floats, Ints, Singles
    from zoo.attacks.evaluation import Evaluation
    from zoo.attacks.menu import Menu
    from zoo.attacks.rule import Goal

_KEPT = 2048  # candidate moves that are followed for a goal
_NUMBERS = 1 << 21  # effects that are computed at once
_DOUBT = 4  # measured samples that weigh as much as the gradient
_NEARBY = (1.0, 0.5, 0.25)  # how much a measurement says about features 0, 1 and 2 pixels away
_HARD = 1e-6  # smoothing in logits that smoothes nothing
SOFT = 0.5  # a sample counts as half won when its margin is within this share of the typical size of all margins


class Surprise:
    """By target and item, how far measured effects were above the beliefs, shared with the items nearby."""

    def __init__(self, menu: Menu) -> None:
        shape = (1, *menu.scheme.shape[1:]) if menu.pixels else menu.scheme.shape
        self._sums = torch.zeros((2, len(menu.targets), *shape))
        self._mean: Tensor | None = None
        away = torch.arange(-len(_NEARBY) + 1, len(_NEARBY)).abs()
        self._kernel = torch.tensor(_NEARBY)[torch.maximum(away[:, None], away[None, :])][None, None]

    def add(self, target: int, item: int, surprises: Singles) -> None:
        """These were found at as many samples."""
        flat = self._sums.view(2, self._sums.shape[1], -1)
        flat[0, target, item] += float(surprises.sum())
        flat[1, target, item] += len(surprises)
        self._mean = None

    def mean(self, target: Ints, item: Ints) -> Tensor:
        """The correction of each of these moves; near 0 where little was measured."""
        if self._mean is None:
            total = self._sums
            if total.dim() == 5:  # images: 2, targets, channels, height, width
                planes = total.reshape(-1, 1, *total.shape[-2:])
                total = conv2d(planes, self._kernel, padding=len(_NEARBY) - 1).view_as(self._sums)
            self._mean = (total[0] / (_DOUBT + total[1])).view(len(total[0]), -1)
        return self._mean[torch.from_numpy(target), torch.from_numpy(item)]


class Front:
    """Candidate moves for `goal`: `target` and `place` (in `menu.items`) [moves], and what is believed about them.

    `effect` [moves, shown] is the expected change of the goal's margin when the item goes from the image to its target,
    at the samples `where` [items, shown] in which the item is shown.
    """

    def __init__(self, menu: Menu, goal: Goal, where: Ints, soft: float) -> None:
        self.menu, self.goal, self.where, self.soft = menu, goal, where, soft
        grid = np.indices((len(menu.targets), len(menu.items))).reshape(2, -1)
        self._moves(grid[0], grid[1], torch.zeros((grid.shape[1], where.shape[1])))
        self.surprise = Surprise(menu)

    def _moves(self, target: Ints, place: Ints, effect: Tensor) -> None:
        self.target, self.place, self.effect = target, place, effect
        self.item, self.price = self.menu.items[place], self.menu.prices[target, place]
        self.measured = torch.zeros_like(effect, dtype=torch.bool)

    @classmethod
    def of(cls, evaluation: Evaluation, menu: Menu, goal: Goal, logits: Singles) -> Front:
        """The best moves for a goal by the gradient at the image itself, whose logits are known."""
        margins = goal.margins(torch.from_numpy(logits))
        soft = max(1e-6, SOFT * float(margins.square().mean().sqrt()))
        front = cls(menu, goal, evaluation.showing[menu.items], soft)
        samples, any_slope = np.arange(evaluation.scheme.samples), False
        step = max(1, _NUMBERS // len(menu.items))
        for start in range(0, len(samples), step):
            part = samples[start : start + step]
            slopes = evaluation.gradients(menu.x, part, goal)[1]
            any_slope |= bool(slopes.any())
            front.refresh(evaluation, menu.x, part, slopes)
        if not any_slope:  # hope that every touched sample comes a little nearer
            front.refresh(evaluation, menu.x, samples, None)
        worth = evaluation.rule.worth(logits, goal)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(front.price > 0, front.gains(menu.x, margins.numpy(), worth) / front.price, -np.inf)
        best = np.argsort(-rate, kind="stable")[:_KEPT]
        best = best[np.isfinite(rate[best])]
        front._moves(front.target[best], front.place[best], front.effect[torch.from_numpy(best)])
        return front

    def copy(self) -> Front:
        """The same beliefs, to be changed on their own; what was surprising is shared."""
        twin = Front.__new__(Front)
        twin.__dict__.update(self.__dict__)
        twin.effect, twin.measured = self.effect.clone(), self.measured.clone()
        return twin

    # ---- what is expected ------------------------------------------------------------------------------------------

    def gains(
        self, levels: Ints, margins: Singles, worth: Singles, which: Ints | None = None, *, hard: bool = False
    ) -> Floats:
        """Expected gain in votes of the moves `which` (default: all), from an image with these margins and worths.

        Each sample's gain is smoothed, so that coming nearer counts as well, unless the `hard` gain is asked for.
        """
        chosen = np.arange(len(self.target)) if which is None else which
        rows = torch.from_numpy(chosen)
        open_ = ~self.measured[rows] & (self.effect[rows] != 0)
        effect = self.effect[rows] + open_ * self.surprise.mean(self.target[chosen], self.item[chosen])[:, None]
        for item, now in self._standing(levels).items():
            mine = torch.from_numpy(self.item[chosen] == item)
            effect[mine] -= self.effect[now]
        return self._gain(effect, self.place[chosen], margins, worth, _HARD if hard else self.soft)

    def losses(self, levels: Ints, margins: Singles, weights: Singles) -> dict[int, float]:
        """By moved item, the weight of samples that is expected to be lost when it goes back."""
        standing = self._standing(levels)
        now = np.array(list(standing.values()), dtype=np.int64)
        lost = -self._gain(-self.effect[torch.from_numpy(now)], self.place[now], margins, weights, self.soft)
        return dict(zip(standing, lost.tolist(), strict=True))

    def _standing(self, levels: Ints) -> dict[int, int]:
        """By moved item the move that describes best where it is."""
        found = {}
        for item in self.menu.moved(levels):
            mine, features = np.flatnonzero(self.item == item), self.menu.features(item)
            if len(mine):
                away = np.abs(self.menu.targets[self.target[mine]][:, features] - levels[features]).sum(axis=1)
                found[item] = int(mine[away.argmin()])
        return found

    def _gain(self, effect: Tensor, place: Ints, margins: Singles, worth: Singles, soft: float) -> Floats:
        """Sum over samples of worth * (s((margin + effect)/soft) - s(margin/soft)), s the logistic function."""
        at = torch.from_numpy(self.where[place])
        now = torch.from_numpy(np.append(margins, np.float32(0)))[at] / soft
        value = torch.from_numpy(np.append(worth, np.float32(0)))[at]
        gain = (torch.sigmoid(now + effect / soft) - torch.sigmoid(now)) * value
        found: Floats = gain.sum(dim=1).double().numpy()
        return found

    # ---- what is learned -------------------------------------------------------------------------------------------

    def learn(self, move: int, levels: Ints, samples: Ints, change: Singles) -> None:
        """A move was tried on an image with these levels: this is what it does to the margins of these samples."""
        at = torch.from_numpy(np.searchsorted(self.where[self.place[move]], samples))
        found, item = torch.from_numpy(change), int(self.item[move])
        if (levels != self.menu.x)[self.menu.features(item)].any():  # beliefs are about moves from the image itself
            found = found + self.effect[self._standing(levels)[item], at]
        new = ~self.measured[move, at]
        self.surprise.add(int(self.target[move]), item, (found - self.effect[move, at])[new].numpy())
        self.effect[move, at] = found
        self.measured[move, at] = True

    def refresh(self, evaluation: Evaluation, levels: Ints, samples: Ints, slopes: Tensor | None) -> None:
        """Believe the gradient [samples, planes, features] at these samples of a changed image.

        What was measured is kept, and what is believed about items that have moved.
        """
        lookup = np.full(evaluation.scheme.samples + 1, -1)
        lookup[samples] = np.arange(len(samples))
        rows, here = lookup[self.where], evaluation.shown(levels, samples)
        rows[np.isin(self.menu.items, self.menu.moved(levels))] = -1
        for target in np.unique(self.target).tolist():
            change = evaluation.shown(self.menu.targets[target], samples) - here
            if slopes is None:
                expected = (change != 0).any(dim=1) * self.soft
            else:
                expected = (slopes * change).sum(dim=1)
            if self.menu.pixels:
                expected = expected.view(len(samples), self.menu.scheme.shape[0], -1).sum(dim=1)
            mine = np.flatnonzero(self.target == target)
            row = rows[self.place[mine]]
            k, at = np.nonzero((row >= 0) & ~self.measured[torch.from_numpy(mine)].numpy())
            item = self.item[mine[k]]
            self.effect[torch.from_numpy(mine[k]), torch.from_numpy(at)] = expected[row[k, at], item].float()
