"""exp and expm1: convex and increasing everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from ecm.formula.atoms.atom import Atom, Shape
from ecm.formula.atoms.series import linear


def _shape(lo: arb, hi: arb) -> Shape:
    return True, False, False, True


def _expm1_taylor(u: list[Any], start: Any) -> list[Any]:
    return [start, *linear(u, start + 1)[1:]]


exp = Atom(
    name="exp",
    ball=lambda x: x.exp(),
    numeric=np.exp,
    derivative=lambda x: x.apply("exp"),
    shape=_shape,
    taylor=linear,
    sympy=lambda sympy, x: sympy.exp(x),
)
expm1 = Atom(
    name="expm1",
    ball=lambda x: x.expm1(),
    numeric=np.expm1,
    derivative=lambda x: x.apply("exp"),
    shape=_shape,
    taylor=_expm1_taylor,
    sympy=lambda sympy, x: sympy.exp(x) - 1,
)
