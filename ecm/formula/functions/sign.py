"""sign: constant on both sides of 0, where formulas are cut into pieces."""

from __future__ import annotations

import numpy as np
import sympy
from flint import arb

from ecm.formula.functions.function import Function, Shape, unsmooth


def _ball(x: arb) -> arb:
    return x.sgn() if x > 0 or x < 0 or x.is_zero() else arb(0, 1)


def _shape(lo: arb, hi: arb) -> Shape:
    constant = bool(lo > 0 or hi < 0)
    return True, constant, bool(lo >= 0), bool(hi <= 0)


sign = Function(
    name="sign",
    sympy=sympy.sign,
    ball=_ball,
    series=unsmooth,
    numeric=np.sign,
    shape=_shape,
)
