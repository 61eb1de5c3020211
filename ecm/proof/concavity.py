"""Concavity of one smooth piece: composition rules first, then rigorous bounds of g'' with adaptive subdivision.

Where g'' is singular or touches zero (at an end of the piece, or inside), bounds alone never succeed; there an
expansion with a rigorous remainder settles the sign on a whole neighbourhood (see `expansion`).
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from fractions import Fraction

import attrs
from sympy import Expr

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula import ball_at, derivative, exact, is_zero
from ecm.proof.deadline import Deadline
from ecm.proof.expansion import curvature_beside
from ecm.proof.pieces import Piece, simplest
from ecm.proof.rules import known_between
from ecm.proof.taylor import bounds
from ecm.proof.witness import refute_beside

MAX_CELLS = 20_000
MAX_DEPTH = 64


@attrs.frozen
class Evidence:
    """How concavity of a piece was shown: by rules alone, or on `cells` cells, `ends` of them by an expansion."""

    rules: bool
    cells: int = 0
    ends: int = 0

    @property
    def text(self) -> str:
        if self.rules:
            return "composition rules"
        plural = f"{self.cells} cell{'s' if self.cells > 1 else ''}"
        return f"g'' <= 0 on {plural}" + (f", {self.ends} of them by expansion at an end" if self.ends else "")


def concave_piece(whole: Expr, piece: Piece, deadline: Deadline) -> Evidence:
    """Return evidence that the piece is concave; raises NotAnECM with a witness for `whole`, or Undecided."""
    lo, hi = piece.left.lo, piece.right.hi
    shape = known_between(piece.expr, lo, hi)
    if shape is not None and shape.concave:
        return Evidence(rules=True)
    second = derivative(derivative(piece.expr))
    if shape is not None and ball_at(second, (lo + hi) / 2).contains(0) and is_zero(second):
        return Evidence(rules=False, cells=1)
    cells = ends = 0
    queue = deque([(lo, hi, 0)])
    while queue:
        deadline.check(f"the proof of concavity between {piece.left} and {piece.right}")
        a, b, depth = queue.popleft()
        cells += 1
        if _by_bounds(piece.expr, second, a, b):
            continue
        middle = _split(piece.expr, a, b, (a == lo and depth > 1, b == hi and depth > 1))
        if ball_at(second, middle) > 0:
            refute_beside(whole, middle, b - a)
        if _by_expansion(piece.expr, second, (a, b), (a == lo, b == hi), depth):
            ends += 1
            continue
        if depth >= MAX_DEPTH or cells + len(queue) > MAX_CELLS:
            raise Undecided(f"the sign of g'' near z = {float(middle):.9g} is not settled by bounds")
        queue += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return Evidence(rules=False, cells=cells, ends=ends)


def _split(e: Expr, a: Fraction, b: Fraction, outer: tuple[bool, bool]) -> Fraction:
    """Return a simple point to cut the cell at; near an end of the piece that resists, close to that end."""
    if outer[0] != outer[1]:
        near, far = (a, b) if outer[0] else (b, a)
        ends = sorted(((15 * near + far) / 16, (31 * near + far) / 32))
    else:
        ends = [(3 * a + b) / 4, (a + 3 * b) / 4]
    for middle in (simplest(ends[0], ends[1]), (4 * a + 3 * b) / 7):
        # cells are open, so g must be continuously differentiable at the points between them
        if ball_at(e, middle).is_finite() and ball_at(derivative(e), middle).is_finite():
            return middle
    raise Undecided(f"g has no known slope near z = {float(a + b) / 2:.9g}")


def _by_bounds(e: Expr, second: Expr, a: Fraction, b: Fraction) -> bool:
    """Decide whether g is concave on the open cell: by rules, or g'' <= 0 by its range or by Taylor's theorem."""
    shape = known_between(e, a, b)
    if shape is None:  # g may fail to be real, and so smooth
        return False
    bend = known_between(second, a, b)
    return shape.concave or (bend is not None and bend.hi <= 0) or bool(bounds(e, a, b, curvature=True) <= 0)


def _by_expansion(e: Expr, second: Expr, cell: tuple[Fraction, Fraction], outer: tuple[bool, bool], depth: int) -> bool:
    """Decide whether g'' <= 0 on the open cell, by an expansion at an end where g'' is not simply negative."""
    a, b = cell
    for end, side, is_outer in ((a, 1, outer[0]), (b, -1, outer[1])):
        if not (is_outer or (depth >= 10 and depth % 5 == 0)):
            continue
        bend = ball_at(second, end)
        if bend < 0:
            continue
        try:
            flat = bool(bend.is_finite()) and is_zero(exact(second, end))
        except (Undefined, Undecided, ExpressionError):
            flat = False
        with suppress(Undefined, ExpressionError):
            if curvature_beside(e, end, side, b - a, flat) <= 0:
                return True
    return False
