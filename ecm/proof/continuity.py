"""Continuity at a point that is known only as the root of a difference: which branch applies there, and its value."""

from __future__ import annotations

import sympy as sp
from flint import arb
from sympy import Expr

from ecm.errors import Undecided
from ecm.formula import ball_of, conditions, difference, holds, rebuild, smooth
from ecm.proof.pieces import Piece


def continuous_at(g: Expr, left: Piece, right: Piece) -> bool:
    """Return whether g is shown to be continuous at the root between two pieces (False: not shown)."""
    point = left.right
    if point.root is None:
        return False
    try:
        here = _Root(point.root, point.ball()).branch(g)
    except Undecided:
        return False
    return _is_multiple(right.expr - left.expr, point.root) and _is_multiple(here - left.expr, point.root)


class _Root:
    """Signs at the one root of an expression in a small ball: 0 for its multiples, by balls for all others."""

    def __init__(self, root: Expr, ball: arb) -> None:
        self.root, self.ball = root, ball

    def sign(self, e: Expr) -> int:
        if _is_multiple(e, self.root):
            return 0
        found = ball_of(e, self.ball)
        if found > 0 or found < 0:
            return 1 if found > 0 else -1
        raise Undecided("a comparison at the root is open")

    def branch(self, e: Expr) -> Expr:
        """Return the smooth formula that gives the value of e at the root."""
        if smooth(e):
            return e
        if isinstance(e, sp.Piecewise):
            for value, test in e.args:
                if all(holds(c, self.sign(self.branch(difference(c)))) for c in conditions(test)):
                    return self.branch(value)
            raise Undecided("no branch of the Piecewise applies")
        parts = [self.branch(part) for part in e.args]
        if isinstance(e, sp.Min | sp.Max):
            best = parts[0]
            for part in parts[1:]:
                if self.sign(part - best) == (-1 if isinstance(e, sp.Min) else 1):
                    best = part
            return best
        if isinstance(e, sp.sign | sp.Abs):
            s = self.sign(parts[0])
            return sp.Integer(s) if isinstance(e, sp.sign) else s * parts[0]
        return rebuild(e, parts)


def _is_multiple(e: Expr, root: Expr) -> bool:
    """Return whether e is a rational multiple of the root's expression, so that it vanishes where that does."""
    if e.is_zero:
        return True
    a, b = e.primitive()[1], root.primitive()[1]
    return a in (b, -b)
