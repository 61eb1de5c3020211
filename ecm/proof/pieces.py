"""The smooth pieces of a formula: where Min, Max, Abs, sign and Piecewise switch, found rigorously.

Switching points are roots of differences of branches. They are exact where they are rational or a closed form is at
hand; other roots are isolated: the difference changes sign on an interval on which it is strictly monotone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction

import attrs
import sympy as sp
from flint import arb, ctx
from sympy import Expr

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula import (
    Value,
    Z,
    as_ball,
    ball_at,
    ball_of,
    clip,
    conditions,
    constant_ball,
    derivative,
    difference,
    fraction,
    free,
    holds,
    multiply,
    raised,
    rational,
    rebuild,
    sign,
    sign_at,
    smooth,
    text_of,
)
from ecm.proof.deadline import Deadline
from ecm.proof.expansion import sign_beside
from ecm.proof.rules import known_between
from ecm.proof.taylor import bounds

MAX_SPLITS = 200


@attrs.frozen
class Point:
    """A point of [0, 1]: a constant (`exact`), or the only root of `root` in (lo, hi)."""

    lo: Fraction
    hi: Fraction
    exact: Expr | None = None
    root: Expr | None = None

    @classmethod
    def of(cls, value: Expr | Fraction | int) -> Point:
        """Return the end at an exact constant."""
        e = value if isinstance(value, sp.Basic) else rational(Fraction(value))
        if e.is_Rational:
            return cls(fraction(e), fraction(e), e)
        found = constant_ball(e)
        return cls(_fraction(found.lower()), _fraction(found.upper()), e)

    @property
    def value(self) -> Fraction | None:
        """The point if it is rational."""
        return fraction(self.exact) if self.exact is not None and self.exact.is_Rational else None

    def ball(self) -> Value:
        """Return an enclosure at the present precision of flint."""
        if self.exact is not None:
            return constant_ball(self.exact)
        lo, hi = self.narrowed(Fraction(1, 1 << ctx.prec))
        return as_ball(lo).union(as_ball(hi))

    def narrowed(self, width: Fraction) -> tuple[Fraction, Fraction]:
        """Return rational bounds at most `width` apart."""
        lo, hi = self.lo, self.hi
        if self.root is None:
            return lo, hi
        below = sign_at(self.root, lo)
        while hi - lo > width:
            middle = (lo + hi) / 2
            s = sign_at(self.root, middle)
            lo, hi = (middle, hi) if s == below else (lo, middle)
        return lo, hi

    @property
    def number(self) -> Expr:
        """The point as a sympy number; an isolated root as a float of 30 digits."""
        if self.exact is not None:
            return self.exact
        return sp.Float(rational(self.narrowed(Fraction(1, 1 << 110))[0]), 30)

    def __float__(self) -> float:
        return float(self.ball().mid())

    def __str__(self) -> str:
        return text_of(self.exact) if self.exact is not None else f"{float(self):.12g}..."


@attrs.frozen
class Piece:
    """g on (left, right), as an expression without Min, Max, Abs, sign or Piecewise."""

    left: Point
    right: Point
    expr: Expr


Signed = tuple[Point, Point, int]
Together = tuple[Point, Point, tuple[Expr, ...]]


def _fraction(x: arb) -> Fraction:
    man, exp = x.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def pieces_of(e: Expr, deadline: Deadline) -> tuple[Piece, ...]:
    """Return the maximal smooth pieces of the formula on (0, 1).

    >>> from ecm.formula import read
    >>> [(str(p.left), str(p.right), p.expr) for p in pieces_of(read("Min(3*z, 1)/18").expr, Deadline(5))]
    [('0', '1/3', z/6), ('1/3', '1', 1/18)]
    """
    return merged(cells_of(e, deadline))


def merged(cells: Iterable[Piece]) -> tuple[Piece, ...]:
    """Return neighbouring cells with equal formulas as one piece."""
    out = list[Piece]()
    for cell in cells:
        if out and cell.expr == out[-1].expr:
            out[-1] = attrs.evolve(out[-1], right=cell.right)
        else:
            out.append(cell)
    return tuple(out)


def cells_of(e: Expr, deadline: Deadline) -> list[Piece]:
    """Return the pieces before neighbours with equal formulas are merged.

    Every zero of a switching difference stands between two cells, so a value that differs at a single point, as in
    Piecewise((1, (z - 1/2)**2 <= 0), (z, True)), can be seen there.
    """
    return list(_resolved(e, Point.of(0), Point.of(1), deadline))


def _resolved(e: Expr, a: Point, b: Point, deadline: Deadline) -> Iterator[Piece]:
    deadline.check("cutting the formula into smooth pieces")
    if smooth(e):
        yield Piece(a, b, e)
    elif isinstance(e, sp.Piecewise):
        yield from _branches([(v, conditions(t)) for v, t in e.args], a, b, deadline)
    else:
        ordered = tuple(sorted(e.args, key=text_of)) if isinstance(e, sp.Min | sp.Max) else e.args
        for lo, hi, parts in _together(ordered, a, b, deadline):
            if isinstance(e, sp.Min | sp.Max):
                yield from _extremes(isinstance(e, sp.Min), parts, lo, hi, deadline)
            elif isinstance(e, sp.sign | sp.Abs):
                for left, right, s in signs(parts[0], lo, hi, deadline):
                    yield Piece(left, right, sp.Integer(s) if isinstance(e, sp.sign) else parts[0] * s)
            else:
                yield Piece(lo, hi, rebuild(e, parts))


def _together(exprs: tuple[Expr, ...], a: Point, b: Point, deadline: Deadline) -> Iterator[Together]:
    """Yield cells on which all the formulas are smooth."""
    if not exprs:
        yield a, b, ()
        return
    for piece in _resolved(exprs[0], a, b, deadline):
        for lo, hi, rest in _together(exprs[1:], piece.left, piece.right, deadline):
            yield lo, hi, (piece.expr, *rest)


def _extremes(least: bool, exprs: tuple[Expr, ...], a: Point, b: Point, deadline: Deadline) -> Iterator[Piece]:
    if len(exprs) == 1:
        yield Piece(a, b, exprs[0])
        return
    first, second, *rest = exprs
    for lo, hi, s in signs(first - second, a, b, deadline):
        chosen = first if (s <= 0) == least else second
        yield from _extremes(least, (chosen, *rest), lo, hi, deadline)


Branches = list[tuple[Expr, tuple[sp.Basic, ...]]]


def _branches(branches: Branches, a: Point, b: Point, deadline: Deadline) -> Iterator[Piece]:
    if not branches:
        raise Undefined(f"no branch of the Piecewise applies between {a} and {b}")
    value, tests = branches[0]
    if not tests:
        yield from _resolved(value, a, b, deadline)
        return
    for piece in _resolved(difference(tests[0]), a, b, deadline):
        for lo, hi, s in signs(piece.expr, piece.left, piece.right, deadline):
            rest: Branches = [(value, tests[1:])] if holds(tests[0], s) else []
            yield from _branches([*rest, *branches[1:]], lo, hi, deadline)


def signs(e: Expr, a: Point, b: Point, deadline: Deadline) -> list[Signed]:
    """Return intervals of (a, b) on which the smooth formula keeps one sign; all its zeros inside lie between them.

    >>> from ecm.formula import read
    >>> difference = read("sqrt(z) - 3*z/4 - 1/4").expr
    >>> [(str(lo), str(hi), s) for lo, hi, s in signs(difference, *map(Point.of, (0, 1)), Deadline(5))]
    [('0', '1/9', -1), ('1/9', '1/3', 1), ('1/3', '1/2', 1), ('1/2', '1', 1)]
    """
    if free(e):
        return [(a, b, sign(e))]
    cells = closed_form(e, a, b)
    return _isolated(e, a, b, deadline) if cells is None else cells


def closed_form(e: Expr, a: Point, b: Point) -> list[Signed] | None:
    """Return the signs of c*z**p + d, which has the root (-d/c)**(1/p); None for any other formula."""
    offset, moving = e.as_independent(Z, as_Add=True)
    front, core = moving.as_independent(Z, as_Add=False)
    base, p = core.as_base_exp()
    if base != Z or not (p.is_Rational and p > 0) or a.exact is None or b.exact is None:
        return None
    s = sign(front)
    if sign(offset) in (0, s):
        return [(a, b, s)]
    try:
        root = raised(multiply((sp.Integer(-1), offset, 1 / front)), 1 / p)
        if sign(root - a.exact) <= 0:
            return [(a, b, s)]
        if sign(root - b.exact) >= 0:
            return [(a, b, -s)]
    except ExpressionError:
        return None
    point = Point.of(root)
    return [(a, point, -s), (point, b, s)]


def _isolated(e: Expr, a: Point, b: Point, deadline: Deadline) -> list[Signed]:
    out = list[Signed]()
    stack = [(a.lo, b.hi, 0)]
    left = a
    while stack:
        deadline.check(f"finding where {clip(e, 80)} changes sign")
        lo, hi, depth = stack.pop()
        right = b if not stack else Point.of(hi)
        s = _one_sign(e, lo, hi)
        if s is not None:
            out.append((left, right, s))
        elif _monotone(e, lo, hi):
            ends = sign_at(e, lo), sign_at(e, hi)
            if ends[0] * ends[1] < 0:
                root = _polished(e, lo, hi)
                if (a.value is None and root.lo <= a.hi) or (b.value is None and root.hi >= b.lo):
                    raise Undecided(f"it is open whether {clip(e, 80)} vanishes at {a} or {b} or beside it")
                out += [(left, root, ends[0]), (root, right, ends[1])]
            else:
                out.append((left, right, ends[0] or ends[1]))
        else:
            if depth > MAX_SPLITS:
                raise Undecided(f"it is open where {clip(e, 80)} changes sign near z = {float(lo):.6g}")
            middle = simplest((3 * lo + hi) / 4, (lo + 3 * hi) / 4)
            if not ball_of(e, as_ball(middle)).is_finite():
                raise Undecided(f"{clip(e, 80)} has no known value at z = {middle}")
            stack += [(middle, hi, depth + 1), (lo, middle, depth + 1)]
            continue
        left = right
    return out


def _one_sign(e: Expr, lo: Fraction, hi: Fraction) -> int | None:
    """Return the sign on all of the open interval, if bounds or an expansion at one of its ends show it."""
    shape = known_between(e, lo, hi)
    if shape is not None and (shape.positive or shape.negative):
        return 1 if shape.positive else -1
    found = bounds(e, lo, hi)
    if found > 0 or found < 0:
        return 1 if found > 0 else -1
    for end, side in ((lo, 1), (hi, -1)):
        if ball_at(e, end).contains(0):  # elsewhere smaller intervals do
            with suppress(Undefined, ExpressionError):
                return sign_beside(e, end, side, hi - lo)
    return None


def _monotone(e: Expr, lo: Fraction, hi: Fraction) -> bool:
    """Return whether the formula is strictly monotone on the interval and defined at its ends."""
    slope = known_between(derivative(e), lo, hi)
    return bool(
        slope is not None
        and (slope.positive or slope.negative)
        and ball_at(e, lo).is_finite()
        and ball_at(e, hi).is_finite()
    )


def _polished(e: Expr, lo: Fraction, hi: Fraction) -> Point:
    """Return the root between lo and hi, exact if it is a rational of moderate size."""
    near = Point(lo, hi, root=e).narrowed(Fraction(1, 1 << 60))
    guess = simplest(*near)
    if guess.denominator < 1 << 26 and _vanishes(e, guess):
        return Point.of(guess)
    return Point(*near, root=e)


def _vanishes(e: Expr, x: Fraction) -> bool:
    try:
        return sign_at(e, x) == 0
    except (Undecided, Undefined, ExpressionError):
        return False


def simplest(lo: Fraction, hi: Fraction) -> Fraction:
    """Return the fraction of least denominator in [lo, hi].

    >>> simplest(Fraction(3, 10), Fraction(7, 20))
    Fraction(1, 3)
    """
    whole = -(-lo.numerator // lo.denominator)
    if whole <= hi:
        return Fraction(whole)
    floor = lo.numerator // lo.denominator
    return floor + 1 / simplest(1 / (hi - floor), 1 / (lo - floor))
