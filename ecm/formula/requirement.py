"""What a formula needs to have a real value as it is written, before sympy cancels anything.

sympy turns z/z into 1 and exp(log(z)) into z, which have values where the formula as written has none. A formula here
means what is written: it must be real at every point, so each requirement that cancelling removed is kept and proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import attrs
import sympy as sp
from sympy import Expr

from ecm.formula.building import piecewise
from ecm.formula.constants import sign
from ecm.formula.expression import Z, conditions, difference, free
from ecm.formula.printing import clip

Need = Literal["nonzero", "positive", "nonnegative"]

_REASON = {
    "nonzero": "it divides by {}, which is 0 there",
    "positive": "it takes the logarithm, or a negative power, of {}, which is not positive there",
    "nonnegative": "it takes a root of {}, which is negative there",
}


@attrs.frozen
class Requirement:
    """`expr` is nonzero, positive or nonnegative wherever the formula looks at it."""

    need: Need
    expr: Expr

    def met(self, sign: int) -> bool:
        """Return whether the requirement holds where the expression has this sign."""
        return sign > 0 or (sign < 0 and self.need == "nonzero") or (sign == 0 and self.need == "nonnegative")

    @property
    def trivial(self) -> bool:
        """Whether nothing has to be proven: z itself is never negative, and numbers were looked at when read."""
        return self.expr.is_Rational or (self.expr == Z and self.need == "nonnegative")

    @property
    def reason(self) -> str:
        """What is wrong where it fails."""
        return _REASON[self.need].format(clip(self.expr, 60))


def of_power(base: Expr, exponent: Expr) -> Iterator[Requirement]:
    """Yield what base**exponent needs, for an exponent without z."""
    if not free(exponent) or (exponent.is_Integer and exponent >= 0):
        return
    if exponent.is_Integer:
        yield Requirement("nonzero", base)
    else:
        yield Requirement("nonnegative" if sign(exponent) > 0 else "positive", base)


def of_expression(e: Expr) -> Iterator[Requirement]:
    """Yield what the expression as it stands needs; its proof settles these on the way."""
    if free(e) or e == Z:
        return
    if isinstance(e, sp.Piecewise):
        yield from of_branches([(v, t, set(of_expression(v)), _of_test(t)) for v, t in e.args])
        return
    if e.is_Pow:
        yield from of_power(e.base, e.exp)
    elif isinstance(e, sp.log):
        yield Requirement("positive", e.args[0])
    for part in e.args:
        yield from of_expression(part)


def _of_test(test: sp.Basic) -> set[Requirement]:
    return {r for c in conditions(test) for r in of_expression(difference(c))}


Branch = tuple[Expr, sp.Basic, Iterable[Requirement], Iterable[Requirement]]
"""The value and condition of a branch, what the value needs, and what the condition needs."""


def of_branches(branches: Iterable[Branch]) -> Iterator[Requirement]:
    """Yield what a Piecewise needs: each branch only where it applies, each condition only where it is asked."""
    one, before = sp.Integer(1), list[tuple[Expr, sp.Basic]]()
    for _, test, of_value, of_condition in branches:
        for r in of_condition:
            yield Requirement(r.need, piecewise([*before, (r.expr, sp.true)]))
        if test is sp.false:
            continue
        for r in of_value:
            yield Requirement(r.need, piecewise([*before, (r.expr, test), (one, sp.true)]))
        before.append((one, test))
        if test is sp.true:
            break
