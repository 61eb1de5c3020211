"""Abs: convex, and smooth off 0, where formulas are cut into pieces."""

from __future__ import annotations

import numpy as np
import sympy
from flint import arb

from ecm.formula.functions.function import Function, Shape, unsmooth


def _shape(lo: arb, hi: arb) -> Shape:
    return bool(lo >= 0), bool(hi <= 0), bool(lo >= 0 or hi <= 0), True


absolute = Function(
    name="Abs",
    sympy=sympy.Abs,
    ball=abs,
    series=unsmooth,
    numeric=np.abs,
    shape=_shape,
)
