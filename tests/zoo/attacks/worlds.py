"""Tiny smoothed classifiers of which every input can be tried, so that the nearest change is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ecm import ECM
from smoothing import BruteForce, Certifier, Scheme, SmoothedClassifier
from smoothing.certificates import Rule
from zoo.attacks.evaluation import Evaluation
from zoo.attacks.menu import Menu
from zoo.attacks.search import Search


def schemes() -> dict[str, Scheme]:
    """Small schemes of every kind: metrics, components, couplings, pixels."""
    root, log = ECM.lp("1/2", 2), ECM.log1p(5, 2)
    return {
        "features": Scheme(root.design(24, q=4), (4,)),
        "independent": Scheme(root.design(24, q=4), (4,), coupling="independent"),
        "permutation": Scheme(log.design(24, q=4), (4,), coupling="permutation"),
        "global": Scheme(ECM.l1(2).design(24, q=4, kind="periodic"), (4,), coupling="global"),
        "components": Scheme(ECM.grouped([root, "0", log, ECM.l0(3)]).design(24, q=4), (4,)),
        "l0": Scheme(ECM.l0(4).design(24, q=4), (4,)),
        "pixels": Scheme(ECM.lp("1/2", 3).design(24, q=3), (2, 3), pixel=True),
        "pixels l0": Scheme(ECM.l0(3).design(24, q=3), (2, 3), pixel=True),
    }


def classifier(scheme: Scheme, seed: int, rule: Rule = "plurality", classes: int = 3) -> SmoothedClassifier:
    """A small random network."""
    torch.manual_seed(seed)
    base = nn.Sequential(nn.Flatten(), nn.Linear(2 * scheme.features, 16), nn.ReLU(), nn.Linear(16, classes))
    with torch.no_grad():
        for parameter in base.parameters():
            parameter.mul_(4)
        # No class should win everywhere: then there would be nothing to attack.
        base[-1].bias -= base(torch.rand(256, 2 * scheme.features)).mean(dim=0)
    return SmoothedClassifier(base, scheme, classes=classes, rule=rule)


class World:
    """All points of a small scheme with their smoothed classes: the nearest change is found by going through them."""

    def __init__(self, scheme: Scheme, seed: int, rule: Rule = "plurality", classes: int = 3) -> None:
        self.smoothed = classifier(scheme, seed, rule, classes)
        self.points = BruteForce(scheme).points
        self.classes = self.smoothed.predict(self.points.reshape(-1, *scheme.shape))
        self.certifier = Certifier(scheme, classes, rule=rule)

    def ball(self, x: int) -> Any:
        levels = self.points[x].reshape(self.smoothed.scheme.shape)
        return self.certifier(self.smoothed.rankings(levels[None])[0], levels)

    def nearest(self, x: int) -> float:
        menu = Menu(self.smoothed.scheme, self.points[x])
        other = np.flatnonzero(self.classes != self.classes[x])
        return min((menu.cost(self.points[y]) for y in other), default=np.inf)


class Sandwich(NamedTuple):
    """Distances of one point: certified (0: not at all), of the nearest change (inf: there is none), and found."""

    certified: float
    nearest: float
    found: float


def sandwiches(kind: str, rule: Rule, seeds: int = 2, points: int = 4, budget: int = 960) -> Iterator[Sandwich]:
    """Attack a few points of the worlds of a kind with `budget` passes; what is reported is checked on the way."""
    scheme = schemes()[kind]
    for seed in range(seeds):
        world = World(scheme, seed, rule, classes=3 + (rule == "runoff"))
        evaluation = Evaluation(world.smoothed)
        for x in np.random.RandomState(seed).choice(len(world.points), points, replace=False).tolist():
            ball = world.ball(x)
            best = Search(evaluation, world.points[x], ball.prediction, budget=budget).run()
            if best is not None:
                flat = best.levels.reshape(1, *scheme.shape)
                assert world.smoothed.predict(flat)[0] != ball.prediction
            certified = np.inf if ball.everywhere else float(ball.radius or 0)
            yield Sandwich(certified, world.nearest(x), np.inf if best is None else best.cost)
