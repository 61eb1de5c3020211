"""The sign of an exact constant.

A constant is shown to be positive or negative by a ball of growing precision that excludes zero, and to be zero by a
normal form (a quotient of sums of monomials in prime roots, pi, E, logarithms of primes and opaque constants, with
rational coefficients). What neither settles is undecided, never guessed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import sympy as sp
from flint import arb, fmpz
from sympy import Expr

from ecm.errors import Undecided
from ecm.formula.balls import constant_ball, precision, short
from ecm.formula.expression import fraction, rational, size
from ecm.formula.printing import clip, text_of

PRECISIONS = (64, 192, 640, 2048, 8192)
"""The bits of the balls that are tried one after the other."""

Monomial = tuple[tuple[str, Fraction], ...]
Sum = dict[Monomial, Fraction]
_MAX_TERMS = 400
_MAX_SIZE = 200


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
    """Return whether the normal form proves that a constant with a finite ball is zero (False: not shown)."""
    if size(e) > _MAX_SIZE:
        return False
    try:
        top, bottom = _normal(e)
        if not top:
            return bool(bottom)
        if any(p.exp == sp.S.Half and p.base.is_Add for p in e.atoms(sp.Pow)):
            top, bottom = _normal(sp.sqrtdenest(e))
        return bool(bottom) and not top
    except _TooMany:
        return False


class _TooMany(Exception):
    """The normal form grows beyond its limit."""


_ONE: Sum = {(): Fraction(1)}


def _times(a: Sum, b: Sum) -> Sum:
    if len(a) * len(b) > _MAX_TERMS:
        raise _TooMany
    out: Sum = {}
    for m, c in a.items():
        for n, d in b.items():
            number, key = _monomial([*m, *n])
            out[key] = out.get(key, Fraction(0)) + c * d * number
    return {m: c for m, c in out.items() if c}


def _monomial(factors: list[tuple[str, Fraction]]) -> tuple[Fraction, Monomial]:
    exponents: dict[str, Fraction] = {}
    for base, e in factors:
        exponents[base] = exponents.get(base, Fraction(0)) + e
    number = Fraction(1)
    for base, e in exponents.items():
        if base.isdigit():
            whole = e.numerator // e.denominator
            if int(base).bit_length() * abs(whole) > 10_000:
                raise _TooMany
            number *= Fraction(int(base)) ** whole
            exponents[base] = e - whole
    return number, tuple(sorted((b, e) for b, e in exponents.items() if e))


def _plus(a: Sum, b: Sum) -> Sum:
    out = dict(a)
    for m, c in b.items():
        out[m] = out.get(m, Fraction(0)) + c
    return {m: c for m, c in out.items() if c}


def _primes(number: sp.Rational) -> list[tuple[int, int]]:
    """Return the factors p**k of a positive rational."""
    if max(number.p, number.q).bit_length() > 120:
        raise _TooMany
    above, below = (list(fmpz(int(n)).factor()) for n in (number.p, number.q))
    return [*((int(p), int(k)) for p, k in above), *((int(p), -int(k)) for p, k in below)]


Quotient = tuple[Sum, Sum]


def _normal(e: Expr) -> Quotient:
    """Return (numerator, denominator) with the value numerator/denominator."""
    if e.is_Rational:
        return ({(): fraction(e)} if e else {}), _ONE
    if e.is_Add:
        top, bottom = _normal(e.args[0])
        for term in e.args[1:]:
            a, b = _normal(term)
            if b == bottom:
                top = _plus(top, a)
            else:
                top, bottom = _plus(_times(top, b), _times(a, bottom)), _times(bottom, b)
        return top, bottom
    if e.is_Mul:
        return _multiplied([_normal(factor) for factor in e.args])
    if e.is_Pow and e.exp.is_Rational:
        return _power(e.base, e.exp)
    if isinstance(e, sp.log) and e.args[0].is_Rational:
        out: Sum = {}
        for p, k in _primes(e.args[0]):
            out = _plus(out, {((f"log({p})", Fraction(1)),): Fraction(k)})
        return out, _ONE
    if e is sp.E:
        return {(("E", Fraction(1)),): Fraction(1)}, _ONE
    if isinstance(e, sp.exp):
        return _multiplied([_exponential(term) for term in sp.Add.make_args(e.args[0])])
    if isinstance(e, sp.tanh):  # (exp(2x) - 1)/(exp(2x) + 1)
        top, bottom = _normal(sp.exp(2 * e.args[0]))
        return _plus(top, {m: -c for m, c in bottom.items()}), _plus(top, bottom)
    return {((text_of(e), Fraction(1)),): Fraction(1)}, _ONE


def _multiplied(quotients: list[Quotient]) -> Quotient:
    top, bottom = _ONE, _ONE
    for a, b in quotients:
        top, bottom = _times(top, a), _times(bottom, b)
    return top, bottom


def _exponential(x: Expr) -> Quotient:
    number, rest = x.as_coeff_Mul()
    base = "E" if rest == 1 else text_of(sp.exp(rest))
    return {((base, fraction(number)),): Fraction(1)}, _ONE


def _power(base: Expr, exponent: sp.Rational) -> Quotient:
    e = fraction(exponent)
    if base.is_Rational and base > 0:
        number, key = _monomial([(str(p), k * e) for p, k in _primes(base)])
        return {key: number}, _ONE
    if e.denominator == 1 and abs(e) <= 8:
        a, b = _normal(base)
        return _multiplied([(b, a) if e < 0 else (a, b)] * abs(e.numerator))
    if e.denominator == 1 or base.is_Symbol or not base.is_Add:
        return {((text_of(base), e),): Fraction(1)}, _ONE
    whole = e.numerator // e.denominator  # x**(3/2) is x * x**(1/2)
    inner: Quotient = {((text_of(base), e - whole),): Fraction(1)}, _ONE
    return _multiplied([_power(base, rational(Fraction(whole))), inner]) if whole else inner
