"""What is known of a formula on an interval: its range, and whether composition rules show it monotone or concave.

The rules are those of disciplined convex programming (Grant, Boyd and Ye, 2006): a concave non-decreasing function of a
concave one is concave, sums and minima of concave functions are concave, and so on. Ranges are kept as end points, so
an end that is exactly 0 stays exactly 0. Everything is meant on the OPEN interval: an end may be infinite, and `above`
(`below`) says that the lower (upper) end is not attained inside.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import attrs
import sympy as sp
from flint import arb
from sympy import Expr

from ecm.errors import Undefined
from ecm.formula import BY_CLASS, Shape, Z, as_ball, clip, constant_ball, free, in_order, power, short

INFINITY = arb.pos_inf()


@attrs.frozen(slots=True)
class Known:
    """Values lie between lo and hi; each flag that is True is proven."""

    lo: arb
    hi: arb
    up: bool = attrs.field(default=False, kw_only=True)
    down: bool = attrs.field(default=False, kw_only=True)
    concave: bool = attrs.field(default=False, kw_only=True)
    convex: bool = attrs.field(default=False, kw_only=True)
    above: bool = attrs.field(default=False, kw_only=True)
    below: bool = attrs.field(default=False, kw_only=True)

    @property
    def affine(self) -> bool:
        return self.concave and self.convex

    @property
    def positive(self) -> bool:
        """Whether every value is > 0."""
        return bool(self.lo > 0 or (self.above and self.lo >= 0))

    @property
    def negative(self) -> bool:
        """Whether every value is < 0."""
        return bool(self.hi < 0 or (self.below and self.hi <= 0))

    def flipped(self) -> Known:
        """Return the same of the negative."""
        return Known(
            -self.hi,
            -self.lo,
            up=self.down,
            down=self.up,
            concave=self.convex,
            convex=self.concave,
            above=self.below,
            below=self.above,
        )


def known(e: Expr, lo: arb, hi: arb) -> Known:
    """Return what is known on the open interval (lo, hi); raises Undefined where the formula may fail to be real.

    >>> from ecm.formula import read
    >>> shape = known(read("sqrt(log1p(z))").expr, arb(0), arb(1))
    >>> shape.up, shape.concave, shape.convex
    (True, True, False)
    """
    here = Known(lo, hi, up=True, concave=True, convex=True, above=True, below=True)
    found = list[Known]()
    for node, parts in _order(e):
        k = here if node == Z else _rule(node, [found[i] for i in parts])
        if k.lo.is_nan() or k.hi.is_nan():
            raise Undefined(f"no bounds are known for {clip(node, 60)}")
        found.append(k)
    return found[-1]


@lru_cache(4096)
def _order(e: Expr) -> list[tuple[Expr, tuple[int, ...]]]:
    return in_order(e, lambda n: () if free(n) or isinstance(n, sp.Piecewise) else n.args[:1] if n.is_Pow else n.args)


def known_between(e: Expr, lo: Fraction, hi: Fraction) -> Known | None:
    """Return what is known between two fractions; None where the formula may fail to be real."""
    try:
        return known(e, as_ball(lo), as_ball(hi))
    except Undefined:
        return None


def _rule(n: Expr, parts: list[Known]) -> Known:
    if free(n):
        return _constant(constant_ball(n))
    if n.is_Add:
        return _sum(parts)
    if n.is_Mul:
        return _product(n, parts)
    if n.is_Pow:
        return _power(parts[0], n.exp)
    if isinstance(n, sp.Min):
        return _minimum(parts)
    if isinstance(n, sp.Max):
        return _minimum([part.flipped() for part in parts]).flipped()
    if n.func in BY_CLASS:
        return _function(n, parts[0])
    raise Undefined(f"{n.func.__name__} has no composition rule")


def _constant(value: arb) -> Known:
    return Known(value, value, up=True, down=True, concave=True, convex=True)


def _sum(parts: list[Known]) -> Known:
    lo, hi = parts[0].lo, parts[0].hi
    for part in parts[1:]:
        lo, hi = lo + part.lo, hi + part.hi
    return Known(
        lo,
        hi,
        up=all(p.up for p in parts),
        down=all(p.down for p in parts),
        concave=all(p.concave for p in parts),
        convex=all(p.convex for p in parts),
        above=any(p.above for p in parts),
        below=any(p.below for p in parts),
    )


def _minimum(parts: list[Known]) -> Known:
    lo, hi = parts[0].lo, parts[0].hi
    for part in parts[1:]:
        lo, hi = lo.min(part.lo), hi.min(part.hi)
    return Known(
        lo,
        hi,
        up=all(p.up for p in parts),
        down=all(p.down for p in parts),
        concave=all(p.concave for p in parts),
        above=all(p.above for p in parts),
    )


def _times(a: arb, b: arb) -> arb:
    return arb(0) if a.is_zero() or b.is_zero() else a * b


def _product(n: Expr, parts: list[Known]) -> Known:
    constant, moving = arb(1), list[Known]()
    for factor, part in zip(n.args, parts, strict=True):
        if free(factor):
            constant = constant * part.lo
        else:
            moving.append(part)
    out = _saturation(n, parts)
    if out is None:
        out = moving[0]
        for part in moving[1:]:
            out = _pair(out, part)
    if constant < 0:
        out, constant = out.flipped(), -constant
    if not constant > 0:
        raise Undefined(f"the sign of the factor {short(constant)} is not known")
    return attrs.evolve(out, lo=_times(constant, out.lo), hi=_times(constant, out.hi))


@lru_cache(4096)
def _saturated(n: Expr) -> tuple[Expr, Expr, Expr, int] | None:
    """Return (x, k, c, i) if the moving factors of a product are x = args[i] and 1/(k*x + c)."""
    moving = [(i, factor) for i, factor in enumerate(n.args) if not free(factor)]
    if len(moving) != 2:
        return None
    for (i, x), (_, over) in (moving, moving[::-1]):
        if not (over.is_Pow and over.exp == -1 and over.base.is_Add):
            continue
        c, rest = over.base.as_independent(Z, as_Add=True)
        k, core = rest.as_independent(Z, as_Add=False)
        if core == x:
            return x, k, c, i
    return None


def _saturation(n: Expr, parts: list[Known]) -> Known | None:
    """x/(k*x + c) with k, c > 0 is concave and increasing in x >= 0, which a product of its factors does not show."""
    found = _saturated(n)
    if found is None:
        return None
    k, c, x = constant_ball(found[1]), constant_ball(found[2]), parts[found[3]]
    if not (k > 0 and c > 0 and x.lo >= 0 and x.hi.is_finite()):
        return None
    lo, hi = (end / (k * end + c) for end in (x.lo, x.hi))
    return _composed((True, False, True, False), x, lo, hi, above=x.above, below=x.below)


def _pair(a: Known, b: Known) -> Known:
    if a.hi <= 0 and not a.lo >= 0:
        return _pair(a.flipped(), b).flipped()
    if b.hi <= 0 and not b.lo >= 0:
        return _pair(a, b.flipped()).flipped()
    if a.lo >= 0 and b.lo >= 0:
        return Known(
            _times(a.lo, b.lo),
            _times(a.hi, b.hi),
            up=a.up and b.up,
            down=a.down and b.down,
            above=a.positive and b.positive and (a.above or b.above),
            below=bool(a.hi > 0 and b.hi > 0) and (a.below or b.below),
        )
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo = hi = ends[0]
    for end in ends[1:]:
        lo, hi = lo.min(end), hi.max(end)
    return Known(lo, hi)


def _composed(shape: Shape, x: Known, lo: arb, hi: arb, *, above: bool = False, below: bool = False) -> Known:
    up, down, concave, convex = shape
    return Known(
        lo,
        hi,
        up=(up and x.up) or (down and x.down),
        down=(up and x.down) or (down and x.up),
        concave=concave and ((up and x.concave) or (down and x.convex) or x.affine),
        convex=convex and ((up and x.convex) or (down and x.concave) or x.affine),
        above=above,
        below=below,
    )


def _power(x: Known, exponent: Expr) -> Known:
    e = constant_ball(exponent)
    whole = int(exponent) if exponent.is_Integer else None
    if whole is not None and not x.lo >= 0:
        if x.hi <= 0:  # (-x)**n with its sign
            inner = _power(x.flipped(), exponent)
            return inner if whole % 2 == 0 else inner.flipped()
        if whole < 0:
            raise Undefined("a division by an expression that may be zero")
        lo, hi = power(x.lo, exponent), power(x.hi, exponent)
        if whole % 2:
            return _composed((True, False, False, False), x, lo, hi)
        return _composed((False, False, False, True), x, arb(0), lo.max(hi))
    if not x.lo >= 0:
        raise Undefined("a fractional power of an expression that may be negative")
    if e < 0:
        if not x.positive:
            raise Undefined("a division by an expression that may be zero")
        top = power(x.lo, exponent) if x.lo > 0 else INFINITY
        bottom = power(x.hi, exponent) if x.hi.is_finite() else arb(0)
        above = x.below or not x.hi.is_finite()  # 1/x reaches its lower end where x reaches its upper one
        return _composed((False, True, False, True), x, bottom, top, above=above, below=x.above)
    if not e > 0:
        raise Undefined("a power whose exponent may be negative")
    lo = power(x.lo, exponent)
    hi = power(x.hi, exponent) if x.hi.is_finite() else INFINITY
    return _composed((True, False, bool(e <= 1), bool(e >= 1)), x, lo, hi, above=x.above, below=x.below)


def _function(n: Expr, x: Known) -> Known:
    function = BY_CLASS[n.func]
    if isinstance(n, sp.sign):
        if x.positive or x.negative:
            return _constant(arb(1 if x.positive else -1))
        return _composed(function.shape(x.lo, x.hi), x, function.ball(x.lo), function.ball(x.hi))
    low = function.above
    if low is not None and not (x.lo > low or (x.above and x.lo >= low)):
        raise Undefined(f"{function.name} of an expression that may be {low} or less")
    shape = function.shape(x.lo, x.hi)
    if shape[0] or shape[1]:
        ends = [-INFINITY if low is not None and not x.lo > low else function.ball(x.lo), function.ball(x.hi)]
        if shape[1] and not shape[0]:
            return _composed(shape, x, ends[1], ends[0], above=x.below, below=x.above)
        return _composed(shape, x, ends[0], ends[1], above=x.above, below=x.below)
    if isinstance(n, sp.Abs):
        return _composed(shape, x, arb(0), (-x.lo).max(x.hi))
    if shape[2]:  # a strictly concave function exceeds its values at both ends in between
        ends = [function.ball(x.lo), function.ball(x.hi)]
        return _composed(shape, x, ends[0].min(ends[1]), arb(1), above=x.above and x.below)
    return _composed(shape, x, arb(-1), arb(1))
