"""That a formula is real as it is written, also where sympy has cancelled what it was written with.

The rule: a formula means what is written, and must have a real value at every point of [0, 1] (of the grid, for a grid
proof). Nothing is extended: z/z - 1, exp(log(z)) and (pi/z)**(1/3)*z have no value at 0, whatever their limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from ecm._errors import ExpressionError, NotAnECM, Undecided, Undefined
from ecm.formula import Expr, Formula, Requirement, clip, exact, free, sign
from ecm.proof.deadline import Deadline
from ecm.proof.pieces import Point, cells_of, signs
from ecm.proof.witness import reject_undefined

CURE = "nothing is cancelled or extended: write the simpler formula, or its value there by a Piecewise"


def prove_real(formula: Formula, deadline: Deadline) -> None:
    """Raises NotAnECM with a point where a requirement that was cancelled fails, or Undecided."""
    for need in formula.needs:
        _at(formula.expr, need, (Fraction(0), Fraction(1, 2), Fraction(1)), "[0, 1]")
        if not free(need.expr):
            _everywhere(formula.expr, need, deadline)


def prove_real_on_grid(formula: Formula, q: int) -> None:
    """The same at the points k/q only."""
    for need in formula.needs:
        _at(formula.expr, need, (Fraction(k, q) for k in range(q + 1)), "the grid")


def _at(g: Expr, need: Requirement, points: Iterable[Fraction], where: str) -> None:
    for x in points:
        if not need.met(_sign(need, x)):
            raise _rejected(g, need, x, where)


def _sign(need: Requirement, x: Fraction) -> int:
    """The sign of the required expression; where it has none itself, another requirement says so."""
    try:
        return sign(exact(need.expr, x))
    except Undefined:
        return 1
    except ExpressionError as error:
        raise Undecided(str(error)) from None


def _rejected(g: Expr, need: Requirement, x: Fraction, where: str) -> NotAnECM:
    return reject_undefined(g, x, f"{need.reason}, as {clip(need.expr, 60)} shows ({CURE})", where)


def _everywhere(g: Expr, need: Requirement, deadline: Deadline) -> None:
    found = [
        interval
        for piece in cells_of(need.expr, deadline)
        for interval in signs(piece.expr, piece.left, piece.right, deadline)
    ]
    for left, right, s in found:
        if not need.met(s):
            inside = (left.hi + right.lo) / 2
            _at(g, need, (inside,), "[0, 1]")
            raise Undecided(f"{clip(need.expr, 80)} is not {need.need} between {left} and {right}")
    for (_, point, _), _ in pairwise(found):
        _at_point(g, need, point)


def _at_point(g: Expr, need: Requirement, point: Point) -> None:
    """A requirement at a point between two intervals on which it is met."""
    if point.value is not None:
        _at(g, need, (point.value,), "[0, 1]")
    elif point.exact is None or not need.met(sign(exact(need.expr, point.exact))):
        raise Undecided(f"it is open whether {clip(need.expr, 80)} is {need.need} at z = {point}")
