"""Formulas: enclosures, derivatives, floats, sympy and text agree with one another."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import attrs
import numpy as np
import pytest
import sympy
from flint import arb, arb_series, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm.formula.balls import as_ball, ball_of, precision, series_of
from ecm.formula.expression import Z, derivative
from ecm.formula.functions import FUNCTIONS
from ecm.formula.numeric import floats, jet
from ecm.formula.printing import text_of
from ecm.formula.reading import read


def parse(text: str) -> sympy.Expr:
    return read(text).expr


SMOOTH = [
    "z**0.5/18",
    "log(1+5*z)/log(6)",
    "1-exp(-3*z)",
    "tanh(2*z)",
    "atan(3*z)/2",
    "asinh(5*z)/3",
    "sin(z)*z**(2/3)",
    "z/(z+1/4)",
    "sqrt(log1p(z))",
    "expm1(z)/(E-1)",
    "(2*z - z**2)**1.5",
    "z**(1/pi)",
]


@pytest.mark.parametrize("text", SMOOTH)
@given(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=200))
@settings(max_examples=15)
def test_derivatives_are_limits_of_difference_quotients(text: str, x: Fraction) -> None:
    """The two derivatives agree with difference quotients at high precision."""
    node, h = parse(text), Fraction(1, 2**60)
    with precision(400):
        at = [ball_of(node, as_ball(p)) for p in (x - h, x, x + h)]
        step = arb(fmpq(h.numerator, h.denominator))
        middle = arb(fmpq(x.numerator, x.denominator))
        first, second = ball_of(derivative(node), middle), ball_of(derivative(derivative(node)), middle)
        assert abs((at[2] - at[0]) / (2 * step) - first) < arb(2) ** -80
        assert abs((at[2] - 2 * at[1] + at[0]) / (step * step) - second) < arb(2) ** -80


@pytest.mark.parametrize(
    "text", [*SMOOTH, "Min(3*z,1)/18", "sign(z)/8 + Abs(z - 1/2)", "Piecewise((z, z<1/3), (1/3, True))"]
)
@given(st.integers(0, 64))
@settings(max_examples=20)
def test_balls_floats_and_sympy_agree(text: str, k: int) -> None:
    """An enclosure, the float value and sympy's value of a formula are the same number."""
    node = parse(text)
    value = float(ball_of(node, arb(k) / 64).mid())
    assert floats(node, np.array([k / 64]))[0] == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert float(node.subs(Z, sympy.Rational(k, 64)).evalf(30)) == pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("text", SMOOTH)
def test_text_is_canonical(text: str) -> None:
    """The text of a formula and of its derivatives reads back as a formula with that text."""
    assert parse(text_of(parse(text))) == parse(text)
    for node in (derivative(parse(text)), derivative(derivative(parse(text)))):
        canonical = read(node)
        assert read(canonical.text) == attrs.evolve(canonical, written=canonical.text)


def test_operators_build_trees() -> None:
    """Python's operators on sympy expressions mean what they mean in the text."""
    assert sympy.sqrt(Z) / 18 == parse("z**0.5/18")
    assert parse("1 - 2*z") == 1 - Z * 2
    assert sympy.Min(3 * Z, 1) == parse("Min(3*z, 1)")
    assert sympy.Integer(3) == parse("3")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("sign", "Abs")])
@given(st.fractions(Fraction(1, 10), 3, max_denominator=40))
@settings(max_examples=10)
def test_atoms_declare_consistent_taylor_series(name: str, x: Fraction) -> None:
    """The series an atom continues has its own derivatives as coefficients."""
    function, start = FUNCTIONS[name], as_ball(x)
    with precision(128, 4):
        series = function.series(arb_series([start, 1], 4))
        node, factorial = function.sympy(Z), 1
        assert (series[2] - series_of(node, arb_series([start, 1], 4))[2]).contains(0)
        for k in range(4):
            factorial *= max(k, 1)
            assert (series[k] * factorial).overlaps(ball_of(node, start))
            node = derivative(node)


@pytest.mark.parametrize("name", list(FUNCTIONS))
@given(st.fractions(Fraction(-1, 2), 4, max_denominator=30), st.fractions(Fraction(1, 30), 2, max_denominator=30))
@settings(max_examples=40)
def test_atoms_declare_true_shapes(name: str, lo: Fraction, width: Fraction) -> None:
    """Where an atom claims to be monotone, concave or convex, its values at five points agree."""
    atom = FUNCTIONS[name]
    if atom.above is not None and lo <= atom.above:
        return
    points = [arb(fmpq(p.numerator, p.denominator)) for p in (lo + width * i / 4 for i in range(5))]
    up, down, concave, convex = atom.shape(points[0], points[-1])
    values = [atom.ball(p) for p in points]
    for a, b in pairwise(values):
        assert not (up and b < a)
        assert not (down and b > a)
    for a, b, c in zip(values, values[1:], values[2:], strict=False):
        assert not (concave and a + c > 2 * b)
        assert not (convex and a + c < 2 * b)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("sign", "Abs")])
def test_functions_have_their_derivatives_in_floats(name: str) -> None:
    """f' and f'' on arrays are those that sympy finds."""
    points, f = np.array([0.2, 0.7, 1.4]), FUNCTIONS[name]
    first = derivative(f.sympy(Z))
    for found, formula in zip(jet(f.sympy(Z), points)[1:], (first, derivative(first)), strict=True):
        assert found == pytest.approx(floats(formula, points), rel=1e-12)
