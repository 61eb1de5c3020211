"""What is known of a formula on an interval: its range, and whether composition rules show it monotone or concave.

The rules are those of disciplined convex programming (Grant, Boyd and Ye, 2006): a concave non-decreasing function of a
concave one is concave, sums and minima of concave functions are concave, and so on. Ranges are kept as end points, so
an end that is exactly 0 stays exactly 0. Everything is meant on the OPEN interval: an end may be infinite, and `above`
(`below`) says that the lower (upper) end is not attained inside.
"""

from __future__ import annotations

import attrs
from flint import arb

from ecm.errors import Undefined
from ecm.formula import (
    ATOMS,
    MINUS_ONE,
    Add,
    Extremum,
    Function,
    Mul,
    Node,
    Num,
    Pow,
    Shape,
    Var,
    ball_power,
    coefficient,
    short,
)

INFINITY = arb.pos_inf()


@attrs.frozen(slots=True)
class Known:
    """Values lie between lo and hi; each flag that is True is proven."""

    lo: arb
    hi: arb
    up: bool = False
    down: bool = False
    concave: bool = False
    convex: bool = False
    above: bool = False
    below: bool = False

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


def known(node: Node, lo: arb, hi: arb) -> Known:
    """What is known on the open interval (lo, hi); raises Undefined where the formula may fail to be real.

    >>> from ecm.formula import parse
    >>> shape = known(parse("sqrt(log1p(z))"), arb(0), arb(1))
    >>> shape.up, shape.concave, shape.convex
    (True, True, False)
    """
    memo = dict[Node, Known]()

    def walk(n: Node) -> Known:
        found = memo.get(n)
        if found is None:
            found = memo[n] = _rule(n)
            if found.lo.is_nan() or found.hi.is_nan():
                raise Undefined(f"no bounds are known for {n.text()[:60]}")
        return found

    def _rule(n: Node) -> Known:
        if n.free:
            value = n.ball(arb(0))
            return Known(value, value, True, True, True, True)
        if isinstance(n, Var):
            return Known(lo, hi, up=True, concave=True, convex=True, above=True, below=True)
        if isinstance(n, Add):
            return _sum([walk(t) for t in n.terms])
        if isinstance(n, Mul):
            return _product(n, [walk(t) for t in n.factors])
        if isinstance(n, Pow):
            return _power(walk(n.base), n.exponent)
        if isinstance(n, Function):
            return _apply(n.name, walk(n.argument))
        if isinstance(n, Extremum):
            return _extremum(n.name, [walk(t) for t in n.arguments])
        raise Undefined("a Piecewise has no composition rule")

    return walk(node)


def _sum(parts: list[Known]) -> Known:
    lo, hi = parts[0].lo, parts[0].hi
    for part in parts[1:]:
        lo, hi = lo + part.lo, hi + part.hi
    return Known(
        lo,
        hi,
        all(p.up for p in parts),
        all(p.down for p in parts),
        all(p.concave for p in parts),
        all(p.convex for p in parts),
        any(p.above for p in parts),
        any(p.below for p in parts),
    )


def _flip(part: Known) -> Known:
    return Known(-part.hi, -part.lo, part.down, part.up, part.convex, part.concave, part.below, part.above)


def _times(a: arb, b: arb) -> arb:
    return arb(0) if a.is_zero() or b.is_zero() else a * b


def _product(node: Mul, parts: list[Known]) -> Known:
    number = coefficient(node)[0]
    if number < 0:
        head = Num(-number).ball(arb(0))
        rest = parts[1:]
        return _flip(_positive_product([Known(head, head, True, True, True, True), *rest], node.factors))
    return _positive_product(parts, node.factors)


def _positive_product(parts: list[Known], factors: tuple[Node, ...]) -> Known:
    constant, moving, bases = arb(1), list[Known](), list[Node]()
    for part, factor in zip(parts, factors, strict=True):
        if factor.free:
            constant = constant * part.lo
        else:
            moving.append(part)
            bases.append(factor)
    out = _saturation(bases, moving)
    if out is None:
        out = moving[0]
        for part in moving[1:]:
            out = _pair(out, part)
    if constant < 0:
        out, constant = _flip(out), -constant
    if not constant > 0:
        raise Undefined(f"the sign of the factor {short(constant)} is not known")
    return attrs.evolve(out, lo=_times(constant, out.lo), hi=_times(constant, out.hi))


def _saturation(factors: list[Node], parts: list[Known]) -> Known | None:
    """x/(k*x + c) with k, c > 0 is concave and increasing in x >= 0, which a product of its factors does not show."""
    if len(factors) != 2:
        return None
    for i in (0, 1):
        x, over = factors[i], factors[1 - i]
        if not (isinstance(over, Pow) and over.exponent == MINUS_ONE and isinstance(over.base, Add)):
            continue
        slopes = [c for c, rest in map(coefficient, over.base.terms) if rest == (x,) and c > 0]
        others = [term for term in over.base.terms if not term.free]
        if len(slopes) != 1 or len(others) != 1:
            continue
        k = Num(slopes[0]).ball(arb(0))
        c = sum((term.ball(arb(0)) for term in over.base.terms if term.free), arb(0))
        inner = parts[i]
        if c > 0 and inner.lo >= 0 and inner.hi.is_finite():
            lo, hi = (end / (k * end + c) for end in (inner.lo, inner.hi))
            return _compose((True, False, True, False), inner, lo, hi, above=inner.above, below=inner.below)
    return None


def _pair(a: Known, b: Known) -> Known:
    if a.hi <= 0 and not a.lo >= 0:
        return _flip(_pair(_flip(a), b))
    if b.hi <= 0 and not b.lo >= 0:
        return _flip(_pair(a, _flip(b)))
    if a.lo >= 0 and b.lo >= 0:
        return Known(
            _times(a.lo, b.lo),
            _times(a.hi, b.hi),
            a.up and b.up,
            a.down and b.down,
            above=a.positive and b.positive and (a.above or b.above),
            below=bool(a.hi > 0 and b.hi > 0) and (a.below or b.below),
        )
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo = hi = ends[0]
    for end in ends[1:]:
        lo, hi = lo.min(end), hi.max(end)
    return Known(lo, hi)


def _compose(shape: Shape, x: Known, lo: arb, hi: arb, *, above: bool = False, below: bool = False) -> Known:
    up, down, concave, convex = shape
    return Known(
        lo,
        hi,
        (up and x.up) or (down and x.down),
        (up and x.down) or (down and x.up),
        concave and ((up and x.concave) or (down and x.convex) or x.affine),
        convex and ((up and x.convex) or (down and x.concave) or x.affine),
        above,
        below,
    )


def _power(x: Known, exponent: Node) -> Known:
    e = exponent.ball(arb(0))
    whole = exponent.value.numerator if isinstance(exponent, Num) and exponent.value.denominator == 1 else None
    if whole is not None and not x.lo >= 0:
        if x.hi <= 0:  # (-x)**n with its sign
            inner = _power(_flip(x), exponent)
            return inner if whole % 2 == 0 else _flip(inner)
        if whole < 0:
            raise Undefined("a division by an expression that may be zero")
        lo, hi = ball_power(x.lo, exponent), ball_power(x.hi, exponent)
        if whole % 2:
            return _compose((True, False, False, False), x, lo, hi)
        return _compose((False, False, False, True), x, arb(0), lo.max(hi))
    if not x.lo >= 0:
        raise Undefined("a fractional power of an expression that may be negative")
    if e < 0:
        if not x.positive:
            raise Undefined("a division by an expression that may be zero")
        top = ball_power(x.lo, exponent) if x.lo > 0 else INFINITY
        bottom = ball_power(x.hi, exponent) if x.hi.is_finite() else arb(0)
        above = x.below or not x.hi.is_finite()  # 1/x reaches its lower end where x reaches its upper one
        return _compose((False, True, False, True), x, bottom, top, above=above, below=x.above)
    if not e > 0:
        raise Undefined("a power whose exponent may be negative")
    lo = ball_power(x.lo, exponent)
    hi = ball_power(x.hi, exponent) if x.hi.is_finite() else INFINITY
    return _compose((True, False, bool(e <= 1), bool(e >= 1)), x, lo, hi, above=x.above, below=x.below)


def _apply(name: str, x: Known) -> Known:
    atom = ATOMS[name]
    if name == "sign" and (x.positive or x.negative):
        value = arb(1 if x.positive else -1)
        return Known(value, value, True, True, True, True)
    if atom.above is not None and not (x.lo > atom.above or (x.above and x.lo >= atom.above)):
        raise Undefined(f"{name} of an expression that may be {atom.above} or less")
    shape = atom.shape(x.lo, x.hi)
    bottom = -INFINITY if atom.above is not None and not x.lo > atom.above else None
    if shape[0] or shape[1]:
        lo = atom.ball(x.lo) if bottom is None else bottom
        hi = atom.ball(x.hi)
        if shape[1] and not shape[0]:
            return _compose(shape, x, hi, lo, above=x.below, below=x.above)
        return _compose(shape, x, lo, hi, above=x.above and name != "sign", below=x.below and name != "sign")
    if name == "Abs":
        return _compose(shape, x, arb(0), (-x.lo).max(x.hi))
    if shape[2]:  # a strictly concave function exceeds its values at both ends in between
        return _compose(shape, x, atom.ball(x.lo).min(atom.ball(x.hi)), arb(1), above=x.above and x.below)
    return _compose(shape, x, arb(-1), arb(1))


def _extremum(name: str, parts: list[Known]) -> Known:
    if name == "Max":
        return _flip(_extremum("Min", [_flip(p) for p in parts]))
    lo, hi = parts[0].lo, parts[0].hi
    for part in parts[1:]:
        lo, hi = lo.min(part.lo), hi.min(part.hi)
    return Known(
        lo,
        hi,
        all(p.up for p in parts),
        all(p.down for p in parts),
        all(p.concave for p in parts),
        False,
        all(p.above for p in parts),
    )
