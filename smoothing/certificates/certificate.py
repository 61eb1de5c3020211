"""What a certificate says: a class that no point of a ball around x can change, with the radius kept exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

import attrs
import flint
import numpy as np
from numpy.typing import ArrayLike

from ecm.errors import ECMError
from smoothing.certificates.roots import root_below
from smoothing.certificates.rule import Rule
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from ecm import ECM
    from ecm.metric import Profile
    from smoothing.scheme import Scheme

Threat = Literal["features", "pixels"]
RUNOFF_METHODS = ("runoff", "runoff_vote_aware")
COST_SCALE = 1 << 40
_PRECISIONS = (64, 256, 1024, 4096)


@attrs.frozen
class Certificate:
    """Every y in the ball around x is given the class `prediction`.

    `radius` is a distance in `metric`, exact; the ball is {y : d(x,y) <= radius} if `closed`, {y : d(x,y) < radius}
    otherwise. None means that there is NO certificate (x itself may flip): less than a closed ball of radius 0.
    `everywhere` means that no point at all gets another class; the radius is then an upper bound of all distances.

    `threat` says how distances add up: "features", d = sum_i g_i(|x_i - y_i|), or "pixels", where the channels of a
    pixel share their outcomes and changing one pixel costs min(g(1), sum over its channels of g).

    `multipliers` and `scale` are what a vote-aware certificate needs to be checked again: for every rival that was
    examined the integer m of the dual bound, in units of 1/`scale` a vote (None: that rival can never win). `races` is
    the same for a run-off: (kind, class, class, m) for every race that was priced.

    >>> from ecm import ECM
    >>> from fractions import Fraction
    >>> ball = Certificate(3, "integer", Fraction(1, 6), False, ECM.lp("1/2", 6), q=255, shape=(3, 8, 8))
    >>> ball.covers(Fraction(1, 6)), ball.covers(Fraction(1, 7))
    (False, True)
    >>> ball.lp_radius()  # the open ball of l_1/2 radius (6 * 1/6)**2 = 1
    0.9999999999999999
    >>> print(ball)
    class 3 for every y with d(x, y) < 1/6, that is within l_1/2 radius 0.9999
    """

    prediction: int
    method: str
    radius: Fraction | None
    closed: bool
    metric: ECM = attrs.field(repr=str)
    q: int
    shape: tuple[int, ...]
    threat: Threat = "features"
    everywhere: bool = False
    multipliers: tuple[tuple[int, int | None], ...] = attrs.field(default=(), repr=False)
    scale: int = attrs.field(default=1, repr=False)
    races: tuple[tuple[str, int, int, int | None], ...] = attrs.field(default=(), repr=False)

    def __str__(self) -> str:
        """The class and where it holds; an l_p radius is cut, not rounded, so that it is never too large."""
        if self.everywhere or self.radius is None:
            return f"class {self.prediction} " + ("for every input" if self.everywhere else "without a certificate")
        held = f"class {self.prediction} for every y with d(x, y) {'<=' if self.closed else '<'} {self.radius}"
        power = self.metric.power()
        if power is None or self.threat == "pixels":
            return held
        if power[0] == 0:
            return f"{held}, that is with any {self.features()} features changed"
        whole, part = divmod(math.floor(Fraction(self.lp_radius() or 0.0) * 10_000), 10_000)
        return f"{held}, that is within l_{power[0]} radius {whole}.{part:04d}"

    @property
    def rule(self) -> Rule:
        """The rule of the smoothed classifier whose class is certified."""
        return "runoff" if self.method in RUNOFF_METHODS else "plurality"

    @property
    def exists(self) -> bool:
        """Whether there is a certificate at all."""
        return self.radius is not None

    @property
    def strength(self) -> tuple[bool, Fraction, bool]:
        """Sorts certificates of one image and one threat by inclusion of their balls; absent ones come first."""
        return (False, Fraction(-1), False) if self.radius is None else (self.everywhere, self.radius, self.closed)

    def covers(self, distance: int | Fraction) -> bool:
        """Return whether points at exactly this metric distance are certified."""
        if self.radius is None:
            return False
        return self.everywhere or (distance <= self.radius if self.closed else distance < self.radius)

    # ---- points ----------------------------------------------------------------------------------------------------

    def contains(self, x: ArrayLike, y: ArrayLike) -> bool:
        """Return whether the levels y lie in the ball around the levels x, in the metric this certificate is about.

        Decided exactly where all g(k/q) are rational, otherwise by ball arithmetic of growing precision; a distance
        that cannot be told from the radius at 4096 bits counts as outside.
        """
        moves = self._moves(self._gap(x, y))
        if self.radius is None or self.everywhere:
            return self.everywhere
        exact = self._exact_distance(moves)
        if exact is not None:
            return self.covers(exact)
        radius = flint.fmpq(self.radius.numerator, self.radius.denominator)
        for precision in _PRECISIONS:
            with flint.ctx.workprec(precision):
                distance = self._ball_distance(moves)
                if distance < radius:
                    return True
                if distance > radius:
                    return False
        return False

    def distance(self, x: ArrayLike, y: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return bounds low <= d(x, y) <= high on the distance of two inputs (levels), in the metric and threat of this
        certificate; both are the distance itself where all g(k/q) are rational.

        >>> from ecm import ECM
        >>> ball = Certificate(3, "integer", Fraction(1, 6), False, ECM.lp("1/2", 6), q=4, shape=(2,))
        >>> [str(bound) for bound in ball.distance([0, 2], [1, 2])]
        ['1/12', '1/12']
        """
        moves = self._moves(self._gap(x, y))
        exact = self._exact_distance(moves)
        if exact is not None:
            return exact, exact
        with flint.ctx.workprec(_PRECISIONS[1]):
            ball = self._ball_distance(moves)
            return _fraction(ball.lower()), _fraction(ball.upper())

    def _gap(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        given = np.asarray(x), np.asarray(y)
        if any(v.size != math.prod(self.shape) or v.dtype.kind not in "iu" for v in given):
            raise ECMError(f"x and y have shapes {given[0].shape}, {given[1].shape}: give integer levels {self.shape}")
        a, b = (v.astype(np.int64).reshape(self.shape) for v in given)
        if min(a.min(), b.min()) < 0 or max(a.max(), b.max()) > self.q:
            raise ECMError(
                f"x and y must be levels 0..{self.q}; they span {min(a.min(), b.min())}..{max(a.max(), b.max())}"
            )
        return np.asarray(np.abs(a - b))

    def _moves(self, gap: np.ndarray) -> Counter[tuple[tuple[int, int], ...]]:
        """Return how often each combination of (component, levels moved) occurs in one item: a feature, or a pixel."""
        component = self.metric.component_of(self.shape).reshape(self.shape)
        both = np.stack([component.ravel(), gap.ravel()], axis=1).reshape(1, -1, 2)
        if self.threat == "pixels":
            both = both.reshape(self.shape[0], -1, 2)
        items = both[:, both[:, :, 1].any(axis=0)].swapaxes(0, 1).tolist()
        return Counter(tuple(sorted((c, k) for c, k in item if k)) for item in items)

    def _exact_distance(self, moves: Counter[tuple[tuple[int, int], ...]]) -> Fraction | None:
        total = Fraction(0)
        for item, times in moves.items():
            values = [self.metric.components[c].rational(k, self.q) for c, k in item]
            top = self.metric.components[item[0][0]].rational(self.q, self.q)
            if top is None or any(v is None for v in values):
                return None
            cost = sum((v for v in values if v is not None), Fraction(0))
            total += times * (min(top, cost) if self.threat == "pixels" else cost)
        return total

    def _ball_distance(self, moves: Counter[tuple[tuple[int, int], ...]]) -> flint.arb:
        total = flint.arb(0)
        for item, times in moves.items():
            cost = sum((self.metric.components[c].ball(k, self.q) for c, k in item), flint.arb(0))
            if self.threat == "pixels":
                cost = cost.min(self.metric.components[item[0][0]].ball(self.q, self.q))
            total += times * cost
        return total

    # ---- other units -----------------------------------------------------------------------------------------------

    def lp_radius(self) -> float | None:
        """Return the largest double rho such that every y with ||x - y||_p <= rho is certified, for g = z**p/alpha.

        That is (alpha r)**(1/p) rounded down, strictly below it if the ball is open. None: no certificate.
        For g = sign(z)/alpha the number of features.
        """
        power = self.metric.power()
        if power is None:
            raise ECMError(f"g = {self.metric} is not z**p/alpha: it has no l_p radius, use the metric's own `radius`")
        p, alpha = power
        if self.radius is None or self.everywhere:
            return math.inf if self.everywhere else None
        if p == 0:
            return float(self.features() or 0)
        return root_below(alpha * self.radius, 1 / p, strict=not self.closed)

    def covers_lp(self, rho: int | Fraction) -> bool:
        """Return whether every y with ||x - y||_p <= rho is certified, for g = z**p/alpha, decided in integers."""
        power = self.metric.power()
        if power is None:
            raise ECMError(f"g = {self.metric} is not z**p/alpha: it has no l_p radius, use `covers`")
        p, alpha = power
        if self.radius is None or self.everywhere:
            return self.everywhere
        if p == 0:
            return rho < (self.features() or 0) + 1
        left, right = Fraction(rho) ** p.numerator, (alpha * self.radius) ** p.denominator
        return left <= right if self.closed else left < right

    def l1_to_lp(self, p: Fraction | int | str) -> float | None:
        """Return the l_p radius (0 < p <= 1) that follows from this l1 certificate: max(r, r**(1/p)), r the l1 radius.

        The baseline: ||v||_1 <= ||v||_p always, and ||v||_1 <= ||v||_p**p inside [0,1]^n. Rounded down.
        """
        exponent, power = Fraction(p), self.metric.power()
        if power is None or power[0] != 1 or not 0 < exponent <= 1:
            raise ECMError(f"g = {self.metric}, p = {p}: the conversion starts from g = z/alpha and needs 0 < p <= 1")
        if self.radius is None or self.everywhere:
            return math.inf if self.everywhere else None
        radius = power[1] * self.radius
        return root_below(radius, max(Fraction(1), 1 / exponent) if radius > 1 else Fraction(1), strict=not self.closed)

    def features(self, among: Sequence[int] | None = None) -> int | None:
        """Return how many features may take any values: the largest n with n * max_i g_i(1) inside the ball.

        With `among`, only the features with these numbers change: any n of them, including the most expensive ones.

        >>> from ecm import ECM
        >>> columns = ECM.grouped(["sign(z)/8", "sign(z)/4", "sign(z)"], groups=[0, 0, 1, 2])
        >>> ball = Certificate(0, "paper", Fraction(3, 8), True, columns, q=9, shape=(4,))
        >>> ball.features(), ball.features(among=[0, 1, 2]), ball.features(among=[0, 1])
        (0, 2, 2)
        """
        if among is None:
            return self._count([[profile] for profile in self.metric.components], math.prod(self.shape))
        if self.radius is None:
            return None
        if self.everywhere:
            return len(among)
        tops = [_top([profile], self.q) for profile in self.metric.components]
        component = self.metric.component_of(self.shape)
        spent, count = Fraction(0), 0
        for cost in sorted((tops[component[i]] for i in among), reverse=True):
            spent += cost
            if not self.covers(spent):
                break
            count += 1
        return count

    def reach(self, feature: int) -> int | None:
        """Return by how many levels one feature alone may change: the largest k with g(k/q) inside the ball.

        >>> from ecm import ECM
        >>> Certificate(0, "paper", Fraction(1, 4), True, ECM.lp("1/2", 2), q=16, shape=(3,)).reach(1)
        4
        """
        if self.radius is None:
            return None
        low, high = 0, self.q + 1  # moving by `low` levels stays in the ball, by `high` it does not
        zero = np.zeros(self.shape, dtype=np.int64)
        while high - low > 1:
            moved = zero.copy()
            moved.flat[feature] = (low + high) // 2
            low, high = ((low + high) // 2, high) if self.contains(zero, moved) else (low, (low + high) // 2)
        return low

    def pixels(self) -> int | None:
        """Return how many pixels may take any values at all (a pixel: all features that share every index but the
        first).

        A pixel costs g(1) under the pixel threat, the sum of its channels' g(1) otherwise.
        """
        if len(self.shape) < 2:
            raise ECMError(f"shape {self.shape} has no pixels: they need a channel axis and one more")
        if self.threat == "pixels":
            channels = [self.metric.components[0]]
        else:
            channels = [self.metric.components[c] for c in self.metric.groups or [0] * self.shape[0]]
        return self._count([channels], math.prod(self.shape[1:]))

    def _count(self, items: list[list[Profile]], most: int) -> int | None:
        """Return the largest n <= most such that n times the cost of any one item (a list of profiles) stays in the
        ball."""
        if self.radius is None:
            return None
        if self.everywhere:
            return most
        count = most
        for profiles in items:
            top = _top(profiles, self.q)
            if top > 0:
                n = math.floor(self.radius / top)
                count = min(count, n if self.closed or n * top < self.radius else n - 1)
        return max(count, 0)


def check_threat(threat: object, scheme: Scheme) -> None:
    """Raise VoteError unless a certificate under this scheme may speak of this threat."""
    if threat not in get_args(Threat):
        raise VoteError(f"threat = {threat!r} is unknown; write one of {', '.join(get_args(Threat))}")
    if threat == "pixels" and not scheme.pixel:
        raise VoteError("threat = 'pixels' needs a scheme whose channels share offsets: Scheme(..., pixel=True)")


def _top(profiles: list[Profile], q: int) -> Fraction:
    """Return the sum of g(1) over the profiles, or a bound close above it: an irrational sum never meets a rational
    radius."""
    known = [profile.rational(q, q) for profile in profiles]
    if None not in known:
        return sum((v for v in known if v is not None), Fraction(0))
    return sum((Fraction(int(g.floors(COST_SCALE, q)[-1]) + 1, COST_SCALE) for g in profiles), Fraction(0))


def _fraction(value: flint.arb) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
