"""sin and cos: their shapes follow from the half-wave that holds the range of the argument.

A formula is written with sin only; cos stands for sin(x + pi/2), which is how it is printed.
"""

from __future__ import annotations

import numpy as np
import sympy
from flint import arb

from ecm.formula.functions.function import Function, Shape


def _half_wave(lo: arb, hi: arb) -> int | None:
    """Return the parity of the n with [lo, hi] inside [n*pi, (n+1)*pi], if there is such an n."""
    whole = ((lo + hi) / (2 * arb.pi())).floor().unique_fmpz()
    if whole is None:
        return None
    n = int(whole)
    begins = lo >= 0 if n == 0 else lo >= arb.pi() * n
    ends = hi <= 0 if n == -1 else hi <= arb.pi() * (n + 1)
    return n % 2 if begins and ends else None


def _shape(lo: arb, hi: arb) -> Shape:
    if not (lo.is_finite() and hi.is_finite()):
        return False, False, False, False
    bend, slope = _half_wave(lo, hi), _half_wave(lo + arb.pi() / 2, hi + arb.pi() / 2)
    return slope == 0, slope == 1, bend == 0, bend == 1


sin = Function(
    name="sin",
    sympy=sympy.sin,
    ball=lambda u: u.sin(),
    series=lambda u: u.sin(),
    numeric=np.sin,
    shape=_shape,
)
cos = Function(
    name="cos",
    sympy=sympy.cos,
    ball=lambda u: u.cos(),
    series=lambda u: u.cos(),
    numeric=np.cos,
    shape=lambda lo, hi: _shape(lo + arb.pi() / 2, hi + arb.pi() / 2),
)
