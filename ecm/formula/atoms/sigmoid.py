"""tanh, atan and asinh: odd and increasing, convex below 0 and concave above."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from ecm.formula.atoms.atom import Atom, Shape
from ecm.formula.atoms.series import differentiate, integrate, multiply, power


def _shape(lo: arb, hi: arb) -> Shape:
    return True, False, bool(lo >= 0), bool(hi <= 0)


def _tanh_taylor(u: list[Any], start: Any) -> list[Any]:
    y, slope = [start], differentiate(u)
    for k in range(1, len(u)):  # y' = (1 - y**2) u'
        square = [-c for c in multiply(y, y)]
        square[0] = square[0] + 1
        y.append(sum((square[i] * slope[k - 1 - i] for i in range(1, k)), square[0] * slope[k - 1]) / k)
    return y


def _one_plus_square(u: list[Any]) -> list[Any]:
    square = multiply(u, u)
    return [square[0] + 1, *square[1:]]


def _atan_taylor(u: list[Any], start: Any) -> list[Any]:
    base = _one_plus_square(u)
    return integrate(multiply(differentiate(u), power(base, fmpq(-1), 1 / base[0])), start)


def _asinh_taylor(u: list[Any], start: Any) -> list[Any]:
    base = _one_plus_square(u)
    return integrate(multiply(differentiate(u), power(base, fmpq(-1, 2), arb(base[0]).rsqrt())), start)


tanh = Atom(
    name="tanh",
    ball=lambda x: x.tanh(),
    numeric=np.tanh,
    derivative=lambda x: 1 - x.apply("tanh") ** 2,
    shape=_shape,
    taylor=_tanh_taylor,
    sympy=lambda sympy, x: sympy.tanh(x),
)
atan = Atom(
    name="atan",
    ball=lambda x: x.atan(),
    numeric=np.arctan,
    derivative=lambda x: (1 + x**2) ** -1,
    shape=_shape,
    taylor=_atan_taylor,
    sympy=lambda sympy, x: sympy.atan(x),
)
asinh = Atom(
    name="asinh",
    ball=lambda x: x.asinh(),
    numeric=np.arcsinh,
    derivative=lambda x: (1 + x**2) ** "-1/2",
    shape=_shape,
    taylor=_asinh_taylor,
    sympy=lambda sympy, x: sympy.asinh(x),
)
