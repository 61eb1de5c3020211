"""A formula is one sympy expression in the symbol z; here is what the rest of the room asks about such expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import sympy as sp
from sympy import Expr

from ecm.errors import Undecided

Z = sp.Symbol("z", nonnegative=True)
"""The distance of two values of a feature, in [0, 1]."""

SWITCHES = (sp.Min, sp.Max, sp.Abs, sp.sign, sp.Piecewise)
"""What is not smooth: formulas are cut into pieces without these."""

MAX_BITS = 60_000
"""No exact constant grows beyond this size; a formula that asks for more is refused."""
MAX_EXPONENT = 10**6
MAX_DERIVATIVE = 20_000
"""Derivatives with more parts than this are not written down."""

_CACHED = 20_000


@lru_cache(_CACHED)
def free(e: sp.Basic) -> bool:
    """Return whether z does not occur."""
    return e is not Z and e != Z and all(free(part) for part in e.args)


@lru_cache(_CACHED)
def smooth(e: sp.Basic) -> bool:
    """Return whether no Min, Max, Abs, sign or Piecewise of z occurs."""
    return free(e) or (not isinstance(e, SWITCHES) and all(smooth(part) for part in e.args))


@lru_cache(_CACHED)
def size(e: sp.Basic) -> int:
    """Return how many nodes the expression has, written out as a tree."""
    return 1 + sum(size(part) for part in e.args)


@lru_cache(_CACHED)
def _derivative_size(e: sp.Basic) -> int:
    return size(e) * (1 + len(e.args)) + sum(_derivative_size(part) for part in e.args)


@lru_cache(_CACHED)
def derivative(e: Expr) -> Expr:
    """Return the derivative of a smooth formula; raises Undecided where it would be too long to be of use.

    >>> derivative(Z**sp.Rational(1, 2) / 18)
    1/(36*sqrt(z))
    """
    if free(e):
        return sp.Integer(0)
    if _derivative_size(e) > MAX_DERIVATIVE:
        raise Undecided("the derivative of the formula is too long to be written down")
    slope = e.diff(Z)
    if any(not power.exp.is_Rational for power in slope.atoms(sp.Pow) if power.base == Z):
        slope = sp.powsimp(sp.expand_mul(slope))  # sympy writes z**(1/pi)/(pi*z)
        slope = sp.collect(slope, [power for power in slope.atoms(sp.Pow) if power.base == Z])
    return slope


def in_order(e: Expr, parts_of: Callable[[Expr], Iterable[Expr]]) -> list[tuple[Expr, tuple[int, ...]]]:
    """Return every part of the expression once, each behind its own parts, whose places it names."""
    places, order = dict[Expr, int](), list[tuple[Expr, tuple[int, ...]]]()

    def place(n: Expr) -> int:
        if n not in places:
            order.append((n, tuple(place(part) for part in parts_of(n))))
            places[n] = len(order) - 1
        return places[n]

    place(e)
    return order


def rational(x: Fraction | int) -> sp.Rational:
    """Return the fraction as a sympy number."""
    return sp.Rational(x.numerator, x.denominator)


def fraction(e: Expr) -> Fraction:
    """Return a rational sympy number as a fraction."""
    return Fraction(int(e.p), int(e.q))


def bits(e: sp.Basic) -> int:
    """Return the length of the longest numerator or denominator in the expression."""
    return max((number_bits(number) for number in e.atoms(sp.Rational)), default=0)


def number_bits(number: sp.Rational) -> int:
    """Return the length of the numerator or of the denominator, whichever is longer."""
    return max(int(abs(number.p)).bit_length(), int(number.q).bit_length())


def conditions(test: sp.Basic) -> tuple[sp.Basic, ...]:
    """Return the comparisons that a condition of a Piecewise joins by `and`; none for True."""
    if test is sp.true:
        return ()
    return tuple(test.args) if isinstance(test, sp.And) else (test,)


def difference(comparison: sp.Basic) -> Expr:
    """left - right for left < right and left <= right."""
    return comparison.lts - comparison.gts


def strict(comparison: sp.Basic) -> bool:
    """Return whether the comparison is < (not <=)."""
    return isinstance(comparison, sp.StrictLessThan | sp.StrictGreaterThan)


def holds(comparison: sp.Basic, sign: int) -> bool:
    """Return whether the comparison holds where its difference has this sign."""
    return sign < 0 or (sign == 0 and not strict(comparison))
