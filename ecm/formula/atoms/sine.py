"""sin: its shape follows from the half-waves that hold the range of its argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from ecm.formula.atoms.atom import Atom, Shape


def _half_wave(lo: arb, hi: arb) -> int | None:
    """The n with [lo, hi] inside [n*pi, (n+1)*pi], if there is one."""
    n = int((((lo + hi) / 2) / arb.pi()).floor().mid().str(20, radius=False).split(".")[0]) if lo.is_finite() else 0
    inside = lo >= arb.pi() * n and hi <= arb.pi() * (n + 1)
    return n if inside or (n == 0 and lo >= 0 and hi <= arb.pi()) else None


def _shape(lo: arb, hi: arb) -> Shape:
    if not (lo.is_finite() and hi.is_finite()):
        return False, False, False, False
    wave = _half_wave(lo, hi)
    slope = _half_wave(lo + arb.pi() / 2, hi + arb.pi() / 2)
    return (
        slope is not None and slope % 2 == 0,
        slope is not None and slope % 2 == 1,
        wave is not None and wave % 2 == 0,
        wave is not None and wave % 2 == 1,
    )


def _taylor(u: list[Any], start: Any) -> list[Any]:
    s: list[Any] = [start]
    c: list[Any] = [arb(u[0]).cos()]
    for k in range(1, len(u)):
        rise = sum((u[i] * c[k - i] * i for i in range(1, k + 1)), fmpq(0)) / k
        fall = sum((u[i] * s[k - i] * i for i in range(1, k + 1)), fmpq(0)) / k
        s.append(rise)
        c.append(-fall)
    return s


sin = Atom(
    name="sin",
    ball=lambda x: x.sin(),
    numeric=np.sin,
    derivative=lambda x: x.quarter().apply("sin"),
    shape=_shape,
    taylor=_taylor,
    sympy=lambda sympy, x: sympy.sin(x),
)
