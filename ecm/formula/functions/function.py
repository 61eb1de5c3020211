"""What a function of one argument declares: its values, its power series, and its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from flint import arb, arb_series

Shape = tuple[bool, bool, bool, bool]
"""What is proven on a range: (non-decreasing, non-increasing, concave, convex)."""


def unsmooth(u: arb_series) -> arb_series:
    """Return the series of a function that has none: formulas are cut into smooth pieces before a series is taken."""
    raise NotImplementedError("sign and Abs are resolved into pieces before a series is taken")


@attrs.frozen
class Function:
    """A function f of one real argument.

    `sympy` is its class in sympy. `ball` encloses f on a ball, `series` continues a power series, `numeric` works on
    numpy arrays. `above` is the open lower end of the domain (None: the whole line), and `shape(lo, hi)` says what is
    proven of f between lo and hi.

    >>> from ecm.formula.functions import FUNCTIONS
    >>> FUNCTIONS["log"].shape(arb(1), arb(2))  # rising and concave
    (True, False, True, False)
    """

    name: str
    sympy: Any
    ball: Callable[[arb], arb]
    series: Callable[[arb_series], arb_series]
    numeric: Callable[[Any], Any]
    shape: Callable[[arb, arb], Shape]
    above: int | None = None
