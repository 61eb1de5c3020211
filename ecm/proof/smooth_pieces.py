"""The smooth pieces of a formula: where Min, Max, Abs, sign and Piecewise switch, found rigorously.

Switching points are roots of differences of branches. They are exact where they are rational or a closed form is at
hand; other roots are isolated: the difference changes sign on an interval on which it is strictly monotone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import attrs
from flint import arb, ctx, fmpq

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula import (
    ONE,
    Add,
    Clock,
    Extremum,
    Function,
    Mul,
    Node,
    Num,
    Piecewise,
    Pow,
    Var,
    add,
    evaluate,
    function,
    mul,
    power,
    sign,
    sign_beside,
)
from ecm.proof.rules import known

MAX_SPLITS = 200


@attrs.frozen
class Point:
    """A point of [0, 1]: a constant formula (`exact`), or the only root of `root` in (lo, hi)."""

    lo: Fraction
    hi: Fraction
    exact: Node | None = None
    root: Node | None = None

    @classmethod
    def of(cls, value: Node | Fraction | int) -> Point:
        """From an exact constant."""
        node = value if isinstance(value, Node) else Num(Fraction(value))
        if isinstance(node, Num):
            return cls(node.value, node.value, node)
        ball = node.ball(arb(0))
        return cls(_fraction(ball.lower()), _fraction(ball.upper()), node)

    @property
    def value(self) -> Fraction | None:
        """The point if it is rational."""
        return self.exact.value if isinstance(self.exact, Num) else None

    def ball(self) -> arb:
        """An enclosure at the present precision of flint."""
        if self.exact is not None:
            return self.exact.ball(arb(0))
        lo, hi = self.narrowed(Fraction(1, 1 << ctx.prec))
        return as_ball(lo).union(as_ball(hi))

    def narrowed(self, width: Fraction) -> tuple[Fraction, Fraction]:
        """Rational bounds at most `width` apart."""
        lo, hi = self.lo, self.hi
        if self.root is None:
            return lo, hi
        below = _sign_at(self.root, lo)
        while hi - lo > width:
            middle = (lo + hi) / 2
            s = _sign_at(self.root, middle)
            if s == 0:
                return middle, middle
            lo, hi = (middle, hi) if s == below else (lo, middle)
        return lo, hi

    def __float__(self) -> float:
        return float(self.ball().mid())

    def sympy(self) -> Any:
        """The point as a sympy number; an isolated root as a float of 30 digits."""
        if self.exact is not None:
            return self.exact.sympy(None)
        import sympy

        lo, _ = self.narrowed(Fraction(1, 1 << 110))
        return sympy.Float(sympy.Rational(lo.numerator, lo.denominator), 30)

    def __str__(self) -> str:
        return self.exact.text() if self.exact is not None else f"{float(self):.12g}..."


@attrs.frozen
class Piece:
    """g on (left, right), as a formula without Min, Max, Abs, sign or Piecewise."""

    left: Point
    right: Point
    node: Node


def as_ball(x: Fraction) -> arb:
    """The rational as a ball."""
    return arb(fmpq(x.numerator, x.denominator))


def _fraction(x: arb) -> Fraction:
    man, exp = x.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def _sign_at(node: Node, x: Fraction) -> int:
    ball = node.ball(as_ball(x))
    return 1 if ball > 0 else -1 if ball < 0 else sign(evaluate(node, x))


def pieces_of(node: Node, clock: Clock) -> tuple[Piece, ...]:
    """The maximal smooth pieces of the formula on (0, 1).

    >>> from ecm.formula import parse
    >>> [(str(p.left), str(p.right), p.node.text()) for p in pieces_of(parse("Min(3*z, 1)/18"), Clock(5))]
    [('0', '1/3', 'z/6'), ('1/3', '1', '1/18')]
    """
    return merged(cells_of(node, clock))


def merged(cells: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbouring cells with equal formulas as one piece."""
    out = list[Piece]()
    for cell in cells:
        if out and cell.node == out[-1].node:
            out[-1] = attrs.evolve(out[-1], right=cell.right)
        else:
            out.append(cell)
    return tuple(out)


def cells_of(node: Node, clock: Clock) -> list[Piece]:
    """The pieces before neighbours with equal formulas are merged.

    Every zero of a switching difference stands between two cells, so a value that differs at a single point, as in
    Piecewise((1, (z - 1/2)**2 <= 0), (z, True)), can be seen there.
    """
    return list(_resolve(node, Point.of(0), Point.of(1), clock))


def _resolve(node: Node, a: Point, b: Point, clock: Clock) -> Iterator[Piece]:
    clock.check("cutting the formula into smooth pieces")
    if node.smooth:
        yield Piece(a, b, node)
    elif isinstance(node, Extremum):
        first, rest = node.arguments[0], node.arguments[1:]
        for cell in _lists([first, *rest], a, b, clock):
            yield from _extremes(node.name, list(cell[2]), cell[0], cell[1], clock)
    elif isinstance(node, Piecewise):
        yield from _branches(list(node.branches), a, b, clock)
    elif isinstance(node, Function) and node.name in ("sign", "Abs"):
        for piece in _resolve(node.argument, a, b, clock):
            for lo, hi, s in signs(piece.node, piece.left, piece.right, clock):
                yield Piece(lo, hi, Num(Fraction(s)) if node.name == "sign" else piece.node * s)
    else:
        parts = list(node.children)
        for lo, hi, smooth in _lists(parts, a, b, clock):
            yield Piece(lo, hi, _rebuild(node, list(smooth)))


def _rebuild(node: Node, children: list[Node]) -> Node:
    if isinstance(node, Add):
        return add(children)
    if isinstance(node, Mul):
        return mul(children)
    if isinstance(node, Pow):
        return power(children[0], children[1])
    assert isinstance(node, Function)
    return function(node.name, children[0])


def _lists(nodes: list[Node], a: Point, b: Point, clock: Clock) -> Iterator[tuple[Point, Point, tuple[Node, ...]]]:
    """Cells on which all the formulas are smooth."""
    if not nodes:
        yield a, b, ()
        return
    for piece in _resolve(nodes[0], a, b, clock):
        for lo, hi, rest in _lists(nodes[1:], piece.left, piece.right, clock):
            yield lo, hi, (piece.node, *rest)


def _extremes(name: str, nodes: list[Node], a: Point, b: Point, clock: Clock) -> Iterator[Piece]:
    if len(nodes) == 1:
        yield Piece(a, b, nodes[0])
        return
    first, second, *rest = nodes
    for lo, hi, s in signs(first - second, a, b, clock):
        chosen = first if (s <= 0) == (name == "Min") else second
        yield from _extremes(name, [chosen, *rest], lo, hi, clock)


def _branches(branches: list[Any], a: Point, b: Point, clock: Clock) -> Iterator[Piece]:
    if not branches:
        raise Undefined(f"no branch of the Piecewise applies between {a} and {b}")
    value, conditions = branches[0]
    if not conditions:
        yield from _resolve(value, a, b, clock)
        return
    for piece in _resolve(conditions[0].difference, a, b, clock):
        for lo, hi, s in signs(piece.node, piece.left, piece.right, clock):
            if conditions[0].holds(s):
                yield from _branches([(value, conditions[1:]), *branches[1:]], lo, hi, clock)
            else:
                yield from _branches(branches[1:], lo, hi, clock)


def signs(node: Node, a: Point, b: Point, clock: Clock) -> list[tuple[Point, Point, int]]:
    """Intervals of (a, b) on which the smooth formula keeps one sign; all its zeros inside lie between them.

    >>> from ecm.formula import parse
    >>> [(str(lo), str(hi), s) for lo, hi, s in signs(parse("sqrt(z) - 3*z/4 - 1/4"), *map(Point.of, (0, 1)), Clock(5))]
    [('0', '1/9', -1), ('1/9', '1/3', 1), ('1/3', '1/2', 1), ('1/2', '1', 1)]
    """
    if node.free:
        return [(a, b, sign(node))]
    cells = _closed_form(node, a, b)
    return _isolated(node, a, b, clock) if cells is None else cells


def _closed_form(node: Node, a: Point, b: Point) -> list[tuple[Point, Point, int]] | None:
    """For c*z**e + d: the root is (-d/c)**(1/e)."""
    terms = node.terms if isinstance(node, Add) else (node,)
    moving = [t for t in terms if not t.free]
    if len(moving) != 1 or a.exact is None or b.exact is None:
        return None
    rest = moving[0].factors if isinstance(moving[0], Mul) else (moving[0],)
    front = mul([f for f in rest if f.free])
    core = [f for f in rest if not f.free]
    if len(core) != 1:
        return None
    base, exponent = (core[0].base, core[0].exponent) if isinstance(core[0], Pow) else (core[0], ONE)
    if not isinstance(base, Var) or not isinstance(exponent, Num) or exponent.value < 0:
        return None
    offset = add([t for t in terms if t.free])
    s, level = sign(front), sign(offset)
    if level in (0, s):
        return [(a, b, s)]
    try:
        root = power(-offset / front, exponent**-1)
        if sign(root - a.exact) <= 0:
            return [(a, b, s)]
        if sign(root - b.exact) >= 0:
            return [(a, b, -s)]
    except ExpressionError:
        return None
    point = Point.of(root)
    return [(a, point, -s), (point, b, s)]


def _isolated(node: Node, a: Point, b: Point, clock: Clock) -> list[tuple[Point, Point, int]]:
    out = list[tuple[Point, Point, int]]()
    stack = [(a.lo, b.hi, 0)]
    left = a
    while stack:
        clock.check(f"finding where {node.text()[:80]} changes sign")
        lo, hi, depth = stack.pop()
        s = _one_sign(node, lo, hi)
        right = b if not stack else Point.of(hi)
        if s is not None:
            out.append((left, right, s))
            left = right
            continue
        if _monotone(node, lo, hi):
            ends = _sign_at(node, lo), _sign_at(node, hi)
            if ends[0] * ends[1] < 0:
                root = _polished(node, lo, hi)
                if (a.value is None and root.lo <= a.hi) or (b.value is None and root.hi >= b.lo):
                    raise Undecided(f"it is open whether {node.text()[:80]} vanishes at {a} or {b} or beside it")
                out += [(left, root, ends[0]), (root, right, ends[1])]
            else:
                out.append((left, right, ends[0] or ends[1]))
            left = right
            continue
        if depth > MAX_SPLITS:
            raise Undecided(f"it is open where {node.text()[:80]} changes sign near z = {float(lo):.6g}")
        middle = simplest((3 * lo + hi) / 4, (lo + 3 * hi) / 4)
        if not node.ball(as_ball(middle)).is_finite():
            raise Undecided(f"{node.text()[:80]} has no known value at z = {middle}")
        stack += [(middle, hi, depth + 1), (lo, middle, depth + 1)]
    return out


def _one_sign(node: Node, lo: Fraction, hi: Fraction) -> int | None:
    """The sign on all of the open interval, if bounds or an expansion at one of its ends show it."""
    try:
        shape = known(node, as_ball(lo), as_ball(hi))
        if shape.positive:
            return 1
        if shape.negative:
            return -1
    except Undefined:
        pass
    for end, side in ((lo, 1), (hi, -1)):
        try:
            return sign_beside(node, end, side, hi - lo)
        except (Undefined, ExpressionError):
            continue
    return None


def _monotone(node: Node, lo: Fraction, hi: Fraction) -> bool:
    """Whether the formula is strictly monotone on the interval and defined at its ends."""
    try:
        evaluate(node, lo), evaluate(node, hi)
        slope = known(node.slope, as_ball(lo), as_ball(hi))
    except (Undefined, ExpressionError):
        return False
    return slope.positive or slope.negative


def _polished(node: Node, lo: Fraction, hi: Fraction) -> Point:
    """The root between lo and hi, exact if it is a rational of moderate size."""
    point = Point(lo, hi, root=node)
    near = point.narrowed(Fraction(1, 1 << 60))
    guess = simplest(*near)
    if guess.denominator < 1 << 26 and sign_or_none(node, guess) == 0:
        return Point.of(guess)
    return Point(*near, root=node)


def sign_or_none(node: Node, x: Fraction) -> int | None:
    """The sign at x, None if it is open."""
    try:
        return _sign_at(node, x)
    except (Undecided, Undefined, ExpressionError):
        return None


def simplest(lo: Fraction, hi: Fraction) -> Fraction:
    """The fraction of least denominator in [lo, hi].

    >>> simplest(Fraction(3, 10), Fraction(7, 20))
    Fraction(1, 3)
    """
    whole = -(-lo.numerator // lo.denominator)
    if whole <= hi:
        return Fraction(whole)
    floor = lo.numerator // lo.denominator
    return floor + 1 / simplest(1 / (hi - floor), 1 / (lo - floor))
