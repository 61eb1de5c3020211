"""Why a formula is the g of an elementwise-concave metric: the four conditions, each with the method that settles it."""

from __future__ import annotations

from fractions import Fraction

import attrs

from ecm._errors import NotAnECM, Undefined
from ecm._exact import evaluate, sign
from ecm._expression import Node


@attrs.frozen
class Condition:
    """One condition, the method that established it, and the detail a reader can check."""

    condition: str
    method: str
    detail: str


@attrs.frozen
class Proof:
    """The four conditions of a profile."""

    conditions: tuple[Condition, ...]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.conditions)

    def __str__(self) -> str:
        return "\n".join(f"{c.condition:<12} {c.method:<26} {c.detail}" for c in self.conditions)


def prove(node: Node, seconds: float) -> Proof:
    return prove_on_grid(node, 64, seconds)


def prove_on_grid(node: Node, q: int, seconds: float) -> Proof:
    try:
        values = [evaluate(node, Fraction(k, q)) for k in range(q + 1)]
    except Undefined as error:
        raise NotAnECM(str(error), "real", str(error)) from None
    if sign(values[0]):
        raise NotAnECM(f"g(0) = {values[0]}", "g(0) = 0", f"g(0) = {values[0]}")
    for k in range(q):
        if sign(values[k + 1] - values[k]) < 0:
            raise NotAnECM("not increasing", "increasing", f"{k}")
    for k in range(1, q):
        if sign(values[k + 1] + values[k - 1] - 2 * values[k]) > 0:
            raise NotAnECM("not concave", "concave", f"{k}")
    if sign(values[q] - 1) > 0:
        raise NotAnECM("g(1) > 1", "g <= 1", "g(1)")
    return Proof(tuple(Condition(c, "provisional", "") for c in ("g(0) = 0", "increasing", "concave", "g <= 1")))


def prove_table(values: tuple[Fraction, ...]) -> Proof:
    if values[0]:
        raise NotAnECM(f"g(0) = {values[0]}", "g(0) = 0", f"g(0) = {values[0]}")
    q = len(values) - 1
    for k in range(q):
        if values[k + 1] < values[k]:
            raise NotAnECM("not increasing", "increasing", f"{k}")
    for k in range(1, q):
        if values[k + 1] + values[k - 1] > 2 * values[k]:
            raise NotAnECM("not concave", "concave", f"{k}")
    if values[q] > 1:
        raise NotAnECM("g(1) > 1", "g <= 1", "g(1)")
    return Proof(tuple(Condition(c, "exact values", "") for c in ("g(0) = 0", "increasing", "concave", "g <= 1")))


def prove_combination(how: str, top: Node, text: str) -> Proof:
    """The proof for an operation on proven profiles; only g(1) <= 1 has to be looked at again."""
    if sign(top - 1) > 0:
        raise NotAnECM(
            f"g = {text} exceeds 1: g(1) = {top}; Min(g, 1) is the metric's .capped() form", "g <= 1", f"g(1) = {top}"
        )
    kept = [Condition(c, "composition rules", how) for c in ("g(0) = 0", "increasing", "concave")]
    return Proof((*kept, Condition("g <= 1", "exact value", f"g(1) = {top}")))
