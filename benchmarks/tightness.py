"""Where the gap between attack and certificate comes from.

    python -m benchmarks.tightness
    python -m benchmarks.tightness digits-l0.5-a4 --images 20 --samples 128 --budget 20 --budget 80

Without a model: tiny models of which every input is tried. For each point nearest / certificate says how loose the
bound is, and attack / nearest how weak the attack is.

With a model (spread coupling): images of its test set. There the samples fall into classes, and a feature is shown in
the samples of one class only. In every class all features are moved to both ends, the best move is made, and so on.
This takes many more passes than the attack may spend, and says which share of the votes that a move touches can be
turned at all. The certificate assumes all of them. Columns: certified radius in d; that share, for the best single move
and for the best set of moves in one class; the ratio distance / radius if all moves were as good as that one, or that
set; the ratio of the best combination of classes; and the ratios of attacks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

import numpy as np
import torch

import zoo
from ecm.arrays import Ints, Singles
from smoothing.certificates import Certifier, Rule
from tests.zoo.attacks.worlds import Sandwich, sandwiches, schemes
from zoo.attacks.evaluation import Change, Evaluation
from zoo.attacks.front import SOFT
from zoo.attacks.menu import Menu
from zoo.attacks.rule import Ballots, Goal, Race
from zoo.attacks.search import Search
from zoo.certification import fitting_data, image_order

# ---- tiny models -----------------------------------------------------------------------------------------------------


def summary(rows: Sequence[Sandwich]) -> str:
    """Both ratios of the points that have a certificate and a nearest change."""
    both = [row for row in rows if row.certified > 0 and np.isfinite(row.nearest)]
    loose = np.array([row.nearest / row.certified for row in both])
    weak = np.array([row.found / row.nearest for row in both])
    return (
        f"{len(both)} points: nearest / certificate median {np.median(loose):.2f}; "
        f"the attack is the nearest at {np.mean(weak <= 1.0001):.1%}, within 1.25 of it at {np.mean(weak <= 1.25):.1%}"
    )


def tiny() -> None:
    """Attack the tiny models of all kinds, under both rules."""
    every: list[Sandwich] = []
    for rule in get_args(Rule):
        for kind in schemes():
            rows = list(sandwiches(kind, rule))
            every += rows
            print(f"{kind}, {rule}: {summary(rows)}", flush=True)
    print(f"all: {summary(every)}")


# ---- images ----------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """Moves in one class of samples: their distance in d, and how much nearer they bring the goal, in votes."""

    cost: float
    brings: int


class Greedy:
    """Greedy search in every class of samples, with all features moved to both ends at every step.

    A move is tried on `samples` of the samples that show it, and what is chosen is evaluated at all of them.
    """

    def __init__(self, evaluation: Evaluation, x: Ints, goal: Goal, logits: Singles, samples: int) -> None:
        self.evaluation, self.menu, self.goal, self.logits = evaluation, Menu(evaluation.scheme, x), goal, logits
        self.classes, self.samples = evaluation.scheme.lattice().classes, samples
        self._soft = SOFT * float(np.sqrt(np.square(self._margins(logits)).mean()))
        self.need = self._needed(logits)

    @classmethod
    def against(cls, evaluation: Evaluation, x: Ints, c: int, samples: int) -> Greedy:
        """For the one race that a rival of class c must win in any case, and the rival whose logits are nearest."""
        logits, duel = evaluation.everywhere(x), evaluation.classifier.rule == "runoff"
        rivals = [k for k in range(logits.shape[1]) if k != c]
        rival = max(rivals, key=lambda k: float((logits[:, k] - logits[:, c]).mean()))
        against = (c,) if duel else tuple(k for k in range(logits.shape[1]) if k != rival)
        return cls(evaluation, x, Goal((Race(c, rival, duel),), (rival,), against), logits, samples)

    def _needed(self, logits: Singles) -> int:
        return Ballots(logits, self.evaluation.weights).need(self.goal.races[0])

    def _margins(self, logits: Singles) -> Singles:
        found: Singles = self.goal.margins(torch.from_numpy(logits)).numpy()
        return found

    def _won(self, logits: Singles) -> Singles:
        return np.asarray(0.5 + 0.5 * np.tanh(self._margins(logits) / self._soft / 2), np.float32)

    def steps(self, which: int, moves: int) -> Iterator[Step]:
        """The steps in one class of samples."""
        items = self.menu.items[self.evaluation.showing[self.menu.items, 0] % self.classes == which]
        shown = np.arange(which, self.evaluation.scheme.samples, self.classes)
        few = np.sort(np.random.RandomState(which).permutation(shown)[: self.samples])
        levels, logits = self.menu.x.copy(), self.logits.copy()
        for _ in range(moves):
            changes = [
                self.evaluation.change(levels, np.array([item]), np.array([end]))
                for item in items.tolist()
                for end in (0, self.evaluation.scheme.q)
                if levels[item] == self.menu.x[item] != end
            ]
            tried = [Change(c.features, c.levels, np.intersect1d(c.samples, few)) for c in changes]
            rates = []
            for change, found in zip(tried, self.evaluation.at(levels, tried), strict=True):
                gain = float((self._won(found) - self._won(logits[change.samples])).sum())
                rates.append(gain / (self._after(levels, change) - self.menu.cost(levels)))
            best = changes[int(np.argmax(rates))]
            logits[best.samples] = self.evaluation.at(levels, [best])[0]
            levels[best.features] = best.levels
            yield Step(self.menu.cost(levels), self.need - self._needed(logits))

    def _after(self, levels: Ints, change: Change) -> float:
        moved = levels.copy()
        moved[change.features] = change.levels
        return self.menu.cost(moved)


def cheapest(curves: Sequence[Sequence[Step]], need: int) -> float:
    """The least distance at which the classes together bring what is needed, with some steps of each; inf: never."""
    states = [Step(0.0, 0)]
    for curve in curves:
        joined = sorted(Step(a.cost + b.cost, a.brings + b.brings) for a in states for b in (Step(0.0, 0), *curve))
        states = []
        for state in joined:
            if not states or state.brings > states[-1].brings:
                states.append(state)
    return min((state.cost for state in states if state.brings >= need), default=np.inf)


def images(name: str, *, root: str | None, count: int, samples: int, moves: int, budgets: Sequence[float]) -> None:
    """Print by image, and as medians: certified radius, shares of the touched votes that turn, and ratios."""
    model = zoo.load(name)
    data, smoothed = fitting_data(model, None, root), model.smoothed()
    evaluation, certifier = Evaluation(smoothed), Certifier(model.scheme, model.classes, rule=smoothed.rule)
    names = ["radius", "single", "set", "ideal single", "ideal set", "all tried", *(f"budget {b:g}" for b in budgets)]
    print("\t".join(["image", *names]))
    table = []
    for idx in image_order(len(data.test))[:count].tolist():
        levels = data.test.take([idx])[0].numpy().astype(np.int64)
        ball = certifier(smoothed.rankings(levels[None])[0], levels)
        if not ball.radius or ball.everywhere:
            continue
        x, radius = levels.ravel(), float(ball.radius)
        if moves:
            greedy = Greedy.against(evaluation, x, ball.prediction, samples)
            curves = [list(greedy.steps(which, moves)) for which in range(greedy.classes)]
            rates = [[step.brings / step.cost for step in curve] for curve in curves]
            single, several = max(rate[0] for rate in rates), max(max(rate) for rate in rates)
            most = 2 * model.scheme.samples  # votes per distance that the certificate assumes
            ideal = [greedy.need / rate / radius if rate > 0 else np.inf for rate in (single, several)]
            found = [single / most, several / most, *ideal, cheapest(curves, greedy.need) / radius]
        else:
            found = [np.nan] * 5
        for budget in budgets:
            best = Search(evaluation, x, ball.prediction, budget=int(budget * model.scheme.samples)).run()
            found.append(np.inf if best is None else best.cost / radius)
        table.append([radius, *found])
        print("\t".join([str(idx), *(f"{value:.3f}" for value in table[-1])]), flush=True)
    print("\t".join(["median", *(f"{value:.3f}" for value in np.median(np.array(table), axis=0))]))


def main() -> None:
    """Measure tiny models, or the images of a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="Model whose images are measured; without it: tiny models.")
    parser.add_argument("--data", help="Folder with the data sets.")
    parser.add_argument("--images", type=int, default=4, help="Number of test images.")
    parser.add_argument("--samples", type=int, default=16, help="Samples per class on which every move is tried.")
    parser.add_argument("--moves", type=int, default=4, help="Moves per class of samples; 0: attack only.")
    parser.add_argument("--budget", type=float, action="append", default=[], help="Votes of an attack; repeatable.")
    asked = parser.parse_args()
    if asked.model is None:
        tiny()
    else:
        images(
            asked.model,
            root=asked.data,
            count=asked.images,
            samples=asked.samples,
            moves=asked.moves,
            budgets=asked.budget,
        )


if __name__ == "__main__":
    main()
