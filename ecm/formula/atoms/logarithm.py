"""log and log1p: concave and increasing where they are defined."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from ecm.formula.atoms.atom import Atom, Shape
from ecm.formula.atoms.series import differentiate, integrate, multiply, power


def _shape(lo: arb, hi: arb) -> Shape:
    return True, False, True, False


def _log_taylor(u: list[Any], start: Any) -> list[Any]:
    return integrate(multiply(differentiate(u), power(u, fmpq(-1), 1 / u[0])), start)


def _log1p_taylor(u: list[Any], start: Any) -> list[Any]:
    return _log_taylor([u[0] + 1, *u[1:]], start)


log = Atom(
    name="log",
    ball=lambda x: x.log(),
    numeric=np.log,
    derivative=lambda x: x**-1,
    shape=_shape,
    taylor=_log_taylor,
    sympy=lambda sympy, x: sympy.log(x),
    above=0,
)
log1p = Atom(
    name="log1p",
    ball=lambda x: x.log1p(),
    numeric=np.log1p,
    derivative=lambda x: (x + 1) ** -1,
    shape=_shape,
    taylor=_log1p_taylor,
    sympy=lambda sympy, x: sympy.log(1 + x),
    above=-1,
)
