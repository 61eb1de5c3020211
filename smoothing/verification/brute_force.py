"""Soundness by enumeration: on a small space every point, every voting function one likes, every jitter."""

from __future__ import annotations

from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Bools, Ints
from smoothing.certificates import Certificate, Codes, pack_orders

if TYPE_CHECKING:
    from smoothing.scheme import Scheme

_SCALE = 1 << 40
UNSURE = 255


@attrs.frozen(slots=False, eq=False)
class BruteForce:
    """All (q+1)^n points of a small scheme, and what the base classifier is shown at each of them.

    A voting function is an array `f` [inputs] of classes (255: UNSURE), one entry for every different (lower, upper)
    that can be shown at all: any such array is a possible base classifier, and nothing else is.

    >>> from smoothing import Scheme
    >>> world = BruteForce(Scheme.l1(1, shape=(2,), q=2))
    >>> len(world.points), world.shown.shape, world.inputs
    (9, (2, 9), 8)
    """

    scheme: Scheme

    @cached_property
    def points(self) -> Ints:
        """Every point, [(q+1)^n, n]."""
        axes = np.meshgrid(*[np.arange(self.scheme.q + 1)] * self.scheme.features, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)

    @cached_property
    def shown(self) -> Ints:
        """Which of the different inputs is shown, [samples, points]."""
        scheme, base = self.scheme, (2 * self.scheme.q + 1) ** 2
        key = np.zeros((scheme.samples, len(self.points)), dtype=np.int64)
        for feature in range(scheme.features):
            lower, upper = scheme.rows(int(scheme.component[feature]))
            ids = np.minimum(scheme.outcome(feature, np.arange(scheme.samples)), len(lower) - 1)
            code = lower.astype(np.int64)[ids] * (2 * scheme.q + 1) + upper[ids]
            key = key * base + code[:, self.points[:, feature]]
        return np.unique(key, return_inverse=True)[1].reshape(key.shape)

    @property
    def inputs(self) -> int:
        """How many different inputs there are."""
        return int(self.shown.max()) + 1

    def votes(self, f: Ints, x: int) -> NDArray[np.uint8]:
        """Return the votes at the point number x."""
        return f[self.shown[:, x]].astype(np.uint8)

    def worst(self, f: Ints, x: int, rival: int) -> Ints:
        """Return the voting function that agrees with f on all that is shown at x, and gives everything else to the
        rival."""
        worst = np.full(self.inputs, rival, dtype=np.int64)
        worst[self.shown[:, x]] = f[self.shown[:, x]]
        return worst

    def predictions(self, f: Ints, classes: int, jitter: int) -> Ints:
        """Return the smoothed class of every point when all unsure votes fall to the class `jitter`."""
        votes = np.where(f == UNSURE, jitter, f)[self.shown]
        weights = np.ones(len(votes), np.int64) if self.scheme.weights is None else self.scheme.weights
        counts = np.stack([weights @ (votes == k) for k in range(classes)])
        return np.asarray(np.argmax(counts, axis=0), dtype=np.int64)

    # ---- run-off: a ranking for every input -------------------------------------------------------------------------

    def rankings(self, ranks: Ints, x: int) -> Codes:
        """Return the packed rankings at the point number x of a ranking function: for every input that can be shown the
        rank of every class, [inputs, classes]; classes of one rank are too close to call."""
        here = ranks[self.shown[:, x]]
        order = np.argsort(here, axis=1, kind="stable")
        ranked = np.take_along_axis(here, order, axis=1)
        return pack_orders(order, ranked[:, 1:] == ranked[:, :-1])

    def worst_rankings(self, ranks: Ints, x: int, *orders: Ints) -> Ints:
        """Return the ranking function that agrees with `ranks` on all that is shown at x, and has these orders (best
        first) by turns everywhere else."""
        worst = np.stack([np.argsort(order) for order in orders])[np.arange(self.inputs) % len(orders)]
        worst[self.shown[:, x]] = ranks[self.shown[:, x]]
        return worst

    def runoff_predictions(self, ranks: Ints, jitter: Ints, points: Ints | Bools | None = None) -> Ints:
        """Return the class of every point (or of these) by a run-off; classes of one rank are ordered as in `jitter`,
        best first."""
        shown, classes = self.shown if points is None else self.shown[:, points], ranks.shape[1]
        place = np.argsort(np.argsort(ranks * classes + np.argsort(jitter), axis=1), axis=1)
        weights = np.ones(self.scheme.samples, np.int64) if self.scheme.weights is None else self.scheme.weights
        counts = np.stack([weights @ (place[:, k] == 0)[shown] for k in range(classes)])
        # the two largest counts, the smaller index first among equals
        last = np.sort(np.argsort(-counts, axis=0, kind="stable")[:2], axis=0)
        found = np.zeros(shown.shape[1], dtype=np.int64)
        for a, b in {tuple(pair) for pair in last.T.tolist()}:
            these = (last[0] == a) & (last[1] == b)
            first = weights @ (place[:, a] < place[:, b])[shown[:, these]]
            found[these] = np.where(2 * first >= self.scheme.total, a, b)
        return found

    def runoff_counterexample(self, certificate: Certificate, ranks: Ints, x: int) -> Ints | None:
        """Return a point of the ball that gets another class by a run-off under some order of all near-ties, or None.

        Orders that put the certified class last among near-ties do most against it."""
        inside, c = np.flatnonzero(self.inside(certificate, x)), certificate.prediction
        others = [k for k in range(ranks.shape[1]) if k != c]
        near = bool((np.diff(np.sort(ranks)) == 0).any())
        for order in permutations(others) if near else [others]:
            wrong = self.runoff_predictions(ranks, np.array([*order, c]), inside) != c
            if wrong.any():
                return np.asarray(self.points[inside[np.argmax(wrong)]])
        return None

    # ---- balls ------------------------------------------------------------------------------------------------------

    def inside(self, certificate: Certificate, x: int) -> Bools:
        """Return which points lie in the certified ball around the point x, [points]."""
        if certificate.radius is None or certificate.everywhere:
            return np.full(len(self.points), certificate.everywhere)
        scheme, gap = self.scheme, np.abs(self.points - self.points[x])
        floors = np.stack(scheme.metric.floors(_SCALE, scheme.q))
        costs = floors[scheme.component, gap].reshape(len(gap), scheme.shape[0], -1)
        if certificate.threat == "pixels":
            least = np.minimum(costs.sum(axis=1), floors[0, -1]).sum(axis=1)
        else:
            least = costs.sum(axis=(1, 2))
        # The true distance lies in [least, least + n] / scale; only where that does not decide is it worked out.
        radius = int(certificate.radius * _SCALE)
        inside = least + scheme.features < radius
        for y in np.flatnonzero(~inside & (least <= radius + 1)):
            inside[y] = certificate.contains(self.points[x], self.points[y])
        return np.asarray(inside, dtype=np.bool_)

    def counterexample(self, certificate: Certificate, f: Ints, x: int, classes: int) -> Ints | None:
        """Return a point of the ball that gets another class than the certified one under some jitter, or None."""
        inside = self.inside(certificate, x)
        for jitter in range(classes) if (f == UNSURE).any() else [0]:
            wrong = inside & (self.predictions(f, classes, jitter) != certificate.prediction)
            if wrong.any():
                return np.asarray(self.points[np.argmax(wrong)])
        return None
