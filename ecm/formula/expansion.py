"""A formula beside one point a: its expansion in t, where z = a + t**n or z = a - t**n, with rigorous remainder.

With n a common denominator of the exponents, fractional powers of z become whole powers of t, and what is singular at
the end (z**p, sqrt(log1p(z))) becomes t**v times a smooth u. Kept are the Taylor coefficients of u at t = 0 and
enclosures of the same coefficients at every t in [0, tau]. Dividing by t shifts both lists, since
u = f/t has u(t) = integral of f'(s t) over s in [0, 1]. By Taylor's theorem the last coefficient, enclosed on all of
[0, tau], bounds the remainder of u and of its derivatives.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import attrs
from flint import arb, fmpq

from ecm.errors import Undefined
from ecm.formula.atoms import ATOMS
from ecm.formula.atoms.series import multiply
from ecm.formula.atoms.series import power as series_power
from ecm.formula.expression import Add, Function, Mul, Node, Num, Pow, Var, as_node, ball_power
from ecm.formula.folding import power

MAX_ROOT = 24


@attrs.frozen
class Germ:
    """t**v * u(t); `at` holds the coefficients of u at 0, `over` their enclosures on [0, tau]."""

    v: int
    at: list[Any]
    over: list[Any]


class _Finer(Exception):
    """A power of t is fractional; n must be a multiple of the factor."""

    def __init__(self, factor: int) -> None:
        self.factor = factor


class _Expansion:
    """The expansion of one formula at one end, z = a + side * t**n for t in [0, tau]."""

    def __init__(self, a: Fraction, side: int, n: int, tau: arb, order: int) -> None:
        self.a, self.side, self.n, self.order = fmpq(a.numerator, a.denominator), side, n, order
        self.all = (arb(0)).union(tau)

    def shifted(self, k: int) -> list[Any]:
        """Coefficients of (T + x)**k in x, T = [0, tau]."""
        return [(self.all ** (k - j)) * comb(k, j) if j <= k else fmpq(0) for j in range(self.order)]

    def constant(self, value: Any) -> Germ:
        zeros = [fmpq(0)] * (self.order - 1)
        return Germ(0, [value, *zeros], [value, *zeros])

    def raised(self, g: Germ, to: int) -> Germ:
        """The same function with the exponent v lowered to `to`."""
        k = g.v - to
        if k == 0:
            return g
        over = multiply(self.shifted(k)[: len(g.over)], g.over)
        return Germ(to, ([fmpq(0)] * k + g.at)[: len(over)], over)

    def lifted(self, g: Germ) -> Germ:
        """The same function with its exact zeros at t = 0 taken into v."""
        k = 0
        while k < len(g.at) - 1 and g.at[k] == 0:
            k += 1
        return Germ(g.v + k, g.at[k:], g.over[k:])

    def walk(self, node: Node) -> Germ:
        if node.free:
            return self.constant(_number(node))
        if isinstance(node, Var):
            if self.a == 0:
                return Germ(self.n, *[[fmpq(self.side), *[fmpq(0)] * (self.order - 1)]] * 2)
            at = [self.a, *[fmpq(0)] * (self.order - 1)]
            if self.n < self.order:
                at[self.n] = fmpq(self.side)
            over = [c * self.side for c in self.shifted(self.n)]
            over[0] = over[0] + self.a
            return Germ(0, at, over)
        if isinstance(node, Add):
            parts = [self.walk(t) for t in node.terms]
            v = min(p.v for p in parts)
            parts = [self.raised(p, v) for p in parts]
            return Germ(
                v,
                [sum(c, fmpq(0)) for c in zip(*(p.at for p in parts), strict=False)],
                [sum(c, fmpq(0)) for c in zip(*(p.over for p in parts), strict=False)],
            )
        if isinstance(node, Mul):
            out = self.walk(node.factors[0])
            for factor in node.factors[1:]:
                other = self.walk(factor)
                out = Germ(out.v + other.v, multiply(out.at, other.at), multiply(out.over, other.over))
            return out
        if isinstance(node, Pow) and isinstance(node.exponent, Num):
            return self._power(self.lifted(self.walk(node.base)), node.exponent)
        if isinstance(node, Function) and node.smooth:
            return self._apply(node.name, self.walk(node.argument))
        raise Undefined(f"no expansion is known for {node.text()[:60]}")

    def _power(self, g: Germ, exponent: Num) -> Germ:
        e = exponent.value
        v = e * g.v
        whole = e.denominator == 1
        if v.denominator != 1:
            raise _Finer(v.denominator)
        if not (g.over[0] > 0 or (whole and g.over[0] < 0)):
            raise Undefined("the base of a power may vanish beside the end")
        exact = fmpq(e.numerator, e.denominator)
        first = g.at[0]
        start = (
            _number(power(as_node(Fraction(int(first.p), int(first.q))), exponent))
            if isinstance(first, fmpq)
            else ball_power(first, exponent)
        )
        return Germ(
            int(v), series_power(g.at, exact, start), series_power(g.over, exact, ball_power(arb(g.over[0]), exponent))
        )

    def _apply(self, name: str, g: Germ) -> Germ:
        g = self.lifted(g) if g.v < 0 else g
        if g.v < 0:
            raise Undefined(f"the argument of {name} is unbounded at the end")
        g = self.raised(g, 0)
        atom = ATOMS[name]
        if atom.above is not None and not g.over[0] > atom.above:
            raise Undefined(f"{name} may be undefined beside the end")
        return Germ(0, atom.taylor(g.at, atom.ball(arb(g.at[0]))), atom.taylor(g.over, atom.ball(arb(g.over[0]))))


def _number(node: Node) -> Any:
    return fmpq(node.value.numerator, node.value.denominator) if isinstance(node, Num) else node.ball(arb(0))


def expand(node: Node, a: Fraction, side: int, width: Fraction, extra: int = 8) -> tuple[Germ, int, arb]:
    """The germ of a smooth formula at a, towards side = 1 (right) or -1 (left), valid on [a, a + side*width]."""
    n = 1
    while n <= MAX_ROOT:
        tau = ball_power(arb(fmpq(width.numerator, width.denominator)), Num(Fraction(1, n))).upper()
        expansion = _Expansion(a, side, n, tau, 2 * n + extra)
        try:
            return expansion.lifted(expansion.walk(node)), n, expansion.all
        except _Finer as finer:
            n *= finer.factor
    raise Undefined(f"the powers of z at {a} have a common denominator beyond {MAX_ROOT}")


def sign_beside(node: Node, a: Fraction, side: int, width: Fraction) -> int:
    """The sign of the formula on all of (a, a + side*width]; raises Undefined if the expansion does not settle it.

    >>> from ecm.formula import parse
    >>> sign_beside(parse("z - sin(z)"), Fraction(0), 1, Fraction(1, 2))
    1
    """
    germ, _, span = expand(node, a, side, width)
    return _leading(germ.at, germ.over, [Fraction(1)] * len(germ.at), span)


def curvature_beside(node: Node, a: Fraction, side: int, width: Fraction, flat: bool = False) -> int:
    """The sign of the second derivative on all of the open interval from a to a + side*width.

    With z = a + side*t**n, n**2 t**(2n) g''(z) = sum over k of k (k - n) c_k t**k. `flat` says that g''(a) = 0 is
    known exactly, which balls cannot see.

    >>> from ecm.formula import parse
    >>> curvature_beside(parse("sqrt(z) + z**2/10"), Fraction(0), 1, Fraction(1, 2))
    -1
    """
    germ, n, span = expand(node, a, side, width)
    if germ.v < 0:
        raise Undefined("the formula is unbounded at the end")
    # Taylor's theorem is used for g, g' and g'' in t, so the power t**v goes back into the lists
    germ = _Expansion(a, side, n, span.upper(), len(germ.at)).raised(germ, 0)
    last = len(germ.at) - 1
    at = [*germ.at[:2], fmpq(0), *germ.at[3:]] if flat and n == 1 else germ.at
    weights = [Fraction(j * (j - n)) for j in range(last + 1)]
    spread = arb(last * (last - 1)) * germ.over[last] - arb((n - 1) * last) * germ.over[last]
    return _leading(at, [*germ.over[:last], spread], weights, span, weighted_last=True)


def _leading(at: list[Any], over: list[Any], weights: list[Fraction], span: arb, weighted_last: bool = False) -> int:
    """The sign of sum weight_k c_k t**k on (0, tau], the last coefficient taken from `over`."""
    last = len(at) - 1
    terms = [at[k] * fmpq(weights[k].numerator, weights[k].denominator) for k in range(last)]
    w = fmpq(weights[last].numerator, weights[last].denominator)
    terms.append(over[last] if weighted_last else over[last] * w)
    first = next((k for k, c in enumerate(terms) if c != 0 or not _exact(c)), None)
    if first is None:
        return 0
    total = arb(0)
    for c in reversed(terms[first:]):
        total = total * span + c
    if total > 0:
        return 1
    if total < 0:
        return -1
    raise Undefined("the sign beside the end is not settled by the expansion")


def _exact(c: Any) -> bool:
    return isinstance(c, fmpq) or bool(c.is_exact())
