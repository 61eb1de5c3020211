"""The proof at the points k/q only, which is all that levels need, for formulas and for tables of exact values."""

from __future__ import annotations

from fractions import Fraction

from flint import arb
from sympy import Expr

from ecm.errors import NotAnECM, Undefined, Witness
from ecm.formula import Formula, brief, exact, point_ball, precision, rational, sign
from ecm.proof.deadline import Deadline
from ecm.proof.domain import refute_real
from ecm.proof.interval import BITS, prove_top, refute_start
from ecm.proof.verdict import Condition, Proof, open_unless_settled
from ecm.proof.witness import reject_convex, reject_decrease, reject_undefined


def prove_on_grid(formula: Formula, q: int, seconds: float) -> Proof:
    """Return the proof at the points k/q (docs/theory.md, the quantized law)."""
    deadline, g = Deadline(seconds), formula.expr
    with precision(BITS), open_unless_settled(f"g on the grid of {q}", g, "or take a coarser grid"):
        refute_real(formula, (Fraction(k, q) for k in range(q + 1)), "the grid")
        refute_start(g)
        balls = list[arb]()
        for k in range(q + 1):
            deadline.check(f"the proof on the grid k/{q}")
            try:
                balls.append(point_ball(g, Fraction(k, q)))
            except Undefined as error:
                raise reject_undefined(g, Fraction(k, q), str(error), "the grid") from None
        for k in range(1, q):
            bend = balls[k - 1] + balls[k + 1] - 2 * balls[k]
            if bend <= 0:
                continue
            deadline.check(f"the proof on the grid k/{q}")
            points = (Fraction(k - 1, q), Fraction(k, q), Fraction(k + 1, q))
            if bend > 0 or _bend(g, points) > 0:
                raise reject_convex(g, points)
        ends = Fraction(q - 1, q), Fraction(1)
        last = balls[q] - balls[q - 1]
        if last < 0 or (not last >= 0 and sign(exact(g, ends[1]) - exact(g, ends[0])) < 0):
            raise reject_decrease(g, *ends)
        top = prove_top(g)
    return _on_grid(f"at k/{q}, k = 0..{q}", "g(0) = 0", top)


def _bend(g: Expr, points: tuple[Fraction, Fraction, Fraction]) -> int:
    a, b, c = (exact(g, x) for x in points)
    return sign(a + c - 2 * b)


def prove_table(values: tuple[Fraction, ...]) -> Proof:
    """Return the proof for exact values at k/q."""
    q = len(values) - 1
    if values[0]:
        raise NotAnECM(f"the table starts at g(0) = {values[0]}, not at 0", "g(0) = 0", _place(0))
    for k in range(1, q):
        if values[k - 1] + values[k + 1] > 2 * values[k]:
            raise NotAnECM(
                f"the table is not concave: at k = {k - 1}, {k}, {k + 1} it is {values[k - 1]}, {values[k]}, "
                f"{values[k + 1]}, and the middle value lies below the chord",
                "concave",
                _place(k - 1, k, k + 1),
            )
    if values[q] < values[q - 1]:
        raise NotAnECM(
            f"the table is not increasing: {values[q - 1]} at k = {q - 1}, then {values[q]}",
            "increasing",
            _place(q - 1, q),
        )
    if values[q] > 1:
        raise NotAnECM(f"the table exceeds 1: it ends at {values[q]}", "g <= 1", _place(q))
    top = Condition("g <= 1", "exact value", f"g(1) = {values[q]}")
    return _on_grid(f"at k/{q}", "the table starts at 0", top)


def _place(*k: int) -> Witness:
    return Witness(tuple(map(Fraction, k)), "k")


def _on_grid(where: str, start: str, top: Condition) -> Proof:
    method = "exact values on the grid"
    return Proof(
        (
            Condition("g(0) = 0", "exact value", start),
            Condition("concave", method, f"second differences <= 0 {where}"),
            Condition("increasing", method, "concave, and the last difference is >= 0"),
            top,
        )
    )


def prove_combination(how: str, top: Expr | Fraction, text: str) -> Proof:
    """Return the proof for an operation that keeps the first three conditions; only g(1) <= 1 is looked at again."""
    value = rational(top) if isinstance(top, Fraction) else top
    if sign(value - 1) > 0:
        raise NotAnECM(
            f"g = {text[:120]} exceeds 1: g(1) = {brief(value)}; divide it by a constant, "
            f"or cap it as `.capped()` does: Min({text[:120]}, 1)",
            "g <= 1",
            Witness((Fraction(1),)),
        )
    kept = [Condition(c, "composition rules", how) for c in ("g(0) = 0", "concave", "increasing")]
    return Proof((*kept, Condition("g <= 1", "exact value", f"g(1) = {brief(value)}")))
