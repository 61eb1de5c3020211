"""What a proof says: four conditions, each with the method that settles it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
from sympy import Expr

from ecm.errors import NotAnECM, Undecided
from ecm.formula import clip

ON_A_GRID = "or prove it only where quantized inputs need it: from_expr(..., grid=255)"


@attrs.frozen
class Condition:
    """One condition, the method that established it, and the detail a reader can check."""

    condition: str
    method: str
    detail: str


@attrs.frozen
class Proof:
    """The four conditions of a profile, each with its method.

    >>> from ecm.formula import read
    >>> from ecm.proof import prove
    >>> print(prove(read("2*z - z**2"), 5))
    g(0) = 0    exact value          g(0) = 0
    concave     composition rules    g as a whole
    increasing  concavity and slope  g'(1) = 0
    g <= 1      exact value          g(1) = 1
    """

    conditions: tuple[Condition, ...]

    def __iter__(self) -> Iterator[Condition]:
        return iter(self.conditions)

    def __str__(self) -> str:
        wide = [max(len(row[i]) for row in map(attrs.astuple, self.conditions)) for i in (0, 1)]
        return "\n".join(
            f"{c.condition:<{wide[0]}}  {c.method:<{wide[1]}}  {c.detail}".rstrip() for c in self.conditions
        )


@contextmanager
def open_unless_settled(condition: str, e: Expr, way: str = ON_A_GRID) -> Iterator[None]:
    """Whatever stops a proof short of a decision becomes Undecided, with the way on."""
    try:
        yield
    except NotAnECM:
        raise
    except (ValueError, ArithmeticError, RecursionError, NotImplementedError) as error:
        reason = str(error) or type(error).__name__
    else:
        return
    raise Undecided(
        f"g = {clip(e)}: the condition '{condition}' is open ({reason}). Give it more time (seconds=...), write the "
        f"formula in another way, {way}"
    )
