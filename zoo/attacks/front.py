"""What the attack believes about its moves for one goal: by sample, how much each move brings it nearer.

The belief starts as the gradient of the base under the noise times the change that the sample would see, and is
replaced by the measured effect wherever a move was tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from ecm.arrays import Ints
    from zoo.attacks.evaluation import Evaluation
    from zoo.attacks.menu import Menu
    from zoo.attacks.rule import Floats, Goal

_KEPT = 512  # candidate moves that are followed for a goal
_NUMBERS = 1 << 23  # effects that are computed at once
SOFT = 0.5  # a sample counts as half won when its margin is within this share of the spread of all margins


class Front:
    """Candidate moves for `goal`: `target`, `place` (in `menu.items`) [moves], `effect` [samples, moves].

    `effect` is the expected change of the goal's margin in a sample when the item goes from where it is to its target.
    """

    def __init__(self, menu: Menu, goal: Goal, moves: tuple[Ints, Ints], effect: Tensor, soft: float) -> None:
        self.menu, self.goal, self.soft = menu, goal, soft
        (self.target, self.place), self.effect = moves, effect
        self.measured = torch.zeros_like(effect, dtype=torch.bool)

    def copy(self) -> Front:
        """The same beliefs, to be changed on their own."""
        twin = Front(self.menu, self.goal, (self.target, self.place), self.effect.clone(), self.soft)
        twin.measured = self.measured.clone()
        return twin

    def gains(self, margins: Floats, worth: Floats) -> NDArray[np.float64]:
        """Expected gain of every move in votes: each sample's is smoothed, so that coming nearer counts as well."""
        return soft_gain(self.effect, torch.from_numpy(margins), torch.from_numpy(worth), self.soft).numpy()

    def learn(self, move: int, samples: Ints, change: Floats) -> None:
        """A move was tried: this is what it really does to the margins of these samples (and nothing to others)."""
        rows = torch.from_numpy(samples)
        self.effect[rows, move] = torch.from_numpy(change)
        self.measured[rows, move] = True

    def refresh(self, evaluation: Evaluation, levels: Ints, samples: Ints) -> None:
        """Take the gradient anew at these samples, where the image has changed; keep what was measured."""
        if not len(samples):
            return
        _, slopes = evaluation.gradients(levels, samples, [self.goal])
        if not bool(slopes.any()):
            return
        here, rows = evaluation.shown(levels, samples), torch.from_numpy(samples)
        for target in np.unique(self.target).tolist():
            mine = np.flatnonzero(self.target == target)
            change = evaluation.shown(self.menu.targets[target], samples) - here
            found = _by_item(self.menu, (slopes[0] * change).sum(dim=1))[:, torch.from_numpy(self.place[mine])]
            at = torch.meshgrid(rows, torch.from_numpy(mine), indexing="ij")
            self.effect[at] = torch.where(self.measured[at], self.effect[at], found)


def soft_gain(effect: Tensor, margins: Tensor, worth: Tensor, soft: float) -> Tensor:
    """Sum over samples of worth * (s((margin + effect)/soft) - s(margin/soft)), s the logistic function."""
    now = margins[:, None] / soft
    return ((torch.sigmoid(now + effect / soft) - torch.sigmoid(now)) * worth[:, None]).sum(dim=0).double()


def fronts(evaluation: Evaluation, menu: Menu, goals: list[Goal]) -> tuple[Floats, list[Front]]:
    """Logits [samples, classes] of the image itself, and a front for each goal with the best moves by gradient."""
    samples = np.arange(evaluation.scheme.samples)
    step = max(1, _NUMBERS // (len(menu.targets) * len(menu.items) * len(goals)))
    table = [torch.empty((len(menu.targets), len(samples), len(menu.items)), dtype=torch.float16) for _ in goals]
    logits = []
    for start in range(0, len(samples), step):
        part = samples[start : start + step]
        out, slopes = evaluation.gradients(menu.x, part, goals)
        logits.append(out)
        here = evaluation.shown(menu.x, part)
        for v, target in enumerate(menu.targets):
            change = evaluation.shown(target, part) - here
            for r in range(len(goals)):
                effect = (slopes[r] * change).sum(dim=1)
                if not bool(slopes[r].any()):  # no gradient: hope that every touched sample comes a little nearer
                    effect = (change != 0).any(dim=1) * _spread(goals[r].margins(torch.from_numpy(out)))
                table[r][v, start : start + len(part)] = _by_item(menu, effect).half()
    every = np.concatenate(logits)
    made = []
    for r, goal in enumerate(goals):
        margins = goal.margins(torch.from_numpy(every))
        worth = torch.from_numpy(evaluation.rule.worth(every, goal))
        soft = _spread(margins)
        scores = torch.stack([soft_gain(effect.float(), margins, worth, soft) for effect in table[r]]).numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(menu.prices > 0, scores / menu.prices, -np.inf)
        best = np.argsort(-rate, axis=None, kind="stable")[:_KEPT]
        best = best[np.isfinite(rate.ravel()[best])]
        target, place = np.unravel_index(best, rate.shape)
        effect = torch.stack([table[r][v, :, p] for v, p in zip(target, place, strict=True)], dim=1).float()
        made.append(Front(menu, goal, (target, place), effect, soft))
    return every, made


def _spread(margins: Tensor) -> float:
    return max(1e-6, SOFT * float(margins.std())) if len(margins) > 1 else 1.0


def _by_item(menu: Menu, effect: Tensor) -> Tensor:
    """Sums over the features of every item of the menu, [samples, items] of [samples, features]."""
    if menu.pixels:
        effect = effect.view(len(effect), menu.scheme.shape[0], -1).sum(dim=1)
    return effect[:, torch.from_numpy(menu.items)]
