"""The inverse of a distribution function as a formula, where a few steps find it; sympy's solver has no time limit."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm

import sympy
from sympy import Expr

from ecm.formula import Z, size

_MOST_PARTS = 80
_W = sympy.Symbol("w", positive=True)


def inverse_of(rising: Expr, u: Expr, lower: Expr, upper: Expr) -> Expr | None:
    """Return the solution z in (lower, upper) of rising(z) = u, told from spurious ones at three points.

    >>> u = sympy.Symbol("u", positive=True)
    >>> inverse_of(Z**2 / (Z + 1) ** 2, u, sympy.Integer(0), sympy.Integer(1))
    -sqrt(u)/(sqrt(u) - 1)
    """
    if size(rising) > _MOST_PARTS:
        return None
    tests = [lower + (upper - lower) * sympy.Rational(k, 8) for k in (1, 4, 7)]
    for candidate in _solutions(rising, u):
        if all(abs((candidate.subs(u, rising.subs(Z, t)) - t).evalf(30)) < 1e-20 for t in tests):
            return sympy.factor(candidate)
    return None


def _solutions(f: Expr, u: Expr) -> Iterator[Expr]:
    """Yield candidates for z with f(z) = u: the outermost operation is undone until z is left."""
    if f == Z:
        yield u
        return
    offset, moving = f.as_independent(Z, as_Add=True)
    factor, core = moving.as_independent(Z, as_Add=False)
    if (offset, factor) != (0, 1):
        yield from _solutions(core, (u - offset) / factor)
    elif isinstance(f, sympy.exp):
        yield from _solutions(f.args[0], sympy.log(u))
    elif isinstance(f, sympy.log):
        yield from _solutions(f.args[0], sympy.exp(u))
    else:
        base, exponent = _common_power(f)
        if exponent != 1:
            yield from _solutions(base, u ** (1 / exponent))
        else:
            yield from _roots(f, u)


def _common_power(f: Expr) -> tuple[Expr, Expr]:
    """f as a power of a product whose exponents have no common factor."""
    parts = [factor.as_base_exp() for factor in sympy.Mul.make_args(f)]
    if not all(e.is_Rational for _, e in parts):
        return f, sympy.Integer(1)
    common = sympy.Rational(gcd(*(int(e.p) for _, e in parts)), lcm(*(int(e.q) for _, e in parts)))
    return sympy.Mul(*(base ** (e / common) for base, e in parts)), common


def _roots(f: Expr, u: Expr) -> Iterator[Expr]:
    """Yield the roots of f - u, where its numerator is linear or quadratic in a root of z."""
    exponents = [p.exp for p in f.atoms(sympy.Pow) if p.base == Z]
    if not all(e.is_Rational for e in exponents) or f.has(sympy.Function):
        return
    n = lcm(*(int(e.q) for e in exponents))
    top = sympy.numer(sympy.together(f.subs(Z, _W**n) - u))
    if not top.is_polynomial(_W) or sympy.degree(top, _W) > 2:
        return
    for root in sympy.roots(top, _W):
        yield sympy.expand(root) ** n if n > 1 else root
