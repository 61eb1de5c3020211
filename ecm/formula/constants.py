"""The sign of an exact constant.

A constant is shown to be positive or negative by a ball of growing precision that excludes zero, and to be zero by
sympy's normal form: over one denominator, with everything multiplied out. What neither settles is undecided, never
guessed.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, prod

import sympy as sp
from flint import arb, fmpz
from sympy import Expr

from ecm.errors import Undecided
from ecm.formula.balls import constant_ball, precision, short
from ecm.formula.expression import size
from ecm.formula.printing import clip, text_of

PRECISIONS = (64, 192, 640, 2048, 8192)
"""The bits of the balls that are tried one after the other."""

_MAX_TERMS = 1000
_MAX_SIZE = 200
_MAX_FACTORED = 120
"""Integers with more bits than this are not factored."""


def sign(e: Expr) -> int:
    """Return -1, 0 or 1 for a formula without z; raises Undecided if neither balls nor the normal form settle it.

    >>> from ecm.formula import read
    >>> sign(read("log(6) - log(2) - log(3)").expr), sign(read("sqrt(2) - 1414213562/10**9").expr)
    (0, 1)
    """
    if e.is_Rational:
        return int(e.p > 0) - int(e.p < 0)
    found, tried = arb.nan(), False
    for bits in PRECISIONS:
        with precision(bits):
            found = constant_ball(e)
            if found > 0 or found < 0:
                return 1 if found > 0 else -1
        if found.is_finite() and not tried:  # the normal form of 0/x does not see that x is 0
            if is_zero(e):
                return 0
            tried = True
    raise Undecided(f"it is open whether {clip(e, 200)} is zero ({_why_open(found)})")


def _why_open(found: arb) -> str:
    if not found.is_finite():
        return "its value is out of reach: too large to compute, or not known to be a number"
    _, exponent = found.abs_upper().man_exp()
    return f"it is below 2**{int(exponent) + 30}"


def brief(e: Expr) -> str:
    """Return a constant for a message: as it is where it is short, otherwise its first digits."""
    text = text_of(e)
    if e.is_Rational and len(text) <= 24:
        return text
    digits = short(constant_ball(e), 10)
    return f"{text} = {digits}" if len(text) <= 40 and not e.is_Rational else digits


@lru_cache(4096)
def is_zero(e: Expr) -> bool:
    """Return whether sympy's normal form proves that a constant with a finite ball is zero (False: not shown)."""
    if size(e) > _MAX_SIZE:
        return False
    by_exp = e.replace(sp.tanh, lambda x: 1 - 2 / (sp.exp(2 * x) + 1))
    return any(_cancels(form.replace(sp.log, _in_primes)) for form in (e, by_exp))


def _cancels(e: Expr) -> bool:
    """Return whether nothing is left of the numerator when everything is multiplied out."""
    if max(_terms(e)) > _MAX_TERMS:
        return False
    if any(p.exp == sp.S.Half and p.base.is_Add for p in e.atoms(sp.Pow)):
        e = sp.sqrtdenest(e)
    return bool(sp.expand(sp.fraction(sp.together(e))[0]) == 0)


def _in_primes(x: Expr) -> Expr:
    """Return the logarithm of a positive rational by those of its prime factors, any other one as it is."""
    if not (x.is_Rational and x > 0) or max(x.p, x.q).bit_length() > _MAX_FACTORED:
        return sp.log(x)
    above, below = (fmpz(int(n)).factor() for n in (x.p, x.q))
    return sp.Add(*(k * sp.log(int(p)) for p, k in above), *(-k * sp.log(int(p)) for p, k in below))


def _terms(e: Expr) -> tuple[int, int]:
    """Return how many terms the numerator and the denominator may have when everything is multiplied out."""
    parts = [_terms(part) for part in e.args]
    if e.is_Add:
        bottom = prod(b for _, b in parts)
        return sum(a for a, _ in parts) * bottom, bottom
    if e.is_Mul:
        return prod(a for a, _ in parts), prod(b for _, b in parts)
    if e.is_Pow and e.exp.is_Rational:
        k = min(abs(int(e.exp)), _MAX_TERMS)
        top, bottom = (comb(n + k - 1, k) for n in parts[0])
        return (top, bottom) if e.exp > 0 else (bottom, top)
    return max([1, *(max(part) for part in parts)]), 1
