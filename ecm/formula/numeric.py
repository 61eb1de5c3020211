"""A formula with its first two derivatives on float arrays; for pictures and samples, never for a decision."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from flint import arb_series
from numpy.typing import NDArray
from sympy import Expr

from ecm.arrays import Floats
from ecm.errors import Undefined
from ecm.formula.balls import precision, series_of
from ecm.formula.expression import Z, conditions, difference, strict
from ecm.formula.functions import BY_CLASS

_BITS = 128


class Jet(NamedTuple):
    """f, f' and f'' at the same points."""

    value: Floats
    slope: Floats
    bend: Floats


def floats(e: Expr, z: Floats) -> Floats:
    """Return the values of the formula at the points z, in floating point.

    >>> from ecm.formula import read
    >>> floats(read("Min(3*z, 1)").expr, np.array([0.25, 0.5])).tolist()
    [0.75, 1.0]
    """
    with np.errstate(all="ignore"):
        return np.asarray(_values(e, z), dtype=np.float64) + np.zeros_like(z)


def _values(e: Expr, z: Floats) -> Any:
    if e == Z:
        return z
    if e.is_Rational:
        return np.float64(as_float(e))
    if e.is_number and not e.args:
        return np.float64(float(e))
    if e.is_Add:
        return reduce(operator.add, [_values(term, z) for term in e.args])
    if e.is_Mul:
        return reduce(operator.mul, [_values(factor, z) for factor in e.args])
    if e.is_Pow:
        return np.power(_values(e.base, z), _values(e.exp, z))
    if isinstance(e, sp.Min | sp.Max):
        parts = [_values(part, z) + np.zeros_like(z) for part in e.args]
        return np.min(parts, axis=0) if isinstance(e, sp.Min) else np.max(parts, axis=0)
    if isinstance(e, sp.Piecewise):
        tests = [_tested(test, z) for _, test in e.args]
        values = [_values(value, z) + np.zeros_like(z) for value, _ in e.args]
        return np.select(tests, values, default=np.nan)
    if isinstance(e, sp.log) and e.args[0].is_Add and e.args[0].as_coeff_Add()[0] == 1:
        return np.log1p(_values(e.args[0].as_coeff_Add()[1], z))  # keeps the digits near 0
    return BY_CLASS[e.func].numeric(_values(e.args[0], z))


def _tested(test: sp.Basic, z: Floats) -> NDArray[np.bool_]:
    out = np.ones(z.shape, dtype=bool)
    for c in conditions(test):
        gap = _values(difference(c), z)
        out &= gap < 0 if strict(c) else gap <= 0
    return out


def as_float(e: sp.Rational) -> float:
    """Return the nearest float, also for numerators and denominators that are no floats themselves."""
    try:
        return int(e.p) / int(e.q)
    except OverflowError:
        return float("inf") if e > 0 else float("-inf")


def jet(e: Expr, z: Floats) -> Jet:
    """Return the value and two derivatives of a smooth formula at the points z, without writing a derivative down.

    The derivatives come from the power series at each point; they are nan where there is none.

    >>> from ecm.formula import read
    >>> [part.tolist() for part in jet(read("z**2 + z").expr, np.array([0.5]))]
    [[0.75], [2.0], [2.0]]
    """
    slopes = np.array([_slopes(e, x) for x in z.ravel().tolist()]).reshape(*z.shape, 2)
    return Jet(floats(e, z), slopes[..., 0], slopes[..., 1])


def _slopes(e: Expr, x: float) -> tuple[float, float]:
    with precision(_BITS, 3):
        try:
            found = series_of(e, arb_series([x, 1], 3))
        except (Undefined, ZeroDivisionError, ValueError):
            return np.nan, np.nan
        return float(found[1].mid()), 2 * float(found[2].mid())
