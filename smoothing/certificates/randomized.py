"""Randomized mode for real-valued inputs: independent draws of the continuous law, and a confidence.

Everything else in this package is deterministic. Here bins are drawn at random, independently for every feature, the
class shares are estimated from n draws, and a certificate fails with probability at most `beta`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import attrs
import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecm.arrays import Floats
from ecm.errors import ECMError
from smoothing.certificates.roots import root_below
from smoothing.errors import InputError, VoteError

if TYPE_CHECKING:
    from ecm import ECM

Base = Callable[[Floats, Floats], ArrayLike]

ABSTAIN = -1
_OUTWARD = 1e-9  # more than the error of SciPy's beta quantiles, much less than their width


@attrs.frozen
class RandomizedCertificate:
    """With probability >= 1 - `beta` over the draws, every y with d(x, y) < `radius` has class `prediction`.

    `prediction` is ABSTAIN (-1), and the radius 0.0, if the draws do not support any claim. `lower` bounds the share
    of the prediction from below, `difference` is the largest probability D of seeing another input that is harmless.

    >>> from ecm import ECM
    >>> found = RandomizedCertificate(1, 0.25, difference=0.25, lower=0.75, beta=0.001, metric=ECM.lp("1/2", 2))
    >>> found.lp_radius()  # just below (2 * 0.25)**2
    0.24999999999999997
    """

    prediction: int
    radius: float
    difference: float
    lower: float
    beta: float
    metric: ECM = attrs.field(repr=str)

    def lp_radius(self) -> float:
        """Return (alpha r)**(1/p) for g = z**p/alpha, rounded down: every y with ||x - y||_p <= that is certified."""
        power = self.metric.power()
        if power is None or power[0] == 0:
            raise ECMError(f"g = {self.metric} is not z**p/alpha with p > 0: it has no l_p radius, use `radius`")
        if math.isinf(self.radius):
            return math.inf
        return root_below(power[1] * Fraction(self.radius), 1 / power[0], strict=True)


@attrs.frozen(slots=False)
class RandomizedSmoothing:
    """g(x) = the class that base(lower, upper) gives most often, over random bins around x.

    `base` takes two float64 arrays [batch, *x.shape], the ends of the bins, and gives a class index for every row.

    >>> from ecm import ECM
    >>> bright = lambda lower, upper: (lower + upper).mean(axis=1) > 1
    >>> smooth = RandomizedSmoothing(bright, classes=2, metric=ECM.lp("1/2", 2))
    >>> found = smooth.certify(np.full(50, 0.9), n0=100, n=1000, beta=0.001, seed=1)
    >>> found.prediction, 0.4 < found.difference < 0.5
    (1, True)
    """

    base: Base = attrs.field(repr=False)
    classes: int
    metric: ECM

    def certify(
        self,
        x: ArrayLike,
        n0: int,
        n: int,
        beta: float,
        *,
        batch_size: int = 256,
        seed: int = 0,
        against: Literal["half", "rivals"] = "half",
    ) -> RandomizedCertificate:
        """Choose the class on n0 draws, bound its share on n others, and turn the bound into a radius.

        "half": safe while D < L - 1/2, with L the Clopper-Pearson bound at level beta. "rivals": one bound for the
        class and one for every rival, each at level beta/C, safe while D < min over k of (L - U_k)/2.
        """
        self._require(beta, n0, n, batch_size)
        if against not in ("half", "rivals"):
            raise ECMError(f"against = {against!r}: write 'half' or 'rivals'")
        point = _point(x)
        rng = np.random.default_rng(seed)
        chosen = int(np.argmax(self.counts(point, n0, batch_size, rng)))
        counts = self.counts(point, n, batch_size, rng)
        if against == "half":
            lower = lower_bound(int(counts[chosen]), n, beta)
            difference = lower - 0.5
        else:
            level = beta / self.classes
            lower = lower_bound(int(counts[chosen]), n, level)
            rivals = [upper_bound(int(c), n, level) for k, c in enumerate(counts) if k != chosen]
            difference = min((lower - min(u, 1 - lower)) / 2 for u in rivals)
        if difference <= 0:
            return RandomizedCertificate(ABSTAIN, 0.0, 0.0, lower, beta, self.metric)
        radius = radius_of(difference, self.metric, point.shape)
        return RandomizedCertificate(chosen, radius, difference, lower, beta, self.metric)

    def predict(self, x: ArrayLike, n: int, beta: float, batch_size: int = 256, seed: int = 0) -> int:
        """Return the most frequent class, or ABSTAIN unless it beats the second at level beta (two-sided binomial
        test)."""
        from scipy.stats import binomtest

        self._require(beta, n, batch_size)
        counts = self.counts(_point(x), n, batch_size, np.random.default_rng(seed))
        second, first = (int(k) for k in np.argsort(counts, kind="stable")[-2:])
        test = binomtest(int(counts[first]), int(counts[first] + counts[second]), 0.5)
        return first if test.pvalue <= beta else ABSTAIN

    def _require(self, beta: float, *sizes: int) -> None:
        if wrong := [size for size in sizes if isinstance(size, bool) or not isinstance(size, int | np.integer)]:
            raise ECMError(f"draws and batches of {wrong[0]!r}: write whole numbers, such as 100")
        if not 0 < beta < 1 or min(sizes) < 1 or self.classes < 2:
            raise ECMError(
                f"beta = {beta}, draws and batches of {', '.join(map(str, sizes))}, {self.classes} classes: write "
                "0 < beta < 1, sizes of 1 or more, and two classes or more"
            )

    def counts(self, x: Floats, n: int, batch_size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how often each class was given in n draws."""
        counts = np.zeros(self.classes, dtype=np.int64)
        for start in range(0, n, batch_size):
            lower, upper = self.draw(x, min(batch_size, n - start), rng)
            answer = np.asarray(self.base(lower, upper))
            # Cut off, a probability would be a vote for class 0
            if answer.shape != (len(lower),) or not np.isin(answer, np.arange(self.classes)).all():
                raise VoteError(
                    f"the base gave {answer.dtype} of shape {answer.shape} for {len(lower)} rows; it must give one "
                    f"class 0..{self.classes - 1} a row: take the argmax of probabilities or scores"
                )
            counts += np.bincount(answer.astype(np.int64), minlength=self.classes)
        return counts

    def draw(self, x: Floats, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the ends (lower, upper) of `size` random bins around x, [size, *x.shape], clipped to [0, 1]."""
        flat = x.ravel()
        component = self.metric.component_of(x.shape)
        width = np.empty((size, len(flat)))
        for c, law in enumerate(self._laws):
            mine = np.flatnonzero(component == c)
            width[:, mine] = law.sample(rng, (size, len(mine)))
        phase = rng.random(width.shape)
        # Where Lambda is 0 the bin is the point itself, where it is infinite the bin is [0, 1].
        finite = (width > 0) & np.isfinite(width)
        step = np.where(finite, width, 1.0)
        lower = (np.floor(flat / step - phase) + phase) * step
        upper = lower + step
        lower = np.where(finite, np.clip(lower, 0, 1), np.where(width == 0, flat, 0.0))
        upper = np.where(finite, np.clip(upper, 0, 1), np.where(width == 0, flat, 1.0))
        return lower.reshape(size, *x.shape), upper.reshape(size, *x.shape)

    @cached_property
    def _laws(self) -> list[Any]:
        return [self.metric[c].law() for c in range(len(self.metric.components))]


def lower_bound(successes: int, n: int, beta: float) -> float:
    """Return the one-sided Clopper-Pearson bound: the probability is at least this, with confidence 1 - beta.

    >>> round(lower_bound(990, 1000, 0.001), 3)
    0.976
    """
    from scipy.stats import beta as law

    return max(0.0, float(law.ppf(beta, successes, n - successes + 1)) - _OUTWARD) if successes else 0.0


def upper_bound(successes: int, n: int, beta: float) -> float:
    """Return the mirror image of `lower_bound`."""
    return 1.0 - lower_bound(n - successes, n, beta)


def radius_of(difference: float, metric: ECM, shape: tuple[int, ...]) -> float:
    """Return the largest r such that d(x, y) < r implies P(the draws differ) < difference, for independent features.

    P = 1 - prod_i (1 - g_i). At a given distance the worst y is concentrated: features go all the way, those with the
    largest g_i(1) first, and one goes part of it. So there is no gain over `difference` while r <= g(1), and a real
    one for large alpha. Ball arithmetic, rounded down.

    >>> from ecm import ECM
    >>> radius_of(0.25, ECM.l0(2), (9,)), round(radius_of(0.4375, ECM.l0(4), (9,)), 9)
    (0.25, 0.5)
    """
    component = metric.component_of(shape)
    with flint.ctx.workprec(128):
        tops = [(profile.ball(1, 1), int((component == c).sum())) for c, profile in enumerate(metric.components)]
        tops.sort(key=lambda top: -float(top[0].mid()))
        keep, radius, target = flint.arb(1), flint.arb(0), 1 - flint.arb(difference)
        for top, count in tops:
            for _ in range(count):
                if not keep * (1 - top) > target:  # this feature only goes part of the way
                    rest = 1 - target / keep
                    return _down(radius + (rest if rest < top else top))
                keep, radius = keep * (1 - top), radius + top
    return math.inf


def _down(value: flint.arb) -> float:
    """Return a double below the ball, the nearest one where the ball is that narrow."""
    guess = float(value.mid())
    while not flint.arb(guess) <= value:
        guess = math.nextafter(guess, 0)
    return guess


def _point(x: ArrayLike) -> Floats:
    point = np.asarray(x, dtype=np.float64)
    if not point.size or not (point.min() >= 0 and point.max() <= 1):
        raise InputError("x must be a non-empty array of numbers in [0, 1], without NaN")
    return point
