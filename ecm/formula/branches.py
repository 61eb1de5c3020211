"""The nodes that switch between formulas: Min, Max and Piecewise with its comparisons."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np
from flint import arb

from ecm.arrays import Floats
from ecm.errors import Undefined
from ecm.formula.expression import Add, Node, coefficient
from ecm.formula.folding import add


@attrs.frozen(slots=False, cache_hash=True)
class Extremum(Node):
    """Min or Max of two or more formulas."""

    name: str
    arguments: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.arguments

    @cached_property
    def smooth(self) -> bool:
        return self.free

    def ball(self, x: arb) -> arb:
        best = self.arguments[0].ball(x)
        for argument in self.arguments[1:]:
            other = argument.ball(x)
            best = best.min(other) if self.name == "Min" else best.max(other)
        return best

    def float(self, z: Floats) -> Floats:
        values = [argument.float(z) for argument in self.arguments]
        return np.asarray(np.min(values, axis=0) if self.name == "Min" else np.max(values, axis=0))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        build = sympy.Min if self.name == "Min" else sympy.Max
        return build(*(argument.sympy(symbol) for argument in self.arguments))

    @cached_property
    def _text(self) -> str:
        return f"{self.name}({', '.join(argument.text() for argument in self.arguments)})"

    def diff(self) -> Node:
        raise NotImplementedError("Min and Max are resolved into pieces before they are differentiated")


@attrs.frozen(cache_hash=True)
class Comparison:
    """difference < 0 (strict) or difference <= 0."""

    difference: Node
    strict: bool

    def holds(self, sign: int) -> bool:
        """Whether it holds where the difference has this sign."""
        return sign < 0 or (sign == 0 and not self.strict)

    def text(self) -> str:
        left, right = [], []
        for term in self.difference.terms if isinstance(self.difference, Add) else (self.difference,):
            if coefficient(term)[0] < 0:
                right.append(-term)
            else:
                left.append(term)
        return f"{add(left).text()} {'<' if self.strict else '<='} {add(right).text()}"


@attrs.frozen(slots=False, cache_hash=True)
class Piecewise(Node):
    """The first value whose comparisons all hold; the last branch has none (it is the default)."""

    branches: tuple[tuple[Node, tuple[Comparison, ...]], ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(
            node for value, conditions in self.branches for node in (value, *(c.difference for c in conditions))
        )

    @cached_property
    def smooth(self) -> bool:
        return False

    def ball(self, x: arb) -> arb:
        hull: arb | None = None
        for value, conditions in self.branches:
            verdict = True
            for c in conditions:
                d = c.difference.ball(x)
                if d > 0 or (d >= 0 and c.strict):
                    break
                if not (d < 0 or (d <= 0 and not c.strict)):
                    verdict = False
            else:
                inner = value.ball(x)
                hull = inner if hull is None else hull.union(inner)
                if verdict:
                    return hull
        raise Undefined("no branch of the Piecewise applies")

    def float(self, z: Floats) -> Floats:
        tests = [
            np.logical_and.reduce(
                [c.difference.float(z) < 0 if c.strict else c.difference.float(z) <= 0 for c in conditions],
                axis=0,
                initial=True,
            )
            for _, conditions in self.branches
        ]
        with np.errstate(all="ignore"):
            values = [value.float(z) for value, _ in self.branches]
        return np.select([np.broadcast_to(test, z.shape) for test in tests], values, default=np.nan)

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Piecewise(
            *(
                (
                    value.sympy(symbol),
                    sympy.And(
                        *((sympy.Lt if c.strict else sympy.Le)(c.difference.sympy(symbol), 0) for c in conditions)
                    ),
                )
                for value, conditions in self.branches
            )
        )

    @cached_property
    def _text(self) -> str:
        parts = []
        for value, conditions in self.branches:
            test = " and ".join(c.text() for c in conditions) or "True"
            parts.append(f"({value.text()}, {test})")
        return f"Piecewise({', '.join(parts)})"

    def diff(self) -> Node:
        raise NotImplementedError("Piecewise is resolved into pieces before it is differentiated")
