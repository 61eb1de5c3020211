"""A formula with its first two derivatives on float arrays, in time linear in the formula; for pictures and samples."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ecm.arrays import Floats
from ecm.formula.atoms import ATOMS
from ecm.formula.expression import Add, Function, Mul, Node, Pow, Var


class Jet(NamedTuple):
    """f, f' and f'' at the same points."""

    value: Floats
    slope: Floats
    bend: Floats


def jet(node: Node, z: Floats) -> Jet:
    """The value and two derivatives of a smooth formula at the points z; not finite where a derivative is infinite.

    >>> from ecm.formula import parse
    >>> [part.tolist() for part in jet(parse("z**2 + z"), np.array([0.5]))]
    [[0.75], [2.0], [2.0]]
    """
    with np.errstate(all="ignore"):
        return _walk(node, z)


def _walk(node: Node, z: Floats) -> Jet:
    zero = np.zeros_like(z)
    if node.free:
        return Jet(node.float(z) + zero, zero, zero)
    if isinstance(node, Var):
        return Jet(z, zero + 1, zero)
    if isinstance(node, Add):
        parts = [_walk(term, z) for term in node.terms]
        return Jet(*(sum(column, zero) for column in zip(*parts, strict=True)))
    if isinstance(node, Mul):
        total = Jet(zero + 1, zero, zero)
        for factor in node.factors:
            total = _times(total, _walk(factor, z))
        return total
    if isinstance(node, Pow):
        return _power(_walk(node.base, z), float(node.exponent.float(np.zeros(1))[0]))
    assert isinstance(node, Function)
    return _chain(node.name, _walk(node.argument, z))


def _times(a: Jet, b: Jet) -> Jet:
    value, slope = a.value * b.value, a.slope * b.value + a.value * b.slope
    return Jet(value, slope, a.bend * b.value + 2 * a.slope * b.slope + a.value * b.bend)


def _power(u: Jet, e: float) -> Jet:
    slope, bend = e * u.value ** (e - 1), e * (e - 1) * u.value ** (e - 2)
    return Jet(u.value**e, slope * u.slope, bend * u.slope**2 + slope * u.bend)


def _chain(name: str, u: Jet) -> Jet:
    first, second = _derivatives(name)
    slope, bend = first.float(u.value), second.float(u.value)
    return Jet(ATOMS[name].numeric(u.value), slope * u.slope, bend * u.slope**2 + slope * u.bend)


@cache
def _derivatives(name: str) -> tuple[Node, Node]:
    """f' and f'' of a function of z as formulas."""
    first = ATOMS[name].derivative(Var())
    return first, first.diff()
