"""Exact values of formulas at rational points, and the sign of an exact constant.

A constant is shown to be zero by a normal form (a quotient of sums of monomials in prime roots, pi, E, logarithms of
primes and opaque constants, with rational coefficients), and to be positive or negative by a ball of growing precision
that excludes zero. What neither settles is undecided, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula.branches import Extremum, Piecewise
from ecm.formula.expression import Add, Const, Function, Mul, Node, Num, Pow, Var
from ecm.formula.folding import add, function, mul, power

PRECISIONS = (64, 192, 640, 2048, 8192)

Monomial = tuple[tuple[str, Fraction], ...]
Sum = dict[Monomial, Fraction]
MAX_TERMS = 400


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic at this many bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def evaluate(node: Node, x: Fraction | Node) -> Node:
    """The value of the formula at x (a rational, or a constant formula) as an exact constant formula.

    >>> from ecm.formula import parse
    >>> evaluate(parse("sqrt(z)/18 + Min(z, 1/3)"), Fraction(4, 9)).text()
    '10/27'
    """
    point = x if isinstance(x, Node) else Num(x)

    def walk(n: Node) -> Node:
        if isinstance(n, Var):
            return point
        if isinstance(n, Num | Const):
            return n
        if isinstance(n, Add):
            return add(walk(t) for t in n.terms)
        if isinstance(n, Mul):
            return mul([walk(t) for t in n.factors])
        if isinstance(n, Pow):
            return power(walk(n.base), walk(n.exponent))
        if isinstance(n, Function):
            inner = walk(n.argument)
            if n.name in ("sign", "Abs"):
                s = sign(inner)
                return Num(Fraction(s)) if n.name == "sign" else inner * s
            return function(n.name, inner)
        if isinstance(n, Extremum):
            return extreme([walk(t) for t in n.arguments], n.name)
        assert isinstance(n, Piecewise)
        for value, conditions in n.branches:
            if all(c.holds(sign(walk(c.difference))) for c in conditions):
                return walk(value)
        raise Undefined("no branch of the Piecewise applies")

    return walk(node)


def point_ball(node: Node, x: Fraction) -> arb:
    """An enclosure of the formula at the rational x; the exact value is taken where balls alone see too little."""
    try:
        ball = node.ball(arb(fmpq(x.numerator, x.denominator)))
        if ball.is_finite() and (node.smooth or ball.rad() < arb(2) ** (-ctx.prec // 2)):
            return ball
    except Undefined:
        pass
    return evaluate(node, x).ball(arb(0))


def extreme(values: list[Node], name: str) -> Node:
    """The least (name = Min) or greatest (Max) of constant formulas."""
    best = values[0]
    for value in values[1:]:
        s = sign(value - best)
        if (s < 0) == (name == "Min") and s != 0:
            best = value
    return best


def sign(node: Node) -> int:
    """-1, 0 or 1 for a constant formula; raises Undecided if neither ball nor normal form settles it.

    >>> from ecm.formula import parse
    >>> sign(parse("log(6) - log(2) - log(3)")), sign(parse("sqrt(2) - 1414213562/10**9"))
    (0, 1)
    """
    if isinstance(node, Num):
        return (node.value > 0) - (node.value < 0)
    zero_tested = False
    for bits in PRECISIONS:
        with precision(bits):
            ball = node.ball(arb(0))
            if ball > 0:
                return 1
            if ball < 0:
                return -1
            defined = ball.is_finite()  # the normal form of 0/x does not see that x is 0
        if defined and not zero_tested:
            if is_zero(node):
                return 0
            zero_tested = True
    raise Undecided(f"it is open whether {node.text()[:200]} is zero (it is below 2**-{PRECISIONS[-1] // 2} or so)")


def is_zero(node: Node) -> bool:
    """Whether the normal form proves that the constant is zero (False: not shown)."""
    try:
        top, bottom = _normal(node)
        return bool(bottom) and not top
    except (ExpressionError, Undefined, _TooMany):
        return False


class _TooMany(Exception):
    """The normal form grows beyond its limit."""


def _times(a: Sum, b: Sum) -> Sum:
    if len(a) * len(b) > MAX_TERMS:
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
            number *= Fraction(int(base)) ** whole
            exponents[base] = e - whole
    return number, tuple(sorted((b, e) for b, e in exponents.items() if e))


def _plus(a: Sum, b: Sum) -> Sum:
    out = dict(a)
    for m, c in b.items():
        out[m] = out.get(m, Fraction(0)) + c
    return {m: c for m, c in out.items() if c}


def _primes(n: int) -> list[tuple[int, int]]:
    if n.bit_length() > 120:
        raise _TooMany
    return [(int(p), int(e)) for p, e in fmpz(n).factor()]


def _normal(node: Node) -> tuple[Sum, Sum]:
    """(numerator, denominator) with the value numerator/denominator."""
    one: Sum = {(): Fraction(1)}
    if isinstance(node, Num):
        return ({(): node.value} if node.value else {}), one
    if isinstance(node, Add):
        top, bottom = _normal(node.terms[0])
        for term in node.terms[1:]:
            a, b = _normal(term)
            top, bottom = (
                (_plus(top, a), bottom)
                if b == bottom
                else (_plus(_times(top, b), _times(a, bottom)), _times(bottom, b))
            )
        return top, bottom
    if isinstance(node, Mul):
        top, bottom = one, one
        for factor in node.factors:
            a, b = _normal(factor)
            top, bottom = _times(top, a), _times(bottom, b)
        return top, bottom
    if isinstance(node, Pow) and isinstance(node.exponent, Num):
        e = node.exponent.value
        if isinstance(node.base, Num) and node.base.value > 0:
            factors = [(str(p), k * e) for p, k in _primes(node.base.value.numerator)]
            factors += [(str(p), -k * e) for p, k in _primes(node.base.value.denominator)]
            number, key = _monomial(factors)
            return {key: number}, one
        if e.denominator == 1 and abs(e) <= 8:
            a, b = _normal(node.base)
            if e < 0:
                a, b = b, a
            top, bottom = one, one
            for _ in range(abs(e.numerator)):
                top, bottom = _times(top, a), _times(bottom, b)
            return top, bottom
        return {((node.base.text(), e),): Fraction(1)}, one
    if isinstance(node, Function) and node.name == "log" and isinstance(node.argument, Num):
        v = node.argument.value
        out: Sum = {}
        for p, k in [*_primes(v.numerator), *((p, -k) for p, k in _primes(v.denominator))]:
            out = _plus(out, {((f"log({p})", Fraction(1)),): Fraction(k)})
        return out, one
    if isinstance(node, Function) and node.name in ("exp", "expm1") and isinstance(node.argument, Num):
        out = {(("E", node.argument.value),): Fraction(1)}
        return (out if node.name == "exp" else _plus(out, {(): Fraction(-1)})), one
    return {((node.text(), Fraction(1)),): Fraction(1)}, one
