"""Why a formula is the g of an elementwise-concave metric: four conditions, each with the method that settles it.

Concavity is shown piece by piece (`concavity`) and at the points between pieces; since g is concave, it is
increasing as soon as its slope at 1 is not negative, and then g <= 1 as soon as g(1) <= 1. A condition that fails comes
with rational points at which it fails (`witness`); one that is neither shown nor refuted in time raises Undecided.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import attrs
from flint import arb

from ecm.errors import ExpressionError, NotAnECM, Undecided, Undefined
from ecm.formula import Clock, Function, Node, Num, Piecewise, evaluate, point_ball, precision, sign, sign_beside
from ecm.proof.concavity import concave_piece
from ecm.proof.rules import Known, known
from ecm.proof.smooth_pieces import Piece, cells_of, merged
from ecm.proof.witness import COARSE, SAMPLES, clip, refute, refute_beside, reject_above, reject_convex, reject_decrease

BITS = 128


@attrs.frozen
class Condition:
    """One condition, the method that established it, and the detail a reader can check."""

    condition: str
    method: str
    detail: str


@attrs.frozen
class Proof:
    """The four conditions of a profile, each with its method.

    >>> from ecm.formula import parse
    >>> print(prove(parse("2*z - z**2"), 5))
    g(0) = 0    exact value          g(0) = 0
    concave     composition rules    g as a whole
    increasing  concavity and slope  g'(1) = 0
    g <= 1      exact value          g(1) = 1
    """

    conditions: tuple[Condition, ...]

    def __iter__(self) -> Iterator[Condition]:
        return iter(self.conditions)

    def __str__(self) -> str:
        wide = [max(len(row[i]) for row in map(attrs.astuple, self.conditions)) for i in (0, 1)]
        return "\n".join(
            f"{c.condition:<{wide[0]}}  {c.method:<{wide[1]}}  {c.detail}".rstrip() for c in self.conditions
        )


def prove(node: Node, seconds: float) -> Proof:
    """The proof on all of [0, 1]; raises NotAnECM with a witness, or Undecided after about `seconds`."""
    clock = Clock(seconds)
    with precision(BITS):
        with _open("g(0) = 0 and real values", node):
            refute_start(node)
            refute(node, COARSE)
            refute(node, SAMPLES)
        with _open("concave", node):
            shape = _whole(node)
            if shape is not None and shape.concave:
                concave = Condition("concave", "composition rules", "g as a whole")
                last = node
            else:
                pieces = _pieces(node, clock)
                concave = _concave(node, pieces, clock)
                last = pieces[-1].node
        with _open("increasing", node):
            if shape is not None and shape.up:
                increasing = Condition("increasing", "composition rules", "g as a whole")
            else:
                increasing = _increasing(node, last if last.smooth else _pieces(node, clock)[-1].node)
        with _open("g <= 1", node):
            top = evaluate(node, Fraction(1))
            if sign(top - 1) > 0:
                raise reject_above(node, Fraction(1))
    zero = Condition("g(0) = 0", "exact value", "g(0) = 0")
    return Proof((zero, concave, increasing, Condition("g <= 1", "exact value", f"g(1) = {_brief(top)}")))


_GRID = "or prove it only where quantized inputs need it: from_expr(..., grid=255)"


@contextmanager
def _open(condition: str, node: Node, way: str = _GRID) -> Iterator[None]:
    """Whatever stops a proof short of a decision becomes Undecided, with the way on."""
    try:
        yield
    except NotAnECM:
        raise
    except Undefined as error:
        reason = str(error)
    except (ValueError, ArithmeticError, RecursionError, NotImplementedError) as error:
        reason = str(error) or type(error).__name__
    else:
        return
    raise Undecided(
        f"g = {clip(node)}: the condition '{condition}' is open ({reason}). Give it more time (seconds=...), write the "
        f"formula in another way, {way}"
    )


def _brief(value: Node) -> str:
    if isinstance(value, Num) and len(value.text()) <= 24:
        return value.text()
    digits = str(value.ball(arb(0)).str(10, radius=False))
    return f"{value.text()} = {digits}" if len(value.text()) <= 40 else digits


def refute_start(node: Node) -> None:
    """Raises NotAnECM unless g(0) = 0."""
    try:
        start = evaluate(node, Fraction(0))
        wrong = sign(start) != 0
    except Undefined as error:
        raise NotAnECM(f"g = {clip(node)} is not real at z = 0: {error}", "real on [0, 1]", "z = 0") from None
    if wrong:
        raise NotAnECM(
            f"g = {clip(node)} does not start at 0: g(0) = {_brief(start)}; subtract that constant",
            "g(0) = 0",
            f"g(0) = {_brief(start)}",
        )


def _whole(node: Node) -> Known | None:
    """What the rules say of g as a whole; None if g may jump, or they say nothing."""
    if _may_jump(node):
        return None
    try:
        shape = known(node, arb(0), arb(1))
        evaluate(node, Fraction(0)), evaluate(node, Fraction(1))
    except (Undefined, Undecided, ExpressionError):
        return None
    return shape


def _may_jump(node: Node) -> bool:
    """Whether a sign or a Piecewise occurs; all else is continuous wherever it is defined."""
    if isinstance(node, Piecewise) or (isinstance(node, Function) and node.name == "sign"):
        return not node.free
    return any(_may_jump(child) for child in node.children)


def _may_jump_inside(node: Node) -> bool:
    """Whether g may jump inside (0, 1); sign(f) does not where f keeps its sign."""
    if isinstance(node, Function) and node.name == "sign" and not node.free:
        try:
            shape = known(node.argument, arb(0), arb(1))
        except Undefined:
            return True
        return not (shape.positive or shape.negative) or _may_jump_inside(node.argument)
    return (isinstance(node, Piecewise) and not node.free) or any(_may_jump_inside(child) for child in node.children)


def _pieces(node: Node, clock: Clock) -> tuple[Piece, ...]:
    try:
        return tuple(cells_of(node, clock))
    except Undefined as error:
        refute(node, [Fraction(k, 4096) for k in range(4097)])
        raise Undecided(str(error)) from None


def _concave(node: Node, cells: tuple[Piece, ...], clock: Clock) -> Condition:
    _start(node, cells[0])
    jumpy = _may_jump_inside(node)
    for left, right in pairwise(cells):
        clock.check("the comparison of slopes at the kinks")
        if jumpy or left.node != right.node:
            _kink(node, left, right, jumpy)
    pieces = merged(cells)
    details = [concave_piece(node, piece, clock) for piece in pieces]
    _same(node, evaluate(pieces[-1].node, Fraction(1)), evaluate(node, Fraction(1)), Fraction(1))
    method = "composition rules" if all(d.rules for d in details) else "interval bounds"
    if len(pieces) == 1:
        return Condition("concave", method, details[0].text)
    spans = "; ".join(f"({p.left}, {p.right}): {d.text}" for p, d in zip(pieces, details, strict=True))
    return Condition("concave", method, f"{spans}; slopes fall at each kink")


def _start(node: Node, first: Piece) -> None:
    """g may jump up at 0 (the step of l0), never down."""
    try:
        jump = evaluate(first.node, Fraction(0))
    except Undefined as error:
        raise Undecided(f"the limit of g at 0 is not known: {error}") from None
    if sign(jump) < 0:
        refute_beside(node, Fraction(0), Fraction(1))
        raise Undecided(f"g falls to {_brief(jump)} right of 0")


def _same(node: Node, a: Node, b: Node, at: Fraction) -> None:
    if a != b and sign(a - b) != 0:
        refute_beside(node, at, Fraction(1, 8))
        raise Undecided(f"g jumps by {_brief(b - a)} at z = {at}")


def _kink(node: Node, left: Piece, right: Piece, jumpy: bool) -> None:
    """At the point between two cells g must be continuous and its slope must not rise."""
    point = left.right
    around = point.narrowed(Fraction(1, 1 << 200))[0] if point.value is None else point.value
    width = min(around - left.left.hi, right.right.lo - around)
    if point.exact is not None:
        values = [evaluate(f, point.exact) for f in (left.node, right.node, node)]
        if any(v != values[0] and sign(v - values[0]) != 0 for v in values[1:]):
            refute_beside(node, around, width)
            raise Undecided(f"g is not continuous at z = {point}")
        if left.node == right.node:
            return
        rise = sign(evaluate(right.node.slope, point.exact) - evaluate(left.node.slope, point.exact))
    else:
        ball = point.ball()
        if jumpy:
            if not right.node.ball(ball).overlaps(left.node.ball(ball)):
                refute_beside(node, around, width)
            raise Undecided(f"it is open whether g is continuous at z = {point}")
        change = right.node.slope.ball(ball) - left.node.slope.ball(ball)
        if not (change < 0 or change > 0):
            raise Undecided(f"the slopes on the two sides of z = {point} are too close to compare")
        rise = 1 if change > 0 else -1
    if rise > 0:
        refute_beside(node, around, width)
        raise Undecided(f"the slope rises at the kink z = {point}")


def _increasing(node: Node, last: Node) -> Condition:
    """g is concave, so g'(1-) >= 0 is all that is needed."""
    try:
        slope = evaluate(last.slope, Fraction(1))
        s, detail = sign(slope), f"g'(1) = {_brief(slope)}"
    except (Undefined, ExpressionError):
        s, detail = _slope_beside_one(last), "g' >= 0 beside 1, by expansion"
    if s < 0:
        for j in range(1, 200):
            x = 1 - Fraction(1, 1 << j)
            with precision(BITS + 2 * j):
                if point_ball(node, x) > point_ball(node, Fraction(1)):
                    raise reject_decrease(node, x, Fraction(1))
        raise Undecided(f"{detail} < 0, yet no decrease is seen")
    return Condition("increasing", "concavity and slope", detail)


def _slope_beside_one(last: Node) -> int:
    for j in range(2, 40, 4):
        try:
            return sign_beside(last.slope, Fraction(1), -1, Fraction(1, 1 << j))
        except (Undefined, ExpressionError):
            continue
    raise Undecided("the slope of g at 1 is not known")


def prove_on_grid(node: Node, q: int, seconds: float) -> Proof:
    """The proof at the points k/q only, which is all that levels need (docs/theory.md, the quantized law)."""
    clock = Clock(seconds)
    with precision(BITS), _open(f"g on the grid of {q}", node, "or take a coarser grid"):
        refute_start(node)
        balls = list[arb]()
        for k in range(q + 1):
            clock.check(f"the proof on the grid k/{q}")
            try:
                balls.append(point_ball(node, Fraction(k, q)))
            except Undefined as error:
                x = Fraction(k, q)
                raise NotAnECM(
                    f"g = {clip(node)} is not real at z = {x}: {error}", "real on the grid", f"z = {x}"
                ) from None
        for k in range(1, q):
            bend = balls[k - 1] + balls[k + 1] - 2 * balls[k]
            if bend <= 0:
                continue
            clock.check(f"the proof on the grid k/{q}")
            points = (Fraction(k - 1, q), Fraction(k, q), Fraction(k + 1, q))
            if bend > 0 or _bend(node, points) > 0:
                raise reject_convex(node, points)
        ends = Fraction(q - 1, q), Fraction(1)
        last = balls[q] - balls[q - 1]
        if last < 0 or (not last >= 0 and sign(evaluate(node, ends[1]) - evaluate(node, ends[0])) < 0):
            raise reject_decrease(node, *ends)
        top = evaluate(node, Fraction(1))
        if sign(top - 1) > 0:
            raise reject_above(node, Fraction(1))
    where = f"at k/{q}, k = 0..{q}"
    return Proof(
        (
            Condition("g(0) = 0", "exact value", "g(0) = 0"),
            Condition("concave", "exact values on the grid", f"second differences <= 0 {where}"),
            Condition("increasing", "exact values on the grid", "concave, and the last difference is >= 0"),
            Condition("g <= 1", "exact value", f"g(1) = {_brief(top)}"),
        )
    )


def _bend(node: Node, points: tuple[Fraction, Fraction, Fraction]) -> int:
    a, b, c = (evaluate(node, x) for x in points)
    return sign(a + c - 2 * b)


def prove_table(values: tuple[Fraction, ...]) -> Proof:
    """The proof for exact values at k/q."""
    q = len(values) - 1
    if values[0]:
        raise NotAnECM(f"the table starts at g(0) = {values[0]}, not at 0", "g(0) = 0", f"g(0) = {values[0]}")
    for k in range(1, q):
        if values[k - 1] + values[k + 1] > 2 * values[k]:
            raise NotAnECM(
                f"the table is not concave: at k = {k - 1}, {k}, {k + 1} it is {values[k - 1]}, {values[k]}, "
                f"{values[k + 1]}, and the middle value lies below the chord",
                "concave",
                f"k = {k - 1}, {k}, {k + 1}",
            )
    if values[q] < values[q - 1]:
        raise NotAnECM(
            f"the table is not increasing: {values[q - 1]} at k = {q - 1}, then {values[q]}", "increasing", f"k = {q}"
        )
    if values[q] > 1:
        raise NotAnECM(f"the table exceeds 1: it ends at {values[q]}", "g <= 1", f"g(1) = {values[q]}")
    return Proof(
        (
            Condition("g(0) = 0", "exact value", "the table starts at 0"),
            Condition("concave", "exact values on the grid", f"second differences <= 0 at k/{q}"),
            Condition("increasing", "exact values on the grid", "concave, and the last difference is >= 0"),
            Condition("g <= 1", "exact value", f"g(1) = {values[q]}"),
        )
    )


def prove_combination(how: str, top: Node, text: str) -> Proof:
    """The proof for an operation that keeps the first three conditions; only g(1) <= 1 is looked at again."""
    if sign(top - 1) > 0:
        raise NotAnECM(
            f"g = {text[:120]} exceeds 1: g(1) = {_brief(top)}; divide it by a constant, "
            f"or cap it as `.capped()` does: Min({text[:120]}, 1)",
            "g <= 1",
            "z = 1",
        )
    kept = [Condition(c, "composition rules", how) for c in ("g(0) = 0", "concave", "increasing")]
    return Proof((*kept, Condition("g <= 1", "exact value", f"g(1) = {_brief(top)}")))
