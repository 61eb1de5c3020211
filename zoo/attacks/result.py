"""What an attack found: one row per image, and the sandwich of certified radius and attack distance."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from ecm.errors import ECMError
from ecm.number import Exact, exact
from smoothing.certificates import Certificate, root_below
from zoo.certification import Accuracy, Unit
from zoo.frames import text_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smoothing import Scheme


@attrs.frozen
class Attacked:
    """One image: its certified ball, and the nearest input found that changes the smoothed prediction.

    `distance` is an upper bound on the metric distance d of that input (the distance itself where it is rational);
    None if no such input was found. `turned` is the class that the input gets, `changes` are its differing features,
    as (index of the feature in C,H,W order, new level). `passes` counts passes through the base.

    >>> from ecm import ECM
    >>> ball = Certificate(3, "integer", Fraction(1, 6), False, ECM.l1(2), q=4, shape=(3,))
    >>> row = Attacked(7, 3, ball, Fraction(1, 2), 5, ((1, 4),), passes=160, seconds=0.1)
    >>> row.ratio, row.adversarial(np.array([0, 0, 2])).tolist()
    (3.0, [0, 4, 2])
    """

    idx: int
    label: int
    ball: Certificate
    distance: Fraction | None
    turned: int | None
    changes: tuple[tuple[int, int], ...]
    passes: int
    seconds: float

    @property
    def predict(self) -> int:
        """The smoothed prediction of the image itself."""
        return self.ball.prediction

    @property
    def correct(self) -> bool:
        """Whether the prediction of the image itself is its label."""
        return self.predict == self.label

    @property
    def ratio(self) -> float | None:
        """Attack distance over certified radius, both in d; None without one of them."""
        if self.distance is None or not self.ball.radius or self.ball.everywhere:
            return None
        return float(self.distance / self.ball.radius)

    def adversarial(self, levels: NDArray[Any]) -> NDArray[Any]:
        """The input that was found, from the levels of the image."""
        changed = np.array(levels)
        for feature, level in self.changes:
            changed.flat[feature] = level
        return changed


@attrs.frozen(repr=False)
class Attack:
    """The rows of an attack and what can be counted from them.

    `budget` is in votes per image: that many times `scheme.samples` passes through the base.

    >>> from tempfile import TemporaryDirectory
    >>> import zoo
    >>> with TemporaryDirectory() as out:
    ...     found = zoo.attack("digits-l0.5-a4", limit=2, budget=6, out=out, progress=False)
    >>> found.images, found.accuracy(0).correct >= found.certified_accuracy(0).correct
    (2, True)
    """

    model: str
    data: str
    split_size: int
    scheme: Scheme
    rows: tuple[Attacked, ...]
    certificate: str
    budget: float
    seed: int
    folder: Path

    @property
    def images(self) -> int:
        """Number of attacked images."""
        return len(self.rows)

    @property
    def unit(self) -> Unit:
        """What radii mean here."""
        return Unit.of(self.scheme.metric, pixel=self.scheme.pixel)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Attack distance over certified radius, in d, for the images that have both; smallest first."""
        return tuple(sorted(row.ratio for row in self.rows if row.ratio is not None))

    @property
    def _every_ratio(self) -> list[float]:
        """Of all images with a certificate; an image without a successful attack counts as infinite."""
        certified = [row for row in self.rows if row.ball.radius and not row.ball.everywhere]
        return [math.inf if row.ratio is None else row.ratio for row in certified]

    @property
    def median_ratio(self) -> float | None:
        """The median over all images with a certificate; an image without a successful attack counts as infinite."""
        return median(self._every_ratio) if self._every_ratio else None

    @property
    def ratio_quartiles(self) -> list[float | None]:
        """The lower and the upper quartile over the same images; None if infinite."""
        if not self._every_ratio:
            return [None, None]
        found = np.quantile(self._every_ratio, [0.25, 0.75], method="inverted_cdf").tolist()
        return [value if math.isfinite(value) else None for value in found]

    def distance_of(self, row: Attacked) -> float:
        """The attack distance in `unit`, rounded up; inf where nothing was found."""
        return above(self.unit, row.distance)

    def certified_accuracy(self, radius: Exact) -> Accuracy:
        """Attacked images that are certified to keep the right class within `radius` (in `unit`)."""
        r = _radius(radius)
        return Accuracy(sum(row.correct and self.unit.covers(row.ball, r) for row in self.rows), self.images)

    def accuracy(self, radius: Exact) -> Accuracy:
        """Accuracy under attack: images that are right and for which no input within `radius` was found that is not.

        The true robust accuracy lies between `certified_accuracy` and this.
        """
        r = _radius(radius)
        return Accuracy(sum(row.correct and not within(self.unit, row.distance, r) for row in self.rows), self.images)

    def summary(self) -> dict[str, Any]:
        """The totals as plain data."""
        ratios = self.ratios
        return {
            "data": self.data,
            "images": self.images,
            "of": self.split_size,
            "certificate": self.certificate,
            "budget": self.budget,
            "seed": self.seed,
            "certified_images": sum(row.ball.exists for row in self.rows),
            "changed": sum(row.distance is not None for row in self.rows),
            "median_ratio": self.median_ratio,
            "ratio_quartiles": self.ratio_quartiles,
            "least_ratio": ratios[0] if ratios else None,
            "mean_changed_features": float(np.mean([len(row.changes) for row in self.rows if row.changes] or [0])),
            "mean_passes": float(np.mean([row.passes for row in self.rows])) if self.rows else None,
            "radius_unit": self.unit.name,
            "accuracy": [
                {
                    "radius": str(r),
                    "certified": self.certified_accuracy(r).share,
                    "under_attack": self.accuracy(r).share,
                }
                for r in (self.unit.grid() if self.rows else ())
            ],
        }

    def __repr__(self) -> str:
        if not self.rows:
            return f"{self.model}: no image of {self.data} has been attacked yet"
        found, middle = self.summary(), self.median_ratio
        radii = self.unit.grid()
        rows = {"certified": self.certified_accuracy, "under attack": self.accuracy}
        columns = ([f"{float(r):g}", *(f"{100 * at(r).share:.1f}" for at in rows.values())] for r in radii)
        lines = [
            f"{self.model}: {self.images} of {self.split_size} test images of {self.data}, attacked with "
            f"{self.budget:g} x B passes per image",
            f"  prediction changed  {found['changed']} images",
            "  attack distance / certified radius (in d), median  " + ("-" if middle is None else f"{middle:.2f}"),
            f"  accuracy (%) by {self.unit.name}",
            *text_table(["", *rows], columns),
        ]
        return "\n".join(lines)


def above(unit: Unit, distance: Fraction | None) -> float:
    """A metric distance in the unit, rounded up to a double: (alpha d)**(1/p) where g = z**p/alpha.

    >>> from ecm import ECM
    >>> above(Unit.of(ECM.lp("1/2", 18)), Fraction(1, 18)), above(Unit.of(ECM.l0(18)), Fraction(2, 18))
    (1.0, 2.0)
    """
    if distance is None:
        return math.inf
    base, exponent = distance, Fraction(1)
    if unit.power is not None:
        p, alpha = unit.power
        base, exponent = alpha * distance, 1 / p if p else Fraction(1)
    below = root_below(base, exponent, strict=False)
    return (
        below
        if Fraction(below) ** exponent.denominator == base**exponent.numerator
        else math.nextafter(below, math.inf)
    )


def within(unit: Unit, distance: Fraction | None, radius: Fraction) -> bool:
    """Whether a metric distance is at most this radius in the unit, decided in fractions."""
    if distance is None:
        return False
    if unit.power is None:
        return distance <= radius
    p, alpha = unit.power
    return alpha * distance <= radius if p == 0 else (alpha * distance) ** p.denominator <= radius**p.numerator


def _radius(radius: Exact) -> Fraction:
    r = exact(radius, "radius")
    if r < 0:
        raise ECMError(f"radius = {r}: write a radius >= 0")
    return r
