"""A formula beside one point a: its expansion in t, where z = a + t**n or z = a - t**n, with a rigorous remainder.

With n a common denominator of the exponents, fractional powers of z become whole powers of t, and what is singular at
the end (z**p, sqrt(log1p(z))) becomes t**v times a smooth u. Kept are the Taylor coefficients of u at t = 0 and
enclosures of the same coefficients at every t in [0, tau]. Dividing by t shifts both lists, since
u = f/t has u(t) = integral of f'(s t) over s in [0, 1]. By Taylor's theorem the last coefficient, enclosed on all of
[0, tau], bounds the remainder of u and of its derivatives.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import reduce
from operator import add

import attrs
import sympy as sp
from flint import arb, arb_series
from sympy import Expr

from ecm.errors import ExpressionError, Undefined
from ecm.formula import BY_CLASS, as_ball, clip, constant_ball, moved, power, precision, rational, size

MAX_ROOT = 24
EXTRA_TERMS = 8
_BITS = 128
_SMALL = 40
_T = sp.Symbol("t", nonnegative=True)


@attrs.frozen
class Germ:
    """t**v * u(t); `at` holds the coefficients of u at 0, `over` their enclosures on [0, tau]."""

    v: int
    at: arb_series
    over: arb_series


class _Finer(Exception):
    """A power of t is fractional; n must be a multiple of the factor."""

    def __init__(self, factor: int) -> None:
        self.factor = factor


class _Expansion:
    """The expansions of formulas in t on [0, tau], to a number of terms."""

    def __init__(self, tau: arb, terms: int) -> None:
        self.span = arb(0).union(tau)
        self.terms = terms
        self.at = arb_series([0, 1], terms)
        self.over = arb_series([self.span, 1], terms)

    def lowered(self, g: Germ, k: int) -> tuple[arb_series, arb_series]:
        """Return the lists of t**k * u(t)."""
        n = sp.Integer(k)
        return g.at * power(self.at, n), g.over * power(self.over, n)

    def lifted(self, g: Germ) -> Germ:
        """Return the same function with its exact zeros at t = 0 taken into v."""
        k = 0
        while k < g.at.prec - 1 and g.at[k].is_zero():
            k += 1
        return Germ(g.v + k, _shifted(g.at, k), _shifted(g.over, k)) if k else g

    def walk(self, e: Expr) -> Germ:
        if not e.has(_T):
            constant = arb_series([constant_ball(e)], self.terms)
            return Germ(0, constant, constant)
        if e == _T:
            one = arb_series([1], self.terms)
            return Germ(1, one, one)
        if e.is_Add:
            return self._sum([self.walk(term) for term in e.args])
        if e.is_Mul:
            first, *rest = (self.walk(factor) for factor in e.args)
            for g in rest:
                first = Germ(first.v + g.v, first.at * g.at, first.over * g.over)
            return first
        if e.is_Pow and e.exp.is_Rational:
            return self._power(self.lifted(self.walk(e.base)), e.exp)
        if e.func in BY_CLASS:
            return self._function(e)
        raise Undefined(f"no expansion is known for {clip(e, 60)}")

    def _sum(self, parts: list[Germ]) -> Germ:
        v = min(part.v for part in parts)
        ats, overs = zip(*(self.lowered(part, part.v - v) for part in parts), strict=True)
        return Germ(v, reduce(add, ats), reduce(add, overs))

    def _power(self, g: Germ, exponent: sp.Rational) -> Germ:
        v = exponent * g.v
        if v.q != 1:
            raise _Finer(int(v.q))
        return Germ(int(v), power(g.at, exponent), power(g.over, exponent))

    def _function(self, e: Expr) -> Germ:
        if isinstance(e, sp.sin | sp.cos) and size(e) <= _SMALL:
            shifted = e.func(sp.expand_mul(e.args[0]))  # sin(pi*(1 - t)/2) is cos(pi*t/2), whose zeros are exact
            if shifted != e:
                return self.walk(shifted)
        function, g = BY_CLASS[e.func], self.walk(e.args[0])
        at, over = self.lowered(g, g.v)
        if function.above is not None and not over[0] > function.above:
            raise Undefined(f"{function.name} may be undefined beside the end")
        return Germ(0, function.series(at), function.series(over))


def _shifted(s: arb_series, k: int) -> arb_series:
    return arb_series([s[i] for i in range(k, s.prec)], s.prec - k)


def _expand(e: Expr, a: Fraction, side: int, width: Fraction) -> tuple[_Expansion, Germ, int]:
    """Return the germ of a smooth formula at a towards side = 1 (right) or -1 (left), valid on [a, a + side*width]."""
    n = 1
    while n <= MAX_ROOT:
        terms = 2 * n + EXTRA_TERMS
        with precision(_BITS, terms):
            tau = power(as_ball(width), sp.Rational(1, n)).upper()
            x = _Expansion(tau, terms)
            try:
                return x, x.lifted(x.walk(moved(e, rational(a) + side * _T**n))), n
            except _Finer as finer:
                n *= finer.factor
            except (ZeroDivisionError, ValueError, NotImplementedError) as error:
                raise Undefined(f"no expansion: {error}") from None
    raise Undefined(f"the powers of z at {a} have a common denominator beyond {MAX_ROOT}")


def sign_beside(e: Expr, a: Fraction, side: int, width: Fraction) -> int:
    """Return the sign of the formula on all of (a, a + side*width]; raises Undefined if the expansion does not settle
    it.

    >>> from ecm.formula import read
    >>> sign_beside(read("z - sin(z)").expr, Fraction(0), 1, Fraction(1, 2))
    1
    """
    x, g, _ = _expand(e, a, side, width)
    last = g.at.prec - 1
    return _leading([*(g.at[k] for k in range(last)), g.over[last]], x.span)


def sign_near(e: Expr, a: Fraction, side: int, width: Fraction) -> int | None:
    """Return the sign of the formula right beside a, within `width` or ever less; None if no expansion settles it."""
    for j in range(2, 40, 4):
        with suppress(Undefined, ExpressionError):
            return sign_beside(e, a, side, width / (1 << j))
    return None


def curvature_beside(e: Expr, a: Fraction, side: int, width: Fraction, flat: bool = False) -> int:
    """Return the sign of the second derivative on all of the open interval from a to a + side*width.

    With z = a + side*t**n, n**2 t**(2n) g''(z) = sum over k of k (k - n) c_k t**k. `flat` says that g''(a) = 0 is
    known exactly, which balls cannot see.

    >>> from ecm.formula import read
    >>> curvature_beside(read("sqrt(z) + z**2/10").expr, Fraction(0), 1, Fraction(1, 2))
    -1
    """
    x, g, n = _expand(e, a, side, width)
    with precision(_BITS, x.terms):
        at, over = x.lowered(g, g.v)  # Taylor's theorem is used for g, g' and g'' in t, not for u
        last = at.prec - 1
        if last < 3:  # a formula that is flat to a high order has used up its terms
            raise Undefined("too few terms are left for the second derivative")
        terms = [at[k] * (k * (k - n)) for k in range(last)]
        terms.append(over[last] * (last * (last - 1)) - over[last] * ((n - 1) * last))
        if flat and n == 1:
            terms[2] = arb(0)
        return _leading(terms, x.span)


def _leading(terms: list[arb], span: arb) -> int:
    """Return the sign of the sum of c_k t**k on (0, tau]."""
    first = next((k for k, c in enumerate(terms) if not c.is_zero()), None)
    if first is None:
        return 0
    total = arb(0)
    with precision(_BITS):
        for c in reversed(terms[first:]):
            total = total * span + c
    if total > 0 or total < 0:
        return 1 if total > 0 else -1
    raise Undefined("the sign beside the end is not settled by the expansion")
