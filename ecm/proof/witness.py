"""Exact witnesses: rational points at which strict ball inequalities show that a condition fails."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx
from sympy import Expr

from ecm.errors import ExpressionError, NotAnECM, Undecided, Undefined, Witness
from ecm.formula import as_ball, clip, exact, point_ball, precision, short, text_of

COARSE = tuple(Fraction(k, 4) for k in range(5))
SAMPLES = tuple(
    sorted(
        {Fraction(k, 32) for k in range(33)}
        | {Fraction(1, 1 << j) for j in range(6, 41, 2)}
        | {1 - Fraction(1, 1 << j) for j in range(6, 21, 2)}
    )
)
_ROUGH = arb(2) ** -30
"""A value that is not known to this radius is asked again with more bits."""

Triple = tuple[Fraction, Fraction, Fraction]


def value_at(e: Expr, x: Fraction) -> arb | None:
    """Return g(x); None if it is open. Raises NotAnECM if g has no real value there."""
    try:
        found = point_ball(e, x)
        if not found.rad() < _ROUGH:
            with precision(max(2048, 2 * ctx.prec)):
                found = point_ball(e, x)
    except Undefined as error:
        raise reject_undefined(e, x, str(error)) from None
    except (Undecided, ExpressionError):
        return None
    return found if found.is_finite() else None


def written(e: Expr, x: Fraction) -> str:
    """Return g(x) as a fraction where it is one of moderate size, otherwise in decimal digits."""
    try:
        value = exact(e, x)
        if value.is_Rational and len(text_of(value)) <= 40:
            return text_of(value)
    except (Undecided, ExpressionError):
        pass
    with precision(max(2048, ctx.prec)):
        return short(point_ball(e, x), 15)


def reject_undefined(e: Expr | str, x: Fraction, reason: str, where: str = "[0, 1]") -> NotAnECM:
    """Return the error for a point at which g has no real value."""
    return NotAnECM(f"g = {clip(e)} is not real at z = {x}: {reason}", f"real on {where}", Witness((x,)))


def reject_convex(e: Expr, points: Triple) -> NotAnECM:
    """Return the error for three points that break concavity."""
    x, y, w = points
    with precision(max(2048, ctx.prec)):
        a, b, c = (point_ball(e, p) for p in points)
        gap = (a * as_ball(w - y) + c * as_ball(y - x)) / as_ball(w - x) - b
    return NotAnECM(
        f"g = {clip(e)} is not concave: at z = {x}, {y}, {w} it is {written(e, x)}, {written(e, y)}, "
        f"{written(e, w)}, and the middle value lies below the chord by {short(gap, 3)}",
        "concave",
        Witness(points),
    )


def reject_decrease(e: Expr, x: Fraction, y: Fraction) -> NotAnECM:
    """Return the error for two points x < y with g(x) > g(y)."""
    return NotAnECM(
        f"g = {clip(e)} is not increasing: g({x}) = {written(e, x)} > g({y}) = {written(e, y)}",
        "increasing",
        Witness((x, y)),
    )


def reject_above(e: Expr, x: Fraction) -> NotAnECM:
    """Return the error for a point with g(x) > 1."""
    return NotAnECM(
        f"g = {clip(e)} exceeds 1: g({x}) = {written(e, x)}; divide it by a constant, "
        f"or cap it as `.capped()` does: Min({clip(e)}, 1)",
        "g <= 1",
        Witness((x,)),
    )


def refute(e: Expr, points: Iterable[Fraction]) -> None:
    """Raises NotAnECM if these points show that a condition fails; proves nothing otherwise."""
    seen = [(x, value) for x in sorted(set(points)) if (value := value_at(e, x)) is not None]
    for (x, a), (y, b), (w, c) in zip(seen, seen[1:], seen[2:], strict=False):
        if (c - b) * as_ball(y - x) > (b - a) * as_ball(w - y):
            raise reject_convex(e, (x, y, w))
    for (x, a), (y, b) in pairwise(seen):
        if b < a:
            raise reject_decrease(e, x, y)
    for x, a in reversed(seen):
        if a > 1:
            raise reject_above(e, x)


def refute_beside(e: Expr, point: Fraction, width: Fraction) -> None:
    """Looks for a witness ever closer to one point, inside [point - width, point + width]."""
    for j in range(1, 160, 3):
        h = width / (1 << j)
        with precision(2048 + 3 * j):  # a bump of 1e-300 is seen by bits, not by coming closer
            refute(e, [x for i in range(-2, 3) if 0 <= (x := point + i * h) <= 1])
