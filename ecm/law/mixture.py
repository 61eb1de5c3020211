"""The parts of the law of Lambda, densities and atoms: exact for formulas of moderate size, floats otherwise."""

from __future__ import annotations

from math import lcm
from typing import NamedTuple

import attrs
import numpy as np
import sympy
from sympy import Expr

from ecm.arrays import Floats
from ecm.errors import Undecided
from ecm.formula import Z, derivative, jet, size
from ecm.proof import Piece

_NOTHING = 1e-24  # a mass below this is none: the pieces join smoothly (kinks without a closed form have 30 digits)
_NOTHING_IN_FLOATS = 1e-12
_MOST_PARTS = 600  # of a derivative that is written down; sympy's own steps have no time limit, so sizes bound them
_MOST_PARTS_NICER = 80  # of a formula that is also written in other forms


@attrs.frozen
class Atom:
    """A width (0, a kink of g, 1 or infinity, as part of [0,1]) that occurs with positive probability; exact."""

    location: sympy.Expr
    mass: sympy.Expr

    def __str__(self) -> str:
        return f"{as_text(self.mass)} at {as_text(self.location)}"


@attrs.frozen
class Density:
    """Between `lower` and `upper` Lambda has the density `formula` = -z g''(z), in the symbol z, of integral `mass`."""

    lower: sympy.Expr
    upper: sympy.Expr
    formula: sympy.Expr
    mass: sympy.Expr

    @property
    def power(self) -> tuple[sympy.Expr, sympy.Expr] | None:
        """(c, p) if the density is c*z**(p - 1) with p > 0, else None."""
        factor, rest = self.formula.as_independent(Z, as_Add=False)
        base, exponent = rest.as_base_exp() if rest != 1 else (Z, sympy.Integer(0))
        if base != Z or not exponent.is_number or not (exponent + 1).is_positive:
            return None
        return factor, exponent + 1

    @property
    def name(self) -> str:
        """The conditional law by its name, where it has one: a Beta(p, 1), stretched if it ends before 1."""
        if self.power is None or self.lower != 0:
            return ""
        stretch = "" if self.upper == 1 else f"({as_text(self.upper)})*"
        return f"{stretch}Beta({as_text(self.power[1])}, 1)"

    def __str__(self) -> str:
        formula, lower, upper, mass = map(as_text, (self.formula, self.lower, self.upper, self.mass))
        return f"{formula} on ({lower}, {upper}), mass {mass}" + (f" = {mass} * {self.name}" if self.name else "")


class Parts(NamedTuple):
    """Densities and atoms in order, and P(Lambda <= z) = g(z) - z g'(z) inside each piece of g."""

    densities: tuple[Density, ...]
    atoms: tuple[Atom, ...]
    rising: tuple[sympy.Expr, ...]


def parts_of(pieces: tuple[Piece, ...], start: sympy.Expr) -> Parts:
    """Return the parts of the law for the smooth pieces of g and `start` = g(0+)."""
    try:
        if all(size(derivative(derivative(piece.expr))) <= _MOST_PARTS for piece in pieces):
            return _exact_parts(pieces, start)
    except Undecided:  # a derivative is too long to be written down
        pass
    return _float_parts(pieces, start)


def _exact_parts(pieces: tuple[Piece, ...], start: sympy.Expr) -> Parts:
    ends = [(piece.left.number, piece.right.number) for piece in pieces]
    formulas = [piece.expr for piece in pieces]
    slopes = [derivative(g) for g in formulas]
    rising = tuple(_nicer(g - Z * slope) for g, slope in zip(formulas, slopes, strict=True))
    densities = []
    for (a, b), slope, cdf in zip(ends, slopes, rising, strict=True):
        mass = cdf.subs(Z, b) - (start if a == 0 else cdf.subs(Z, a))
        if abs(mass.evalf(30)) > _NOTHING:
            densities.append(Density(a, b, _nicer(-Z * derivative(slope)), _nicer(mass)))
    found = [(sympy.Integer(0), start)]
    for (_, b), left, right in zip(ends[:-1], slopes[:-1], slopes[1:], strict=True):
        found.append((b, b * (left - right).subs(Z, b)))
    found += [(sympy.Integer(1), slopes[-1].subs(Z, 1)), (sympy.oo, 1 - formulas[-1].subs(Z, 1))]
    atoms = [Atom(place, _nicer(mass)) for place, mass in found if abs(mass.evalf(30)) > _NOTHING]
    return Parts(tuple(densities), tuple(atoms), rising)


def _float_parts(pieces: tuple[Piece, ...], start: sympy.Expr) -> Parts:
    """Return the same with floats for masses, and derivatives that are named but not worked out."""
    ends = [(piece.left.number, piece.right.number) for piece in pieces]
    formulas = [piece.expr for piece in pieces]
    left = [jet(piece.expr, np.array([float(piece.left)])) for piece in pieces]
    right = [jet(piece.expr, np.array([float(piece.right)])) for piece in pieces]
    densities = []
    for (a, b), g, low, high in zip(ends, formulas, left, right, strict=True):
        bottom = float(start) if a == 0 else float((low.value - float(a) * low.slope)[0])
        mass = float((high.value - float(b) * high.slope)[0]) - bottom
        if mass > _NOTHING_IN_FLOATS:
            densities.append(Density(a, b, -Z * sympy.Derivative(g, (Z, 2)), sympy.Float(mass)))
    found = [(sympy.Integer(0), float(start))]
    for (_, b), before, after in zip(ends[:-1], right[:-1], left[1:], strict=True):
        found.append((b, float(b) * float(before.slope[0] - after.slope[0])))
    found += [(sympy.Integer(1), float(right[-1].slope[0])), (sympy.oo, 1 - float(right[-1].value[0]))]
    atoms = tuple(Atom(place, sympy.Float(mass)) for place, mass in found if mass > _NOTHING_IN_FLOATS)
    return Parts(tuple(densities), atoms, tuple(g - Z * sympy.Derivative(g, Z) for g in formulas))


def cdf_inside(g: Expr, z: Floats) -> Floats:
    """Return g - z g' inside a piece."""
    value, slope, _ = jet(g, z)
    return value - z * slope


def density_inside(g: Expr, z: Floats) -> Floats:
    """Return -z g'' inside a piece."""
    return -z * jet(g, z).bend


def _nicer(formula: sympy.Expr) -> sympy.Expr:
    """Return the shortest of a few equal forms."""
    formula = _again(formula)
    if formula.is_Rational:  # the usual case for masses; simplify alone takes half a second to load
        return formula
    if formula.has(sympy.Float):
        return formula.evalf(30)
    if size(formula) > _MOST_PARTS_NICER:
        return formula
    ways = [sympy.factor, sympy.expand_mul]
    if not formula.has(sympy.Function, Z):
        ways += [_one_root, sympy.radsimp]
    forms = [formula, *(_again(way(formula)) for way in ways)]
    return min(forms, key=lambda form: (form.count_ops(), len(str(form))))


def _again(formula: sympy.Expr) -> sympy.Expr:
    """Return the same, put together anew: sympy may leave 3**(1/4)*3**(3/4) as it is until it is asked again."""
    return formula.func(*formula.args) if formula.args else formula


def _one_root(number: sympy.Expr) -> sympy.Expr:
    """Return a positive product of roots of rationals as one root, which is rational where it can be."""
    exponents = [e for _, e in number.as_powers_dict().items()]
    if not number.is_positive or not all(e.is_Rational for e in exponents):
        return number
    n = lcm(*(int(e.q) for e in exponents))
    return (number**n) ** sympy.Rational(1, n)


def as_text(formula: sympy.Expr) -> str:
    """Return the formula as text, with 12 digits of numbers that have no closed form."""
    if formula == sympy.oo:
        return "inf"
    return str(formula.xreplace({number: number.n(12) for number in formula.atoms(sympy.Float)}))
