"""The continuous law of the bin width Lambda that makes the split probability equal to g."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import attrs
import numpy as np
import sympy
from numpy.typing import ArrayLike

from ecm.arrays import Floats
from ecm.errors import ECMError
from ecm.formula import Z, floats
from ecm.law.inverse import inverse_of
from ecm.law.mixture import Atom, Density, Parts, as_text, cdf_inside, density_inside, parts_of
from ecm.metric import FormulaProfile, Profile
from ecm.proof import Piece

Function = Callable[[Floats], Floats]

U = sympy.Symbol("u", positive=True)

_FEW = 1024  # quantiles that are bisected one by one


@attrs.frozen(repr=False, slots=False, eq=False)
class Law:
    """Lambda in {0} u (0, 1] u {inf}, such that x and y at distance z fall in different bins with probability g(z).

    Density -z g''(z) where g is smooth, atoms z0 (g'(z0-) - g'(z0+)) at kinks, g'(1-) at 1, g(0+) at 0, 1 - g(1) at
    infinity (Levine & Feizi 2022, theorem on ECMs). Integration by parts gives the distribution function without an
    integral: P(Lambda <= z) = g(z) - z g'(z+) for z < 1. Widths are parts of [0,1], not levels.

    >>> print(Law.of(Profile.from_expr("z**0.5/18")))
    Lambda for g(z) = z**(1/2)/18
      density  1/(72*sqrt(z)) on (0, 1), mass 1/36 = 1/36 * Beta(1/2, 1)
      atom     1/36 at 1
      atom     17/18 at inf
    """

    profile: FormulaProfile
    pieces: tuple[Piece, ...]
    """The smooth pieces of g, covering (0, 1] in order."""

    @classmethod
    def of(cls, profile: Profile) -> Law:
        """Return the law of one component; a profile known only on a grid has none."""
        if profile.grid is not None or not isinstance(profile, FormulaProfile):
            raise ECMError(
                f"g is known only at k/{profile.grid}, so Lambda has no continuous law; "
                f"write .quantized({profile.grid}) for the law on that grid"
            )
        return cls(profile, profile.pieces())

    # ---- symbolic --------------------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> Parts:
        return parts_of(self.pieces, self.start)

    @cached_property
    def start(self) -> sympy.Expr:
        """g(0+), the probability that Lambda = 0."""
        return self.profile.jump

    @property
    def densities(self) -> tuple[Density, ...]:
        """The smooth parts, in order, those of mass 0 (where g is linear) left out."""
        return self._parts.densities

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The widths of positive probability, ascending, infinity last."""
        return self._parts.atoms

    @property
    def split_formula(self) -> sympy.Expr:
        """g on (0, 1], in the symbol z."""
        return _joined([(p.right.number, p.expr) for p in self.pieces])

    @property
    def cdf_formula(self) -> sympy.Expr:
        """P(Lambda <= z) for 0 < z < 1, in the symbol z."""
        both = zip(self.pieces, self._parts.rising, strict=True)
        return _joined([(piece.right.number, rising) for piece, rising in both])

    def quantile_formula(self) -> sympy.Expr | None:
        """Return the quantile function in the symbol u, or None where no closed form is at hand (see `inverse`).

        >>> Law.of(Profile.from_expr("sqrt(z)")).quantile_formula()
        Piecewise((4*u**2, u <= 1/2), (1, True))
        """
        cases: list[tuple[sympy.Expr, sympy.Expr]] = []  # (width, up to this u)
        for piece, rising in zip(self.pieces, self._parts.rising, strict=True):
            a, b = piece.left.number, piece.right.number
            cases.append((a, self.start if a == 0 else rising.subs(Z, a)))
            if rising.has(Z):
                inverse = inverse_of(rising, U, a, b)
                if inverse is None:
                    return None
                cases.append((inverse, rising.subs(Z, b)))
        cases += [(sympy.Integer(1), self.pieces[-1].expr.subs(Z, 1)), (sympy.oo, sympy.Integer(1))]
        kept, reached = [], sympy.Integer(0)
        for width, bound in cases:
            if (bound - reached).evalf(30).is_positive:
                kept.append((width, bound))
                reached = bound
        return sympy.Piecewise(*((width, bound >= U) for width, bound in kept[:-1]), (kept[-1][0], True))

    # ---- numeric ---------------------------------------------------------------------------------------------------

    @cached_property
    def _ends(self) -> Floats:
        return np.array([float(piece.right) for piece in self.pieces])

    @cached_property
    def _functions(self) -> tuple[tuple[Function, Function], ...]:
        """(distribution function, density) of each piece on float arrays."""
        return tuple((partial(cdf_inside, p.expr), partial(density_inside, p.expr)) for p in self.pieces)

    @cached_property
    def _inverses(self) -> tuple[tuple[float, float, float, Function], ...]:
        """The lower end of each piece, P(Lambda <= z) at both of its ends, and the quantile function between them."""
        powers = {d.lower: d.power for d in self.densities}
        found = []
        for piece, (function, density) in zip(self.pieces, self._functions, strict=True):
            lower, upper = float(piece.left), float(piece.right)
            low = float(self.start) if lower == 0 else float(function(np.array([lower]))[0])
            high = float(function(np.array([upper]))[0])
            power = powers.get(piece.left.number)
            if power is None:
                inverse = partial(_invert, function, density, (lower, upper))
            else:
                factor, p = map(float, power)
                inverse = partial(_root, factor=factor, p=p, low=low, lower=lower, upper=upper)
            found.append((lower, low, high, inverse))
        return tuple(found)

    @cached_property
    def _density_functions(self) -> tuple[Function, ...]:
        """The formulas of the densities on float arrays; where they are only named, the derivatives of g in floats."""
        by_jets: Function = partial(self._by_piece, which=1)
        return tuple(
            by_jets if part.formula.has(sympy.Derivative) else partial(floats, part.formula) for part in self.densities
        )

    def _by_piece(self, z: Floats, which: int) -> Floats:
        out = np.zeros(z.shape)
        index = np.searchsorted(self._ends, z, side="right")
        for i, functions in enumerate(self._functions):
            here = index == i
            if here.any():
                out[here] = functions[which](z[here])
        return out

    def density(self, z: ArrayLike) -> Floats:
        """Return the density of the smooth part at z in (0, 1); 0 elsewhere. Atoms are in `atoms`."""
        points = np.asarray(z, dtype=np.float64)
        inside = (points > 0) & (points < 1)
        return np.where(inside, self._by_piece(np.where(inside, points, 0.5), 1), 0.0)

    def cdf(self, z: ArrayLike) -> Floats:
        """Return P(Lambda <= z) = g(z) - z g'(z+); 1 only at z = inf if g(1) < 1.

        >>> Law.of(Profile.from_expr("sqrt(z)/2")).cdf([0, 0.25, 1, np.inf])
        array([0.   , 0.125, 0.5  , 1.   ])
        """
        points = np.asarray(z, dtype=np.float64)
        start, top = float(self.start), float(self.profile(1.0))
        inside = (points > 0) & (points < 1)
        value = np.clip(self._by_piece(np.where(inside, points, 0.5), 0), start, top)
        value = np.where(inside, value, np.where(points < 0, 0.0, np.where(points == 0, start, top)))
        return np.where(points == np.inf, 1.0, value)

    def quantile(self, u: ArrayLike) -> Floats:
        """Return the smallest width z with P(Lambda <= z) >= u, for u in [0, 1].

        >>> Law.of(Profile.from_expr("sqrt(z)/2")).quantile([0.125, 0.25, 0.3, 0.75])
        array([0.25, 1.  , 1.  ,  inf])
        """
        level = np.asarray(u, dtype=np.float64)
        if level.size and not (level.min() >= 0 and level.max() <= 1):
            raise ECMError(f"u spans {level.min()}..{level.max()}: a quantile is asked at probabilities in [0, 1]")
        width = np.where(level <= float(self.profile(1.0)), 1.0, np.inf)
        for lower, low, high, inverse in reversed(self._inverses):
            inside = (level > low) & (level <= high)
            width[inside] = inverse(level[inside])
            width[level <= low] = lower
        return width

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Return independent widths, inf included, by inversion.

        >>> Law.of(Profile.from_expr("sqrt(z)/2")).sample(np.random.default_rng(0), (2, 3)).shape
        (2, 3)
        """
        return self.quantile(1.0 - rng.random(size))

    def split(self, z: ArrayLike) -> Floats:
        """Return the probability that two points at distance z in [0,1] fall in different bins: g(z)."""
        return np.asarray(self.profile(np.asarray(z, dtype=np.float64)), dtype=np.float64)

    def integrated_split(self, z: float) -> float:
        """Return split(z) by definition, P(Lambda <= z) + z E[1{z < Lambda <= 1}/Lambda], density and atoms by
        quadrature.

        Independent of the identities above, so comparing it with `split` can fail. About 1e-12 where the density is no
        steeper at 0 than z**(-0.9).
        """
        total = 0.0
        for part, function in zip(self.densities, self._density_functions, strict=True):
            a, b = float(part.lower), float(part.upper)
            middle = min(max(z, a), b)
            total += _integral(function, a, middle)
            total += z * _integral(partial(_over, function), middle, b)
        for atom in self.atoms:
            place, mass = float(atom.location), float(atom.mass)
            if z > 0 and place < np.inf:
                total += mass if place <= z else mass * z / place
        return total

    # ---- look ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; numbers are exact text with a float beside it."""
        return {
            "g": self.profile.text,
            "densities": [
                {
                    "formula": as_text(d.formula),
                    "lower": as_text(d.lower),
                    "upper": as_text(d.upper),
                    "mass": as_text(d.mass),
                    "mass_float": float(d.mass),
                    "name": d.name,
                }
                for d in self.densities
            ],
            "atoms": [
                {
                    "location": as_text(a.location),
                    "location_float": None if a.location == sympy.oo else float(a.location),
                    "mass": as_text(a.mass),
                    "mass_float": float(a.mass),
                }
                for a in self.atoms
            ],
        }

    def to_json(self) -> str:
        """Return densities and atoms as JSON text."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        lines = [f"Lambda for g(z) = {self.profile.text}"]
        lines += [f"  density  {density}" for density in self.densities]
        return "\n".join([*lines, *(f"  atom     {atom}" for atom in self.atoms)])

    def __repr__(self) -> str:
        return f"Law.of({self.profile!r})"


def _joined(cases: list[tuple[sympy.Expr, sympy.Expr]]) -> sympy.Expr:
    if len(cases) == 1:
        return cases[0][1]
    return sympy.Piecewise(*((f, b > Z) for b, f in cases[:-1]), (cases[-1][1], True))


def _over(function: Function, z: Floats) -> Floats:
    return function(z) / z


def _root(level: Floats, *, factor: float, p: float, low: float, lower: float, upper: float) -> Floats:
    """Return the z in (lower, upper] with low + integral from lower to z of factor*z**(p - 1) = level, elementwise."""
    root: Floats = np.clip((lower**p + (level - low) * p / factor) ** (1 / p), lower, upper)
    return root


def _invert(function: Function, density: Function, ends: tuple[float, float], level: Floats) -> Floats:
    """Return the z between the ends with function(z) = level, elementwise; `density` is the derivative of the function.

    Few levels are bisected. Many are bracketed by some that are, and approached by Newton steps within the bracket;
    those that do not arrive are bisected after all.
    """
    if level.size <= _FEW:
        return _bisect(function, *ends, level)
    known = np.linspace(level.min(), level.max(), _FEW)
    knots = _bisect(function, *ends, known)
    right = np.clip(np.searchsorted(known, level), 1, _FEW - 1)
    low, high = knots[right - 1], knots[right]
    z = np.interp(level, known, knots)
    for _ in range(3):
        step = (function(z) - level) / density(z)
        z = np.clip(np.where(np.isfinite(step), z - step, z), low, high)
    missed = ~(np.abs(function(z) - level) <= 1e-14)
    z[missed] = _bisect(function, *ends, level[missed])
    return z


def _bisect(function: Function, lower: float, upper: float, level: Floats) -> Floats:
    """Return the smallest float z in (lower, upper] with function(z) >= level, for an increasing function, elementwise.

    Floats >= 0 are ordered as their bits are, so halving bits takes 62 steps to full relative precision.
    """
    low = np.full(level.shape, lower).view(np.int64)
    high = np.full(level.shape, upper).view(np.int64)
    while bool((high - low > 1).any()):
        middle = low + (high - low) // 2
        below = function(middle.view(np.float64)) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high.view(np.float64)


def _integral(function: Function, lower: float, upper: float) -> float:
    """Integrate by tanh-sinh quadrature, exact to rounding for smooth functions; lower = 0 may be singular."""
    if lower >= upper:
        return 0.0
    step = 1 / 32
    t = np.arange(-5.4, 5.4, step)  # reaches down to 1e-150 of the interval
    part = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    rest = 1 / (1 + np.exp(np.pi * np.sinh(t)))
    weight = part * rest * np.pi * np.cosh(t) * step * (upper - lower)
    value = function(lower + (upper - lower) * part)
    return float(np.sum(np.where(weight > 0, weight * value, 0.0)))
