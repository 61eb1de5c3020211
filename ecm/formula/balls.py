"""The one evaluator of formulas: enclosures at a ball, or of the Taylor series at a ball, by python-flint."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import sympy as sp
from flint import arb, arb_series, ctx, fmpq
from sympy import Expr

from ecm.errors import Undefined
from ecm.formula.expression import Z, conditions, difference, in_order, strict
from ecm.formula.functions import BY_CLASS

Value = Any
"""An arb (a number), or an arb_series (its Taylor coefficients at a point or over an interval)."""


@contextmanager
def precision(bits: int, terms: int | None = None) -> Iterator[None]:
    """Ball arithmetic at this many bits, and series of this many terms, inside the block."""
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = bits, ctx.cap if terms is None else terms
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


def ctx_bits() -> int:
    """Return the present precision."""
    return int(ctx.prec)


def as_ball(x: Fraction | sp.Rational | int) -> arb:
    """Return a rational as a ball."""
    if isinstance(x, sp.Rational):
        return arb(fmpq(int(x.p), int(x.q)))
    return arb(fmpq(x.numerator, x.denominator))


def short(value: arb, digits: int = 6) -> str:
    """Return a ball in a few decimal digits, for messages."""
    return str(value.str(digits, radius=False))


def ball_of(e: Expr, x: arb) -> Value:
    """Return an enclosure of the formula on the ball x.

    It is not finite where the formula is not known to be real, and raises Undefined where it surely is not.

    >>> from ecm.formula import read
    >>> ball_of(read("sqrt(z)/18").expr, arb("1/4")).contains(arb(1) / 36)
    True
    """
    return _program(e)(x)


def ball_at(e: Expr, x: Fraction) -> Value:
    """Return an enclosure of the formula at the fraction x; nan where it has no real value there.

    No comparison holds for nan, and it may be any number.
    """
    try:
        return ball_of(e, as_ball(x))
    except Undefined:
        return arb.nan()


def constant_ball(e: Expr) -> Value:
    """Return an enclosure of a formula without z."""
    return _program(e)(arb(0))


def series_of(e: Expr, x: arb_series) -> arb_series:
    """Return the Taylor coefficients of a smooth formula along the series x; raises Undefined where they are not
    known."""
    value = _program(e)(x)
    return value if isinstance(value, arb_series) else arb_series([value])


@lru_cache(20_000)
def _program(e: Expr) -> Callable[[Value], Value]:
    """Return the formula as a function of a ball or series: its parts in order, each computed once."""
    steps = [(_step(n)[0], places) for n, places in in_order(e, lambda n: _step(n)[1])]
    if len(steps) == 1:
        return steps[0][0]

    def run(x: Value) -> Value:
        values = list[Value]()
        for step, arguments in steps:
            values.append(step(x, *[values[i] for i in arguments]))
        return values[-1]

    return run


def _step(n: Expr) -> tuple[Callable[..., Value], tuple[Expr, ...]]:
    """Return how to compute a node from x and its parts."""
    if n == Z:
        return (lambda x: x), ()
    if n.is_Rational:
        exact = fmpq(int(n.p), int(n.q))
        return (lambda x: arb(exact)), ()
    if n is sp.pi:
        return (lambda x: arb.pi()), ()
    if n is sp.E:
        return (lambda x: arb.const_e()), ()
    if n.is_Add:
        return _SUM, n.args
    if n.is_Mul:
        return _PRODUCT, n.args
    if n.is_Pow:
        exponent = n.exp
        return (lambda x, base: power(base, exponent)), (n.base,)
    if isinstance(n, sp.Min | sp.Max):
        return (_LEAST if isinstance(n, sp.Min) else _GREATEST), n.args
    if isinstance(n, sp.Piecewise):
        return _piecewise(n), ()
    return _function(n)


def _function(n: Expr) -> tuple[Callable[..., Value], tuple[Expr, ...]]:
    function = BY_CLASS.get(n.func)
    if function is None:
        raise Undefined(f"{n.func.__name__} is not a function of a formula")
    ball, series, above, name = function.ball, function.series, function.above, function.name

    def apply(x: Value, u: Value) -> Value:
        if above is not None and _first(u) <= above:
            raise Undefined(f"{name}({short(_first(u))}) is not real")
        return series(u) if isinstance(u, arb_series) else ball(u)

    return apply, n.args


def _folded(operation: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Return how to join the parts of a node, whatever x is."""
    return lambda x, *parts: reduce(operation, parts)


_SUM, _PRODUCT = _folded(operator.add), _folded(operator.mul)
_LEAST, _GREATEST = _folded(lambda a, b: a.min(b)), _folded(lambda a, b: a.max(b))


def _piecewise(n: Expr) -> Callable[[Value], Value]:
    """Return the hull of the branches that may apply; those that do not apply are not looked at."""
    branches = [
        (value, [(strict(c), difference(c)) for c in conditions(test)]) for value, test in n.args
    ]  # their programs are made when they are needed

    def run(x: Value) -> Value:
        hull: arb | None = None
        for value, tests in branches:
            sure = True
            for is_strict, d in tests:
                gap = ball_of(d, x)
                if gap > 0 or (gap >= 0 and is_strict):
                    break
                if not (gap < 0 or (gap <= 0 and not is_strict)):
                    sure = False
            else:
                inner = ball_of(value, x)
                hull = inner if hull is None else hull.union(inner)
                if sure:
                    return hull
        raise Undefined("no branch of the Piecewise applies")

    return run


def _first(u: Value) -> arb:
    return u[0] if isinstance(u, arb_series) else u


def power(u: Value, exponent: Expr) -> Value:
    """Return u**exponent on a ball, exact at 0 and 1, or on a series; raises Undefined where it is surely not real."""
    if isinstance(u, arb_series):
        return _series_power(u, exponent)
    if not exponent.is_Rational:
        e = constant_ball(exponent)
        if u < 0 or (u.is_zero() and not e > 0):
            raise Undefined(f"a power of {short(u)} is not real")
        return arb(0) if u.is_zero() else (e * u.log()).exp()
    n, d = int(exponent.p), int(exponent.q)
    if u.is_zero():
        if n < 0:
            raise Undefined("a division by zero")
        return arb(0)
    if d == 1:
        return _whole_power(u, n)
    if u < 0:
        raise Undefined(f"a fractional power of {short(u)} is not real")
    if d == 2:
        root = u.sqrt() if n > 0 else u.rsqrt()
        return root if abs(n) == 1 else root ** abs(n)
    if d <= 64 and abs(n) <= 64:
        root = u.root(d)
        return root if n == 1 else root**n
    return u ** arb(fmpq(n, d))


def _whole_power(u: Value, n: int) -> Value:
    """Return u**n by squaring; flint's own power gives nan on a ball around 0."""
    if isinstance(u, arb) and (not u.mid().is_zero() or u.is_zero()):
        return u**n
    if n < 0:
        return arb.nan()
    out: Value = arb(1)
    while n:
        if n % 2:
            out = out * u
        u, n = u * u, n // 2
    return out


def _series_power(u: Value, exponent: Expr) -> Value:
    start = u[0]
    if exponent.is_Integer and exponent >= 0:
        return _whole_power(u, int(exponent))
    if start.contains(0) or (start < 0 and not exponent.is_Integer):
        raise Undefined("the base of a power may vanish or be negative")
    if exponent.is_Integer:
        return 1 / _whole_power(u, -int(exponent))
    if exponent.is_Rational and exponent.q == 2:
        root = u.sqrt() if exponent > 0 else u.rsqrt()
        return _whole_power(root, abs(int(exponent.p)))
    return u ** constant_ball(exponent)
