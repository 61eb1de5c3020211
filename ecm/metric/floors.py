"""floor(scale * g(k/q)) for a formula g, exactly: integers for pure powers, balls and exact ties for all others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpq, fmpz
from sympy import Expr

from ecm.arrays import Ints
from ecm.errors import ExpressionError, Undecided
from ecm.formula import PRECISIONS, Z, constant_ball, exact, fraction, is_zero, point_ball, precision


def floors_of(g: Expr, scale: int, q: int) -> Ints:
    """Return floor(scale * g(k/q)) for k = 0..q; a tie that cannot be decided is rounded down."""
    pure = _monomial(g)
    if pure is not None:
        return _monomial_floors(*pure, scale, q)
    out = np.zeros(q + 1, dtype=np.int64)
    open_points = list(range(q + 1))
    for bits in PRECISIONS:
        left = []
        with precision(bits + scale.bit_length()):
            for k in open_points:
                try:
                    whole = (point_ball(g, Fraction(k, q)) * scale).floor().unique_fmpz()
                except (Undecided, ExpressionError):
                    whole = None
                if whole is None:
                    left.append(k)
                else:
                    out[k] = int(whole)
        if bits == PRECISIONS[0]:
            left = [k for k in left if not _settled(g, scale, q, k, out)]
        open_points = left
        if not left:
            return out
    for k in open_points:  # next to an integer, yet no proof of a tie: the lower integer is sound
        with precision(PRECISIONS[-1] + scale.bit_length()):
            out[k] = _lower_integer(g, Fraction(k, q), scale)
    return out


def power_of(g: Expr) -> tuple[Fraction, Fraction] | None:
    """Return (c, p) if the formula is c * z**p with rational c and p, else None."""
    if g.is_zero:
        return Fraction(0), Fraction(1)
    number, rest = g.as_coeff_Mul()
    base, p = rest.as_base_exp()
    if base != Z or not (number.is_Rational and p.is_Rational):
        return None
    return fraction(number), fraction(p)


def _monomial(g: Expr) -> tuple[Fraction, int, int] | None:
    """Return (c, a, b) if the formula is c * z**(a/b) with a rational c."""
    found = power_of(g)
    if found is None or found[1].denominator > 12 or found[1] <= 0:
        return None
    return found[0], found[1].numerator, found[1].denominator


def _monomial_floors(c: Fraction, a: int, b: int, scale: int, q: int) -> Ints:
    """Return floor((scale c)**b k**a / q**a)**(1/b)) in integers."""
    top, bottom = (scale * c.numerator) ** b, c.denominator**b * q**a
    return np.array([int(fmpz(top * k**a // bottom).root(b)) for k in range(q + 1)], dtype=np.int64)


def _lower_integer(g: Expr, x: Fraction, scale: int) -> int:
    """Return an integer <= scale * g(x); g is not negative, so 0 is always one."""
    try:
        whole = (point_ball(g, x) * scale).lower().floor().unique_fmpz()
    except (Undecided, ExpressionError):
        return 0
    return 0 if whole is None else max(0, int(whole))


def _settled(g: Expr, scale: int, q: int, k: int, out: Ints) -> bool:
    """Return whether scale * g(k/q) is shown to be the integer its ball holds."""
    try:
        value = exact(g, Fraction(k, q)) * scale
    except (Undecided, ExpressionError):
        return False
    if value.is_Rational:
        out[k] = int(value.p) // int(value.q)
        return True
    with precision(PRECISIONS[1]):
        nearest = (constant_ball(value) + arb(fmpq(1, 2))).floor().unique_fmpz()
    if nearest is None or not is_zero(value - int(nearest)):
        return False
    out[k] = int(nearest)
    return True
