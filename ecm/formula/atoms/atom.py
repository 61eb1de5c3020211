"""What a function of one argument declares: its value, derivative, shape, and name elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from flint import arb

Shape = tuple[bool, bool, bool, bool]
"""What is proven on a range: (non-decreasing, non-increasing, concave, convex)."""


@attrs.frozen
class Atom:
    """A function f of one real argument.

    `ball` encloses f on a ball, `numeric` works on numpy arrays, `derivative` builds f'(x) from an expression x,
    `above` is the open lower end of the domain (None: the whole line), `shape(lo, hi)` says what is known of f
    between lo and hi, `taylor(u, f(u0))` continues the Taylor coefficients of f(u(t)) from those of u, and
    `sympy` names the function in sympy.

    >>> from ecm.formula import ATOMS
    >>> log1p = ATOMS["log1p"]
    >>> log1p.derivative(1.0), log1p.shape(arb(0), arb(1))  # rising and concave, proven
    (0.5, (True, False, True, False))
    """

    name: str
    ball: Callable[[arb], arb]
    numeric: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    shape: Callable[[arb, arb], Shape]
    taylor: Callable[[list[Any], Any], list[Any]]
    sympy: Callable[[Any, Any], Any]
    above: int | None = None
