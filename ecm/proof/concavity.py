"""Concavity of one smooth piece: composition rules first, then rigorous bounds of g'' with adaptive subdivision.

Where g'' is singular or touches zero (at an end of the piece, or inside), bounds alone never succeed; there an
expansion with a rigorous remainder settles the sign on a whole neighbourhood (see `expansion`).
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import attrs

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula import Clock, Node, curvature_beside, evaluate, is_zero
from ecm.proof.rules import known
from ecm.proof.smooth_pieces import Piece, as_ball, simplest
from ecm.proof.witness import convex_triple, reject_convex

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


def concave_piece(whole: Node, piece: Piece, clock: Clock) -> Evidence:
    """Evidence that the piece is concave; raises NotAnECM with a witness for `whole`, or Undecided."""
    lo, hi = piece.left.lo, piece.right.hi
    if _by_rules(piece.node, lo, hi):
        return Evidence(rules=True)
    second = piece.node.slope.slope
    if _bounded(piece.node, lo, hi) and is_zero(second):
        return Evidence(rules=False, cells=1)
    cells = ends = 0
    queue = deque([(lo, hi, 0)])
    while queue:
        clock.check(f"the proof of concavity between {piece.left} and {piece.right}")
        a, b, depth = queue.popleft()
        cells += 1
        if _by_rules(piece.node, a, b) or _by_bounds(piece.node, second, a, b):
            continue
        middle = _split(piece.node, a, b, (a == lo and depth > 1, b == hi and depth > 1))
        _refute_at(whole, second, middle, b - a, (lo, hi))
        if _by_expansion(piece.node, second, (a, b), (a == lo, b == hi), depth):
            ends += 1
            continue
        if depth >= MAX_DEPTH or cells + len(queue) > MAX_CELLS:
            raise Undecided(f"the sign of g'' near z = {float(middle):.9g} is not settled by bounds")
        queue += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return Evidence(rules=False, cells=cells, ends=ends)


def _by_rules(node: Node, a: Fraction, b: Fraction) -> bool:
    try:
        return known(node, as_ball(a), as_ball(b)).concave
    except Undefined:
        return False


def _split(node: Node, a: Fraction, b: Fraction, outer: tuple[bool, bool]) -> Fraction:
    """A simple point to cut the cell at; near an end of the piece that resists, close to that end."""
    if outer[0] != outer[1]:
        near, far = (a, b) if outer[0] else (b, a)
        ends = sorted(((15 * near + far) / 16, (31 * near + far) / 32))
    else:
        ends = [(3 * a + b) / 4, (a + 3 * b) / 4]
    for middle in (simplest(ends[0], ends[1]), (4 * a + 3 * b) / 7):
        if _regular(node, middle):
            return middle
    raise Undecided(f"g has no known slope near z = {float(a + b) / 2:.9g}")


def _regular(node: Node, x: Fraction) -> bool:
    """Whether g is continuously differentiable at x: cells are open, so the points between them are looked at too."""
    try:
        return bool(node.ball(as_ball(x)).is_finite() and node.slope.ball(as_ball(x)).is_finite())
    except Undefined:
        return False


def _bounded(node: Node, a: Fraction, b: Fraction) -> bool:
    try:
        shape = known(node, as_ball(a), as_ball(b))
    except Undefined:
        return False
    return bool(shape.lo.is_finite() and shape.hi.is_finite())


def _by_bounds(node: Node, second: Node, a: Fraction, b: Fraction) -> bool:
    """g'' <= 0 on the open cell, by its range or by the mean value form around the middle."""
    lo, hi, middle = as_ball(a), as_ball(b), as_ball((a + b) / 2)
    try:
        if not _bounded(node, a, b):
            return False
        if known(second, lo, hi).hi <= 0:
            return True
        third = known(second.slope, lo, hi)
        spread = (third.lo.union(third.hi)) * ((hi - lo) / 2)
        return bool(second.ball(middle) + abs(spread).union(-abs(spread)) <= 0)
    except (Undefined, Undecided):
        return False


def _by_expansion(
    node: Node, second: Node, cell: tuple[Fraction, Fraction], outer: tuple[bool, bool], depth: int
) -> bool:
    """g'' <= 0 on the open cell, by an expansion at an end where g'' is not simply negative."""
    a, b = cell
    for end, side, is_outer in ((a, 1, outer[0]), (b, -1, outer[1])):
        if not (is_outer or (depth >= 10 and depth % 5 == 0)):
            continue
        flat = False
        try:
            bend = second.ball(as_ball(end))
            if bend < 0:
                continue
            flat = bend.is_finite() and is_zero(evaluate(second, end))
        except (Undefined, Undecided, ExpressionError):
            pass
        try:
            if curvature_beside(node, end, side, b - a, flat) <= 0:
                return True
        except (Undefined, ExpressionError):
            continue
    return False


def _refute_at(whole: Node, second: Node, x: Fraction, width: Fraction, ends: tuple[Fraction, Fraction]) -> None:
    """Raises NotAnECM if g''(x) > 0, with three points around x."""
    try:
        if not second.ball(as_ball(x)) > 0:
            return
    except Undefined:
        return
    h = min(width, x - ends[0], ends[1] - x)
    for _ in range(60):
        h /= 2
        points = (x - h, x, x + h)
        if convex_triple(whole, points):
            raise reject_convex(whole, points)
