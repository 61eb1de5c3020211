"""The unit of a run's radii, and which radii a table shows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from ecm.errors import ECMError
from smoothing.certificates import Certificate, root_below

if TYPE_CHECKING:
    from ecm import ECM
    from smoothing import Scheme


@attrs.frozen
class Unit:
    """The unit of radii: l_p where g = z**p/alpha, changed features or pixels for l0, else metric distance.

    `converted` is the p of l_p radii that follow from l1 certificates (the baseline for fractional p). `alone` is the
    metric of the columns of a table that may change, where the others are free or immutable.
    """

    name: str
    power: tuple[Fraction, Fraction] | None
    converted: Fraction | None = None
    alone: ECM | None = attrs.field(default=None, eq=False, repr=False)

    @classmethod
    def under(cls, scheme: Scheme) -> Unit:
        """Return the unit of certificates under this scheme; the features of a table are its columns.

        >>> from ecm import ECM
        >>> from smoothing import Scheme
        >>> roles = ECM.grouped(["sign(z)/4", "sign(z)", "0"], groups=[0, 0, 1, 2])  # two columns may change
        >>> Unit.under(Scheme(roles.design(4, q=3), shape=(4,))).name
        'changed columns'
        """
        found = cls.of(scheme.metric, pixel=scheme.pixel)
        if len(scheme.shape) > 1:
            return found
        alone = _alone(scheme.metric, scheme.q)
        found = found if alone is None else cls.of(alone)
        name = "changed columns" if found.name == "changed features" else found.name
        return attrs.evolve(found, name=name, alone=alone)

    @classmethod
    def of(cls, metric: ECM, *, pixel: bool = False) -> Unit:
        """
        >>> from ecm import ECM
        >>> Unit.of(ECM.lp("1/2", 18)).name, Unit.of(ECM.from_expr("1 - exp(-z)")).name
        ('l_1/2 radius', 'metric distance')
        """
        power = metric.power()
        if power is None:
            return cls("metric distance", None)
        if power[0] == 0:
            return cls("changed pixels" if pixel else "changed features", power)
        return cls(f"l_{power[0]} radius", power)

    def to_lp(self, p: Fraction) -> Unit:
        """Return the unit in which an l1 run is compared with l_p runs.

        >>> from ecm import ECM
        >>> Unit.of(ECM.l1(18)).to_lp(Fraction(1, 2)).name
        'l_1/2 radius'
        """
        if self.power is None or self.power[0] != 1 or not 0 < p <= 1:
            raise ECMError(f"{self.name} to l_{p}: only l1 radii follow, and only for 0 < p <= 1")
        return attrs.evolve(self, name=f"l_{p} radius", converted=p)

    def covers(self, ball: Certificate, radius: Fraction) -> bool:
        """Return whether every point at this distance or nearer lies in the ball; exact, for open balls too.

        For converted units: ||v||_1 is at most ||v||_p, and at most ||v||_p**p since all differences are at most 1.
        """
        ball = self._plain(ball)
        if self.converted is not None and self.power is not None and ball.radius is not None:
            left, right = radius**self.converted.numerator, (self.power[1] * ball.radius) ** self.converted.denominator
            inside = left <= right if ball.closed else left < right
            return ball.everywhere or inside or ball.covers_lp(radius)
        return ball.covers(radius) if self.power is None else ball.covers_lp(radius)

    def _plain(self, ball: Certificate) -> Certificate:
        """Return the ball in the metric of the columns that may change: cut to radius 1, below which no other one
        changes."""
        if self.alone is None or ball.radius is None or ball.everywhere:
            return ball
        smaller = attrs.evolve(ball, radius=Fraction(1), closed=False) if ball.radius >= 1 else ball
        return attrs.evolve(smaller, metric=self.alone)

    def radius(self, ball: Certificate) -> float:
        """Return the largest double that the ball covers: sound to compare with `>=`. nan: no certificate; inf: no
        limit."""
        if ball.radius is None:
            return math.nan
        if ball.everywhere:
            return math.inf
        if self.power is None:
            return root_below(ball.radius, Fraction(1), strict=not ball.closed)
        ball = self._plain(ball)
        found = ball.lp_radius() if self.converted is None else ball.l1_to_lp(self.converted)
        return math.nan if found is None else found

    def grid(self, steps: int = 10) -> tuple[Fraction, ...]:
        """Round radii from 0 to what a unanimous vote gives by the paper's formula, d = 1/2, in at most `steps` steps.

        It depends on the metric alone, so that runs with one metric are tabulated at the same radii.

        >>> from ecm import ECM
        >>> [str(r) for r in Unit.of(ECM.lp("1/2", 18)).grid()]
        ['0', '10', '20', '30', '40', '50', '60', '70', '80']
        >>> [str(r) for r in Unit.of(ECM.l0(1)).grid()]
        ['0']
        """
        most = 0.5
        if self.power is not None:
            p, alpha = float(self.converted or self.power[0]), float(self.power[1])
            most = (alpha / 2) ** (1 / p) if p else alpha / 2
        unit = Fraction(10) ** (math.floor(math.log10(most)) - 1)
        sizes = (unit * ten * step for ten in (1, 10, 100) for step in (1, Fraction(2), Fraction(5, 2), 5))
        whole = self.power is not None and self.power[0] == 0
        step = next(s for s in sizes if most / s <= steps and (not whole or s.denominator == 1))
        return tuple(step * k for k in range(math.floor(most / step) + 1))


def _alone(metric: ECM, q: int) -> ECM | None:
    """Return the one g of the columns that may change, where the others are free (g = 0) or immutable (g(1/q) = 1);
    else None.

    No ball of radius 1 or less holds a point where an immutable column is changed, and free columns cost nothing: such
    a ball is one in the columns that may change.
    """
    kept = [profile for profile in metric.components if not profile.is_zero and profile.floors(1, q)[1] < 1]
    return metric[metric.components.index(kept[0])] if len(kept) == 1 < len(metric.components) else None
