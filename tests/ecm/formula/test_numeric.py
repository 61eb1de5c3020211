"""Float derivatives of a formula agree with its exact ones."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from flint import arb

from ecm.formula.balls import ball_of
from ecm.formula.expression import derivative
from ecm.formula.numeric import jet
from ecm.formula.reading import read


def parse(text: str) -> sympy.Expr:
    return read(text).expr


FORMULAS = [
    "z", "z**0.5/18", "z**(1/3)", "2*z-z**2", "z/(z+1/4)", "log(1+5*z)/log(6)", "log1p(z)", "1-exp(-3*z)", "expm1(z)",
    "tanh(2*z)", "atan(3*z)/2", "asinh(5*z)/3", "sin(z)", "sqrt(log1p(z))", "sqrt(z)*log1p(z)", "z**pi", "1-2**(-z)",
    "1/18",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_jets_lie_beside_the_balls(text: str) -> None:
    """Value, slope and second derivative are those of ball arithmetic, up to rounding."""
    node = parse(text)
    points = np.array([1e-3, 0.03, 0.25, 0.5, 1.0])
    formulas = (node, derivative(node), derivative(derivative(node)))
    for computed, exact in zip(jet(node, points), formulas, strict=True):
        for x, y in zip(points, computed, strict=True):
            assert float(abs(ball_of(exact, arb(float(x))).mid() - float(y))) <= 1e-12 * (1 + abs(y))


def test_a_long_formula_costs_no_more_than_its_length() -> None:
    """Where the derivative as a formula would be too long to write down, the jet is still there."""
    nested = "z"
    for _ in range(28):
        nested = f"log1p(tanh({nested}))"
    value, slope, bend = jet(parse(nested), np.array([0.5]))
    assert 0 < value[0] < 0.5
    assert 0 < slope[0] < 1
    assert bend[0] < 0
