"""Exact witnesses: rational points at which strict ball inequalities show that a condition fails."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx

from ecm.errors import ExpressionError, NotAnECM, Undecided, Undefined
from ecm.formula import Node, Num, evaluate, point_ball, precision
from ecm.proof.smooth_pieces import as_ball

COARSE = tuple(Fraction(k, 4) for k in range(5))
SAMPLES = tuple(
    sorted(
        {Fraction(k, 32) for k in range(33)}
        | {Fraction(1, 1 << j) for j in range(6, 41, 2)}
        | {1 - Fraction(1, 1 << j) for j in range(6, 21, 2)}
    )
)


def value_at(node: Node, x: Fraction) -> arb | None:
    """g(x); None if it is open. Raises NotAnECM if g has no real value there."""
    try:
        ball = point_ball(node, x)
    except Undefined as error:
        raise NotAnECM(f"g = {clip(node)} is not real at z = {x}: {error}", "real on [0, 1]", f"z = {x}") from None
    except (Undecided, ExpressionError):
        return None
    return ball if ball.is_finite() else None


def clip(node: Node) -> str:
    """The formula for a message, shortened."""
    text = node.text()
    return text if len(text) <= 120 else f"{text[:117]}..."


def shown(value: arb) -> str:
    """A value in decimal digits."""
    return str(value.str(15, radius=False))


def written(node: Node, x: Fraction) -> str:
    """g(x) as a fraction where it is one of moderate size, otherwise in decimal digits."""
    try:
        value = evaluate(node, x)
        if isinstance(value, Num) and len(value.text()) <= 40:
            return value.text()
    except (Undecided, ExpressionError):
        pass
    return shown(point_ball(node, x))


def convex_triple(node: Node, points: tuple[Fraction, Fraction, Fraction]) -> bool:
    """Whether the middle value lies strictly below the chord."""
    x, y, w = points
    for bits in (128, 512):
        with precision(bits):
            values = [value_at(node, p) for p in points]
            if values[0] is None or values[1] is None or values[2] is None:
                return False
            gap = (values[2] - values[1]) * as_ball(y - x) - (values[1] - values[0]) * as_ball(w - y)
            if gap > 0:
                return True
            if gap <= 0:
                return False
    return False


def reject_convex(node: Node, points: tuple[Fraction, Fraction, Fraction]) -> NotAnECM:
    """The error for three points that break concavity."""
    x, y, w = points
    with precision(512):
        a, b, c = (point_ball(node, p) for p in points)
        gap = (a * as_ball(w - y) + c * as_ball(y - x)) / as_ball(w - x) - b
    return NotAnECM(
        f"g = {clip(node)} is not concave: at z = {x}, {y}, {w} it is {written(node, x)}, {written(node, y)}, "
        f"{written(node, w)}, and the middle value lies below the chord by {gap.str(3, radius=False)}",
        "concave",
        f"z = {x}, {y}, {w}",
    )


def reject_decrease(node: Node, x: Fraction, y: Fraction) -> NotAnECM:
    """The error for two points x < y with g(x) > g(y)."""
    return NotAnECM(
        f"g = {clip(node)} is not increasing: g({x}) = {written(node, x)} > g({y}) = {written(node, y)}",
        "increasing",
        f"z = {x}, {y}",
    )


def reject_above(node: Node, x: Fraction) -> NotAnECM:
    """The error for a point with g(x) > 1."""
    return NotAnECM(
        f"g = {clip(node)} exceeds 1: g({x}) = {written(node, x)}; divide it by a constant, "
        f"or cap it as `.capped()` does: Min({clip(node)}, 1)",
        "g <= 1",
        f"z = {x}",
    )


def refute(node: Node, points: Iterable[Fraction]) -> None:
    """Raises NotAnECM if these points show that a condition fails; proves nothing otherwise."""
    known = [(x, value) for x in sorted(set(points)) if (value := value_at(node, x)) is not None]
    for (x, a), (y, b), (w, c) in zip(known, known[1:], known[2:], strict=False):
        if (c - b) * as_ball(y - x) > (b - a) * as_ball(w - y):
            raise reject_convex(node, (x, y, w))
    for (x, a), (y, b) in pairwise(known):
        if b < a:
            raise reject_decrease(node, x, y)
    for x, a in reversed(known):
        if a > 1:
            raise reject_above(node, x)


def refute_beside(node: Node, point: Fraction, width: Fraction) -> None:
    """Looks for a witness ever closer to one point, inside [point - width, point + width]."""
    for j in range(1, 160, 3):
        h = width / (1 << j)
        with precision(ctx.prec + 3 * j):
            refute(node, [x for i in range(-2, 3) if 0 <= (x := point + i * h) <= 1])
