"""That a formula is real as it is written, also where sympy has cancelled what it was written with.

The rule: a formula means what is written, and must have a real value at every point of [0, 1] (of the grid, for a grid
proof). Nothing is extended: z/z - 1, exp(log(z)) and (pi/z)**(1/3)*z have no value at 0, whatever their limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from sympy import Expr

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula import Formula, Requirement, ball_of, clip, free, requirements_of, sign_at, smooth
from ecm.proof.deadline import Deadline
from ecm.proof.pieces import Point, cells_of, closed_form, signs
from ecm.proof.witness import reject_undefined

CURE = "nothing is cancelled or extended: write the simpler formula, or its value there by a Piecewise"


def prove_real(formula: Formula, deadline: Deadline) -> None:
    """Raises NotAnECM with a point where a requirement that was cancelled fails, or Undecided."""
    for need in formula.needs:
        if not free(need.expr):
            _everywhere(formula, need, deadline)
    for need in set(requirements_of(formula.expr)):
        _at_pole(formula, need)


def _at_pole(g: Formula, need: Requirement) -> None:
    """Looks where c*z**p + d vanishes: bounds come ever closer to such a pole, and never say that there is one."""
    if need.need != "nonzero" or not smooth(need.expr):
        return
    found = closed_form(need.expr, Point.of(0), Point.of(1)) or []
    for (_, point, _), _ in pairwise(found):
        if point.value is not None:
            _at(g, need, (point.value,), "[0, 1]")


def refute_real(formula: Formula, points: Iterable[Fraction], where: str = "[0, 1]") -> None:
    """Raises NotAnECM if a requirement that was cancelled fails at one of these points, Undecided if it is open."""
    places = list(points) if formula.needs else []
    for need in formula.needs:
        _at(formula, need, places, where)


def _at(g: Formula, need: Requirement, points: Iterable[Fraction], where: str) -> None:
    for x in points:
        if not need.met(_sign(need, x)):
            raise reject_undefined(g.written, x, f"{need.reason} ({CURE})", where)


def _sign(need: Requirement, x: Fraction) -> int:
    """Return the sign of the required expression; where it has none itself, another requirement says so."""
    try:
        return sign_at(need.expr, x)
    except Undefined:
        return 1
    except ExpressionError as error:
        raise Undecided(str(error)) from None


def _everywhere(g: Formula, need: Requirement, deadline: Deadline) -> None:
    found = list[tuple[Expr, Point, Point]]()
    for piece in cells_of(need.expr, deadline):
        for left, right, s in signs(piece.expr, piece.left, piece.right, deadline):
            if not need.met(s):
                _at(g, need, ((left.hi + right.lo) / 2,), "[0, 1]")
                raise Undecided(f"{clip(need.expr, 80)} is not {need.need} between {left} and {right}")
            found.append((piece.expr, left, right))
    for (before, _, point), (after, _, _) in pairwise(found):
        _at_point(g, need, point, (before, after))


def _at_point(g: Formula, need: Requirement, point: Point, beside: tuple[Expr, Expr]) -> None:
    """A requirement at a point between two intervals on which it is met."""
    if point.value is not None:
        _at(g, need, (point.value,), "[0, 1]")
        return
    balls = [ball_of(e, point.ball()) for e in beside]  # the value there is that of one of the two sides
    if not all(b > 0 or (b < 0 and need.need == "nonzero") for b in balls) and need.need != "nonnegative":
        raise Undecided(f"it is open whether {clip(need.expr, 80)} is {need.need} at z = {point}")
