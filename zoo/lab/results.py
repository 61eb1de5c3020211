"""What the page shows of an accepted formula, as plain data: laws, allocation, design and certified radii.

Every function takes what the controls say and asks the library; what is slow is remembered, so that moving one control
computes only what depends on it. Numbers are floats for pictures, except those of a certificate, which stay exact.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, prod
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.design import Kind
from ecm.errors import ECMError
from zoo.lab.verdict import Points, metric_of

if TYPE_CHECKING:
    from ecm.design import Design

Numbers = tuple[float, ...]

LEVELS = (4, 8, 16, 32, 64, 128, 255, 511, 1023)
LARGEST_BUDGET = 100_000
SHAPES = {"flower": (3, 64, 64), "digit": (1, 8, 8)}
CLASSES = 10
LEAST_SECOND = 112  # thousandths: of nine rivals the strongest has at least a ninth of their votes


@attrs.frozen
class Inputs:
    """The values of the page's controls."""

    formula: str = "z**0.5/18"
    q: int = 255
    budget: int | None = None
    """B; None takes the library's default for the metric."""
    kind: Kind = "aperiodic"
    top: int = 800
    """Votes of the predicted class, in thousandths of B."""
    second: int = 1000
    """Votes of the strongest rival, in thousandths of those that the predicted class does not have."""
    picture: str = "flower"
    first: int = 0
    """The first sample shown."""


# ---- laws ------------------------------------------------------------------------------------------------------------


@attrs.frozen
class ContinuousLaw:
    """The law of Lambda on [0,1]: rows for a table, the density for a picture, and its atoms."""

    rows: tuple[tuple[str, str, str], ...]
    """(part, where, probability)."""
    density: Points
    atoms: tuple[tuple[float, float], ...]
    """(width, probability); infinity is inf."""


@lru_cache(maxsize=64)
def continuous_law(formula: str, q: int) -> ContinuousLaw | None:
    """Return the law of the bin width for real values; None where g is known only at the levels."""
    metric = metric_of(formula, q)
    if metric.grid is not None:
        return None
    law = metric.law()
    data = law.to_dict()
    rows = []
    for part in data["densities"]:
        where = f"{part['lower']} < z < {part['upper']}"
        rows.append((f"density {part['formula']}", where, _both(part["mass"], part["mass_float"])))
    for atom in data["atoms"]:
        where = "∞" if atom["location_float"] is None else atom["location"]
        rows.append(("atom", where, _both(atom["mass"], atom["mass_float"])))
    z = np.linspace(0, 1, 242)[1:-1] ** 2
    density = law.density(z)
    smooth = tuple(zip(z.tolist(), density.tolist(), strict=True)) if data["densities"] else ()
    atoms = tuple((float(atom.location), float(atom.mass)) for atom in law.atoms)
    return ContinuousLaw(tuple(rows), smooth, atoms)


def _both(exact: str, value: float) -> str:
    """Return an exact number with its decimals, or the decimals alone where it is long."""
    short = f"{value:.4g}"
    return short if exact == short or len(exact) > 14 else f"{exact} ≈ {short}"


@lru_cache(maxsize=64)
def quantized_law(formula: str, q: int) -> tuple[tuple[str, float], ...]:
    """Return (width in levels, probability), widths pooled by powers of two, infinity last."""
    return tuple(metric_of(formula, q).quantized(q).rows())


# ---- budget ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def default_budget(formula: str, q: int) -> int:
    """Return the library's default for the metric, in forward passes per image; at most the largest budget of the
    page."""
    from ecm.design import default_budget as default

    metric = metric_of(formula, q)
    top = float(metric.profile.values(q)[-1])
    if top * LARGEST_BUDGET < 1 and not metric.profile.is_zero:
        raise ECMError(
            f"g(1) = {top:.3g} lets less than one of {LARGEST_BUDGET:,} outcomes split two values, and this page goes "
            "up to so many; divide g by less"
        )
    return min(default(metric, q), LARGEST_BUDGET)


@attrs.frozen
class Splits:
    """How often levels k apart are separated, k = 0..q: what g allows and what the outcomes do."""

    budget: int
    g: Numbers
    least: Numbers
    """The smallest share of outcomes that separate a pair at that distance."""
    most: Numbers
    eps: float
    """max_k of g - least."""
    worst: int
    """The distance k at which that is."""
    finite: int
    """Outcomes with dividers; the others show nothing of the feature."""


@lru_cache(maxsize=64)
def allocation(formula: str, q: int, budget: int) -> Splits:
    """Return the optimal periodic allocation: full sets of offsets, as in the paper. Some milliseconds."""
    metric = metric_of(formula, q)
    found = metric.allocate(budget, q)
    share = _floats(found.N / budget)
    g = _floats(metric.profile.values(q))
    return Splits(budget, g, share, share, found.eps, found.worst, budget - found.infinite)


@lru_cache(maxsize=32)
def design(formula: str, q: int, budget: int) -> Splits:
    """Return the aperiodic design; it is searched for, which takes seconds."""
    found = design_of(formula, q, budget, "aperiodic")
    outcomes, g = found.outcomes[0], found.metric.profile.values(q)
    least, most = outcomes.least / budget, outcomes.most / budget
    worst = int((g - least).argmax())
    return Splits(budget, _floats(g), _floats(least), _floats(most), found.eps_max, worst, outcomes.finite)


@lru_cache(maxsize=4)
def design_of(formula: str, q: int, budget: int, kind: Kind) -> Design:
    """Return the design itself."""
    return metric_of(formula, q).design(budget, q, kind)


def _floats(values: NDArray[np.float64]) -> Numbers:
    return tuple(values.tolist())


# ---- radii -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Ball:
    """A certified ball: metric distance at most (`closed`) or below `radius`; None where there is no certificate."""

    method: str
    radius: Fraction | None
    closed: bool
    lp: float | None
    """The l_p radius for g = z**p/alpha (the number of features for l0), rounded down; else None."""
    features: int | None
    """Number of features that may take any values."""


@attrs.frozen
class Radii:
    """What a share of votes certifies, by the certificates that need no more than the counts."""

    votes: tuple[int, int]
    """Votes of the predicted class and of its strongest rival; the rival wins ties."""
    budget: int
    power: tuple[Fraction, Fraction] | None
    """(p, alpha) if g = z**p/alpha."""
    features: int
    """Features of the picture."""
    paper: Ball
    integer: Ball
    curve: Points
    """(share of the predicted class in %, radius by the integer certificate), l_p where there is one."""

    @property
    def here(self) -> float:
        """The radius by the integer certificate, in the unit of the curve; 0 without one."""
        return float((self.integer.lp if self.power is not None else self.integer.radius) or 0)


def counts(budget: int, top: int, second: int) -> tuple[int, ...]:
    """Return votes of ten classes: the rival first, since ties go to the smaller index, then the predicted class, the
    rest.

    >>> counts(1000, top=800, second=500)
    (100, 800, 13, 13, 13, 13, 12, 12, 12, 12)
    """
    own = budget * top // 1000
    others = budget - own
    rival = min(others, ceil(Fraction(others * max(second, LEAST_SECOND), 1000)))
    share, more = divmod(others - rival, CLASSES - 2)
    return (rival, own, *(share + (k < more) for k in range(CLASSES - 2)))


def radii(inputs: Inputs, budget: int) -> Radii:
    """Return the paper's and the integer certificate of an image with these shares of `budget` votes."""
    from smoothing.certificates import Certificate, Tally, integer_radius, paper_radius

    metric, shape = metric_of(inputs.formula, inputs.q), SHAPES[inputs.picture]
    power = metric.power()
    tally = Tally(counts(budget, inputs.top, inputs.second), unsure=0, total=budget)
    wins = tally.prediction == 1

    def ball(method: str, radius: Fraction | None, *, closed: bool) -> Ball:
        found = Certificate(1, method, radius if wins else None, closed, metric, inputs.q, shape)
        lp = found.lp_radius() if power is not None else None
        return Ball(method, found.radius, closed, lp, found.features())

    return Radii(
        (tally.counts[1], tally.counts[0]),
        budget,
        power,
        prod(shape),
        ball("paper", paper_radius(tally), closed=True),
        ball("integer", integer_radius(tally), closed=False),
        _radius_curve(budget, inputs.second, power),
    )


def _radius_curve(budget: int, second: int, power: tuple[Fraction, Fraction] | None) -> Points:
    """Return the integer radius by share, in floats: for the picture alone."""
    points = []
    for top in range(0, 1001, 10):
        rival, own, *_ = counts(budget, top, second)
        radius = ((own - rival + 1) // 2) / budget if own > rival else 0.0
        if power is not None:
            p, alpha = map(float, power)
            radius = (alpha * radius) ** (1 / p) if p else float(np.floor(alpha * radius))
        points.append((top / 10, radius))
    return tuple(points)
