"""Bounds of a formula, or of its second derivative, on a closed interval by Taylor's theorem around the middle.

Two evaluations of the formula on power series give the coefficients at the middle and enclosures of them on the whole
interval; the last of those bounds the remainder. No derivative is written down.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_series
from sympy import Expr

from ecm.errors import Undefined
from ecm.formula import as_ball, precision, series_of

TERMS = 10
_BITS = 128


def bounds(e: Expr, lo: Fraction, hi: Fraction, *, curvature: bool = False) -> arb:
    """Return an enclosure of the smooth formula on [lo, hi], or of its second derivative; nan where none is known.

    >>> from ecm.formula import read
    >>> bounds(read("sin(z) - 2*z").expr, Fraction(1, 2), Fraction(1)) < 0
    True
    """
    with precision(_BITS, TERMS):
        middle, radius = as_ball((lo + hi) / 2), as_ball((hi - lo) / 2)
        t = radius.union(-radius)
        try:
            at = series_of(e, arb_series([middle, 1], TERMS))
            over = series_of(e, arb_series([middle + t, 1], TERMS))
        except (Undefined, ZeroDivisionError, ValueError):
            return arb.nan()
        last = TERMS - 1
        total = arb(0)
        for k in range(last, 1 if curvature else -1, -1):
            c = over[k] if k == last else at[k]
            total = total * t + (c * (k * (k - 1)) if curvature else c)
        return total
