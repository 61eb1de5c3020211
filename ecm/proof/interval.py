"""Why a formula is the g of an elementwise-concave metric: four conditions on [0, 1].

Concavity is shown piece by piece (`concavity`) and at the points between pieces; since g is concave, it is
increasing as soon as its slope at 1 is not negative, and then g <= 1 as soon as g(1) <= 1. A condition that fails comes
with rational points at which it fails (`witness`); one that is neither shown nor refuted in time raises Undecided.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import sympy as sp
from sympy import Expr

from ecm.errors import ExpressionError, NotAnECM, Undecided, Undefined, Witness
from ecm.formula import (
    Formula,
    add,
    ball_of,
    brief,
    clip,
    derivative,
    exact,
    point_ball,
    precision,
    short,
    sign,
    sign_at,
    smooth,
)
from ecm.proof.concavity import concave_piece
from ecm.proof.continuity import continuous_at
from ecm.proof.deadline import Deadline
from ecm.proof.domain import prove_real, refute_real
from ecm.proof.expansion import sign_near
from ecm.proof.pieces import Piece, cells_of, merged
from ecm.proof.rules import Known, known_between
from ecm.proof.verdict import Condition, Proof, open_unless_settled
from ecm.proof.witness import (
    COARSE,
    SAMPLES,
    refute,
    refute_beside,
    reject_above,
    reject_undefined,
)

BITS = 128
ONE = Fraction(1)


def prove(formula: Formula, seconds: float) -> Proof:
    """Return the proof on all of [0, 1]; raises NotAnECM with a witness, or Undecided after about `seconds`."""
    deadline, g = Deadline(seconds), formula.expr
    with precision(BITS):
        with open_unless_settled("g(0) = 0 and real values", g):
            refute_real(formula, SAMPLES)
            refute_start(g)
            refute(g, COARSE)
            refute(g, SAMPLES)
            prove_real(formula, deadline)
        with open_unless_settled("concave", g):
            shape = _whole(g)
            if shape is not None and shape.concave:
                concave, last = Condition("concave", "composition rules", "g as a whole"), g
            else:
                cells = _cells(g, deadline)
                concave, last = _concave(g, cells, deadline), cells[-1].expr
        with open_unless_settled("increasing", g):
            if shape is not None and shape.up:
                increasing = Condition("increasing", "composition rules", "g as a whole")
            else:
                increasing = _increasing(g, last if smooth(last) else _cells(g, deadline)[-1].expr)
        with open_unless_settled("g <= 1", g):
            top = prove_top(g)
    zero = Condition("g(0) = 0", "exact value", "g(0) = 0")
    return Proof((zero, concave, increasing, top))


def prove_top(g: Expr) -> Condition:
    """Prove g(1) <= 1 for an increasing g."""
    if sign_at(add((g, sp.Integer(-1))), ONE) > 0:
        raise reject_above(g, ONE)
    try:
        shown = brief(exact(g, ONE))
    except ExpressionError:  # too long to be written out
        shown = short(point_ball(g, ONE), 10)
    return Condition("g <= 1", "exact value", f"g(1) = {shown}")


def refute_start(g: Expr) -> None:
    """Raises NotAnECM unless g(0) = 0."""
    try:
        start = exact(g, Fraction(0))
        wrong = sign(start) != 0
    except Undefined as error:
        raise reject_undefined(g, Fraction(0), str(error)) from None
    if wrong:
        raise NotAnECM(
            f"g = {clip(g)} does not start at 0: g(0) = {brief(start)}; subtract that constant",
            "g(0) = 0",
            Witness((Fraction(0),)),
        )


def _whole(g: Expr) -> Known | None:
    """Return what the rules say of g as a whole; None if g may jump, or they say nothing."""
    return None if _may_jump(g) else known_between(g, Fraction(0), ONE)


def _may_jump(g: sp.Basic) -> bool:
    """Return whether a sign or a Piecewise occurs; all else is continuous wherever it is defined."""
    return isinstance(g, sp.Piecewise | sp.sign) or any(map(_may_jump, g.args))


def _may_jump_inside(g: sp.Basic) -> bool:
    """Return whether g may jump inside (0, 1); sign(f) does not where f keeps its sign."""
    if isinstance(g, sp.sign):
        shape = known_between(g.args[0], Fraction(0), ONE)
        return shape is None or not (shape.positive or shape.negative) or _may_jump_inside(g.args[0])
    return isinstance(g, sp.Piecewise) or any(map(_may_jump_inside, g.args))


def _cells(g: Expr, deadline: Deadline) -> tuple[Piece, ...]:
    try:
        return tuple(cells_of(g, deadline))
    except Undefined as error:
        refute(g, [Fraction(k, 4096) for k in range(4097)])
        raise Undecided(str(error)) from None


def _concave(g: Expr, cells: tuple[Piece, ...], deadline: Deadline) -> Condition:
    _start(g, cells[0])
    jumpy = _may_jump_inside(g)
    for left, right in pairwise(cells):
        deadline.check("the comparison of slopes at the kinks")
        if jumpy or left.expr != right.expr:
            _kink(g, left, right, jumpy)
    pieces = merged(cells)
    details = [concave_piece(g, piece, deadline) for piece in pieces]
    if not smooth(g):
        _end(g, pieces[-1].expr)
    method = "composition rules" if all(d.rules for d in details) else "interval bounds"
    if len(pieces) == 1:
        return Condition("concave", method, details[0].text)
    spans = "; ".join(f"({p.left}, {p.right}): {d.text}" for p, d in zip(pieces, details, strict=True))
    return Condition("concave", method, f"{spans}; slopes fall at each kink")


def _start(g: Expr, first: Piece) -> None:
    """g may jump up at 0 (the step of l0), never down."""
    try:
        jump = exact(first.expr, Fraction(0))
    except Undefined as error:
        if _rises_from(first):
            return
        raise Undecided(f"the limit of g at 0 is not known: {error}") from None
    if sign(jump) < 0:
        refute_beside(g, Fraction(0), ONE)
        raise Undecided(f"g falls to {brief(jump)} right of 0")


def _rises_from(first: Piece) -> bool:
    """Return whether the first piece is positive: then its limit at 0, which exists where it is concave, is not
    negative."""
    shape = known_between(first.expr, Fraction(0), first.right.hi)
    if shape is not None and shape.positive:
        return True
    beside = sign_near(first.expr, Fraction(0), 1, first.right.lo)
    return beside is not None and beside >= 0


def _end(g: Expr, last: Expr) -> None:
    """g must not jump at 1."""
    a, b = exact(last, ONE), exact(g, ONE)
    if a != b and sign(a - b) != 0:
        refute_beside(g, ONE, Fraction(1, 8))
        raise Undecided(f"g jumps by {brief(b - a)} at z = 1")


def _kink(g: Expr, left: Piece, right: Piece, jumpy: bool) -> None:
    """At the point between two cells g must be continuous and its slope must not rise."""
    point = left.right
    around = point.narrowed(Fraction(1, 1 << 200))[0] if point.value is None else point.value
    width = min(around - left.left.hi, right.right.lo - around)
    if point.exact is not None:
        values = [exact(f, point.exact) for f in (left.expr, right.expr, g)]
        if any(v != values[0] and sign(v - values[0]) != 0 for v in values[1:]):
            refute_beside(g, around, width)
            raise Undecided(f"g is not continuous at z = {point}")
        if left.expr == right.expr:
            return
        rise = sign(exact(derivative(right.expr), point.exact) - exact(derivative(left.expr), point.exact))
    else:
        found = point.ball()
        if jumpy and not continuous_at(g, left, right):
            if not ball_of(right.expr, found).overlaps(ball_of(left.expr, found)):
                refute_beside(g, around, width)
            raise Undecided(f"it is open whether g is continuous at z = {point}")
        if left.expr == right.expr:
            return
        change = ball_of(derivative(right.expr), found) - ball_of(derivative(left.expr), found)
        if change < 0:
            return
        if not change > 0:
            raise Undecided(f"the slopes on the two sides of z = {point} are too close to compare")
        rise = 1
    if rise > 0:
        refute_beside(g, around, width)
        raise Undecided(f"the slope rises at the kink z = {point}")


def _increasing(g: Expr, last: Expr) -> Condition:
    """Prove that a concave g is increasing: g'(1-) >= 0 is all that is needed."""
    s: int | None
    try:
        slope = exact(derivative(last), ONE)
        s, detail = sign(slope), f"g'(1) = {brief(slope)}"
    except (Undefined, ExpressionError):
        s, detail = sign_near(derivative(last), ONE, -1, ONE), "g' >= 0 beside 1, by expansion"
    if s is None:
        raise Undecided("the slope of g at 1 is not known")
    if s < 0:
        refute_beside(g, ONE, ONE)
        raise Undecided(f"{detail} < 0, yet no decrease is seen")
    return Condition("increasing", "concavity and slope", detail)
