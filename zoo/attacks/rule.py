"""How evaluated samples become a prediction, and how far each of them is from helping to change it.

This is all the attack knows about the rule of the smoothed classifier. A *goal* is one way to change the prediction: a
few *races* between two classes, all of which must be won. Another rule needs other goals and nothing else.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple, Protocol

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecm.arrays import Ints, Singles
from smoothing.certificates import Packing, finalists

_OUSTING = 4  # rivals of which any two may keep the winner out of the final


class Race(NamedTuple):
    """Class `second` gets ahead of `first`: by first places, or, in a `duel`, by the samples that rank it higher."""

    first: int
    second: int
    duel: bool = False


@attrs.frozen
class Goal:
    """Races that together change the prediction.

    A sample is *won* if its largest logit among `targets` is above all logits of `against`.
    """

    races: tuple[Race, ...]
    targets: tuple[int, ...]
    against: tuple[int, ...]

    def margins(self, logits: Tensor) -> Tensor:
        """By sample, how far it is won, in logits [samples, classes]; it is won above 0."""
        best = logits[:, list(self.targets)].max(dim=1).values
        return best - logits[:, list(self.against)].max(dim=1).values


class Ballots:
    """What the races count, from the logits [samples, classes] of all samples and their weights."""

    def __init__(self, logits: Singles, weights: Ints) -> None:
        self.logits, self.weights = logits, weights
        self.votes = logits.argmax(axis=1)
        self.counts = np.bincount(self.votes, weights, minlength=logits.shape[1]).astype(np.int64)
        self._places = Packing.of(logits.shape[1]).places

    def above(self, a: int, b: int) -> NDArray[np.bool_]:
        """By sample, whether its ranking has class a above class b, within the places that are kept of it."""
        mine, other = self.logits[:, a], self.logits[:, b]
        found = mine >= other if a < b else mine > other
        return found & (self._place(a) < self._places) if self._places < self.logits.shape[1] else found

    def _place(self, k: int) -> Ints:
        classes = self.logits.shape[1]
        mine = self.logits[:, k, None]
        ahead = (self.logits > mine) | ((self.logits == mine) & (np.arange(classes) < k))
        return np.asarray(ahead.sum(axis=1))

    def lead(self, a: int, b: int) -> int:
        """By how much class a is preferred to class b."""
        return int(self.weights @ (self.above(a, b).astype(np.int64) - self.above(b, a)))

    def need(self, race: Race) -> int:
        """How much `second` must still gain; 0 or less where the race is won. Ties go to the smaller index."""
        a, k, duel = race
        lead = self.lead(a, k) if duel else int(self.counts[a] - self.counts[k])
        return lead + (a < k)

    def worth(self, race: Race) -> Ints:
        """By sample, what it brings to the race when it is won, and takes when it is lost again."""
        a, k, duel = race
        mine = self.votes == k
        if duel:
            return np.asarray(self.weights * 2 * (mine | self.above(a, k)))
        return np.asarray(self.weights * (1 + ((self.votes == a) | mine)))


class Rule(Protocol):
    """What the attack asks of a rule."""

    def prediction(self, logits: Singles) -> int:
        """The smoothed class, from the logits [samples, classes] of all samples."""
        ...

    def goals(self, logits: Singles, c: int) -> list[Goal]:
        """The ways to change the prediction from class c, the one that needs least first."""
        ...

    def need(self, logits: Singles, goal: Goal) -> int:
        """How much must still be gained, over all races that are not won; 0 where the goal is reached."""
        ...

    def worth(self, logits: Singles, goal: Goal) -> Singles:
        """By sample, what it brings to the races that are not won yet."""
        ...

    def value(self, logits: Singles, goal: Goal, rows: Ints, changed: Singles, soft: float) -> float:
        """What the races that are not won gain, smoothed over `soft`, when these rows get the `changed` logits."""
        ...


@attrs.frozen(eq=False)
class _Counted:
    """What both rules share. `weights` [samples] are the integer weights of the samples."""

    weights: Ints

    def need(self, logits: Singles, goal: Goal) -> int:
        """How much must still be gained, over all races that are not won; 0 where the goal is reached."""
        ballots = Ballots(logits, self.weights)
        return sum(max(0, ballots.need(race)) for race in goal.races)

    def worth(self, logits: Singles, goal: Goal) -> Singles:
        """By sample, what it brings to the races that are not won yet."""
        ballots = Ballots(logits, self.weights)
        found = np.zeros(len(logits), np.int64)
        for race in self._open(ballots, goal):
            found += ballots.worth(race)
        return found.astype(np.float32)

    def value(self, logits: Singles, goal: Goal, rows: Ints, changed: Singles, soft: float) -> float:
        """What the races that are not won gain, smoothed over `soft`, when these rows get the `changed` logits."""
        ballots, value = Ballots(logits, self.weights), 0.0
        before, after = (torch.from_numpy(part) / soft for part in (logits[rows], changed))
        weights = self.weights[rows]
        for race in self._open(ballots, goal):
            value += float(weights @ (_standing(after, race) - _standing(before, race)))
        return value

    @staticmethod
    def _open(ballots: Ballots, goal: Goal) -> list[Race]:
        return [race for race in goal.races if ballots.need(race) > 0]

    def _sorted(self, logits: Singles, goals: list[Goal]) -> list[Goal]:
        return sorted(goals, key=lambda goal: self.need(logits, goal))


def _standing(scaled: Tensor, race: Race) -> Singles:
    """By sample, in -1..1: how much it is for the second class of the race rather than the first."""
    a, k, duel = race
    if duel:
        return torch.tanh((scaled[:, k] - scaled[:, a]) / 2).numpy()
    shares = torch.softmax(scaled, dim=1)
    found: Singles = (shares[:, k] - shares[:, a]).numpy()
    return found


@attrs.frozen(eq=False)
class Plurality(_Counted):
    """The class with the largest weight of votes; ties go to the smaller index, as in `SmoothedClassifier.predict`.

    >>> rule = Plurality(np.array([1, 1, 1]))
    >>> logits = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0]], np.float32)
    >>> rule.prediction(logits), [(goal.targets, rule.need(logits, goal)) for goal in rule.goals(logits, 0)]
    (0, [((1,), 1), ((2,), 1)])
    """

    def prediction(self, logits: Singles) -> int:
        """The smoothed class, from the logits [samples, classes] of all samples."""
        return int(Ballots(logits, self.weights).counts.argmax())

    def goals(self, logits: Singles, c: int) -> list[Goal]:
        """By rival: it overtakes class c."""
        classes = range(logits.shape[1])
        found = [Goal((Race(c, k),), (k,), _without(classes, k)) for k in classes if k != c]
        return self._sorted(logits, found)


@attrs.frozen(eq=False)
class Runoff(_Counted):
    """Of the two classes with most votes the one that more samples rank higher, as in `SmoothedClassifier.predict`.

    The goals are the events of `smoothing.certificates.runoff`: a rival reaches the final and wins it, or two rivals
    keep class c out of the final.

    >>> rule = Runoff(np.array([1, 1, 1, 1, 1]))
    >>> logits = np.array([[2, 1, 0], [2, 1, 0], [1, 2, 0], [1, 2, 0], [0, 1, 2]], np.float32)
    >>> rule.prediction(logits)
    1
    >>> [(goal.targets, goal.against, rule.need(logits, goal)) for goal in rule.goals(logits, 1)[:2]]
    [((0,), (1,), 1), ((2,), (0, 1), 2)]
    """

    def prediction(self, logits: Singles) -> int:
        """The smoothed class, from the logits [samples, classes] of all samples."""
        ballots = Ballots(logits, self.weights)
        a, b = finalists(ballots.counts.tolist())
        return a if ballots.lead(a, b) >= 0 else b

    def goals(self, logits: Singles, c: int) -> list[Goal]:
        """By rival: it wins the final. By pair of rivals: both overtake class c."""
        ballots, classes = Ballots(logits, self.weights), range(logits.shape[1])
        rivals, found = sorted(set(classes) - {c}, key=lambda k: (-ballots.counts[k], k)), []
        for k in rivals:
            third = next((j for j in rivals if j != k), None)  # the strongest one stands in the way of the final
            races = (Race(c, k, duel=True), *([] if third is None else [Race(third, k)]))
            reaches = all(ballots.need(race) <= 0 for race in races[1:])
            # A sample that ranks k first helps k in both rounds; a finalist needs no more than to be above c.
            found.append(Goal(races, (k,), (c,) if reaches else _without(classes, k)))
        for pair in combinations(rivals[:_OUSTING], 2):
            races = tuple(Race(c, k) for k in pair)
            behind = tuple(race.second for race in races if ballots.need(race) > 0) or pair
            found.append(Goal(races, behind, _without(classes, *behind)))
        return self._sorted(logits, found)


def _without(classes: range, *out: int) -> tuple[int, ...]:
    return tuple(k for k in classes if k not in out)
