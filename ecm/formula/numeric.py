"""A formula with its first two derivatives on float arrays, in time linear in the formula; for pictures and samples."""

from __future__ import annotations

import operator
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy import Expr

from ecm.arrays import Floats
from ecm.formula.expression import Z, conditions, derivative, difference, free, strict
from ecm.formula.functions import BY_CLASS


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
    """Return the value and two derivatives of a smooth formula at the points z; not finite where a derivative is
    infinite.

    >>> from ecm.formula import read
    >>> [part.tolist() for part in jet(read("z**2 + z").expr, np.array([0.5]))]
    [[0.75], [2.0], [2.0]]
    """
    with np.errstate(all="ignore"):
        return _jet(e, z)


def _jet(e: Expr, z: Floats) -> Jet:
    zero = np.zeros_like(z)
    if free(e):
        return Jet(_values(e, z) + zero, zero, zero)
    if e == Z:
        return Jet(z, zero + 1, zero)
    if e.is_Add:
        return Jet(*(sum(column, zero) for column in zip(*(_jet(term, z) for term in e.args), strict=True)))
    if e.is_Mul:
        total = Jet(zero + 1, zero, zero)
        for factor in e.args:
            total = _times(total, _jet(factor, z))
        return total
    if e.is_Pow:
        p = float(_values(e.exp, zero[:1]))
        u = _jet(e.base, z)
        slope, bend = p * u.value ** (p - 1), p * (p - 1) * u.value ** (p - 2)
        return Jet(u.value**p, slope * u.slope, bend * u.slope**2 + slope * u.bend)
    u = _jet(e.args[0], z)
    slope, bend = (_values(d, u.value) for d in _derivatives(e.func))
    return Jet(_values(e, z) + zero, slope * u.slope, bend * u.slope**2 + slope * u.bend)


def _times(a: Jet, b: Jet) -> Jet:
    value, slope = a.value * b.value, a.slope * b.value + a.value * b.slope
    return Jet(value, slope, a.bend * b.value + 2 * a.slope * b.slope + a.value * b.bend)


@lru_cache
def _derivatives(function: type[Expr]) -> tuple[Expr, Expr]:
    first = derivative(function(Z))
    return first, derivative(first)
