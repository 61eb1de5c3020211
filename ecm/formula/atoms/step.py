"""sign and Abs: smooth off 0, where the pieces of a formula are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from ecm.formula.atoms.atom import Atom, Shape


def _sign_ball(x: arb) -> arb:
    if x > 0 or x < 0 or x.is_zero():
        return x.sgn()
    return arb(0, 1)


def _sign_shape(lo: arb, hi: arb) -> Shape:
    constant = bool(lo > 0 or hi < 0)
    return True, constant, bool(lo >= 0), bool(hi <= 0)


def _abs_shape(lo: arb, hi: arb) -> Shape:
    return bool(lo >= 0), bool(hi <= 0), bool(lo >= 0 or hi <= 0), True


def _unsmooth(u: list[Any], start: Any) -> list[Any]:
    raise NotImplementedError("sign and Abs are resolved into pieces before a series is taken")


sign = Atom(
    name="sign",
    ball=_sign_ball,
    numeric=np.sign,
    derivative=lambda x: 0 * x,
    shape=_sign_shape,
    taylor=_unsmooth,
    sympy=lambda sympy, x: sympy.sign(x),
)
absolute = Atom(
    name="Abs",
    ball=abs,
    numeric=np.abs,
    derivative=lambda x: x.apply("sign"),
    shape=_abs_shape,
    taylor=_unsmooth,
    sympy=lambda sympy, x: sympy.Abs(x),
)
