"""Continuity at a point that is known only as the root of a difference: which branch applies there, and its value."""

from __future__ import annotations

from sympy import Expr

from ecm.errors import Undecided, Undefined
from ecm.formula import Z, ball_of, resolved
from ecm.proof.pieces import Piece


def continuous_at(g: Expr, left: Piece, right: Piece) -> bool:
    """Return whether g is shown to be continuous at the root between two pieces (False: not shown)."""
    root, around = left.right.root, left.right.ball()
    if root is None:
        return False

    def sign_there(e: Expr) -> int:
        """0 for multiples of the root's expression, by balls for all others."""
        if _is_multiple(e, root):
            return 0
        found = ball_of(e, around)
        if found > 0 or found < 0:
            return 1 if found > 0 else -1
        raise Undecided("a comparison at the root is open")

    try:
        here = resolved(g, Z, sign_there)
    except (Undecided, Undefined):
        return False
    return _is_multiple(right.expr - left.expr, root) and _is_multiple(here - left.expr, root)


def _is_multiple(e: Expr, root: Expr) -> bool:
    """Return whether e is a rational multiple of the root's expression, so that it vanishes where that does."""
    if e.is_zero:
        return True
    a, b = e.primitive()[1], root.primitive()[1]
    return a in (b, -b)
