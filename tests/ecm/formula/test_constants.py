"""Exact constants: zero is proved by a normal form, other signs by balls, nothing is guessed."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ecm import Profile, Undecided
from ecm.errors import Undefined
from ecm.formula.balls import constant_ball, precision
from ecm.formula.building import exact
from ecm.formula.constants import is_zero, sign
from ecm.formula.reading import read


def parse(text: str) -> sympy.Expr:
    return read(text).expr


ZEROS = [
    "sqrt(8) - 2*sqrt(2)",
    "sqrt(6) - sqrt(2)*sqrt(3)",
    "log(6) - log(2) - log(3)",
    "log(8)/log(2) - 3",
    "log(9)/log(27) - 2/3",
    "1/(sqrt(2) + 1) - sqrt(2) + 1",
    "sqrt(1/2) - sqrt(2)/2",
    "cbrt(4)*cbrt(2) - 2",
    "exp(2)*exp(-2) - 1",
    "exp(1) - E",
    "sin(pi/6) - 1/2",
    "sin(7*pi/6) + 1/2",
    "atan(1) - pi/4",
    "expm1(3) - exp(3) + 1",
    "log1p(5) - log(6)",
    "asinh(2)/asinh(2) - 1",
    "(sqrt(5) + 1)**2/4 - (sqrt(5) + 1)/2 - 1",
    "sqrt(sqrt(2)) - 2**0.25",
    "(pi**2)**0.5 - pi",
    "sqrt(3 + 2*sqrt(2)) - 1 - sqrt(2)",
    "tanh(1) - (E**2 - 1)/(E**2 + 1)",
    "atan(sqrt(3)) - pi/3",
    "asinh(1) - log(1 + sqrt(2))",
    "2*sin(pi/3)/sqrt(3) - 1",
    "tanh(log(12)/5) - (exp(2*log(12)/5) - 1)/(exp(2*log(12)/5) + 1)",
    "(log(6)**2 - tanh(1)**2)/(log(6) + tanh(1) + 1) - (log(6) - tanh(1))*(log(6) + tanh(1))/(log(6) + tanh(1) + 1)",
    "1 - (1 - 2)/(1 + sqrt(2)) - sqrt(2)",
    "1/(sqrt(2) + 1) + 1/(sqrt(3) + sqrt(2)) + 1/(2 + sqrt(3)) - 1",
]


@pytest.mark.parametrize("text", ZEROS)
def test_the_normal_form_proves_zeros(text: str) -> None:
    """Equalities between roots, logarithms and exponentials are decided, and a tiny change is seen."""
    assert sign(parse(text)) == 0
    assert sign(parse(f"{text} + 1e-300")) == 1
    assert sign(parse(f"{text} - 1e-300")) == -1


@given(st.lists(st.tuples(st.fractions(-9, 9, max_denominator=9), st.integers(1, 60)), min_size=1, max_size=4))
def test_signs_of_sums_of_roots_agree_with_high_precision(terms: list[tuple[Fraction, int]]) -> None:
    """The sign of a sum of square roots is that of its value at 500 bits, zero when the normal form is empty."""
    node = parse(" + ".join(f"({c})*sqrt({n})" for c, n in terms))
    with precision(500):
        value = constant_ball(node)
    s = sign(node)
    assert (s > 0) == bool(value > 0)
    assert (s < 0) == bool(value < 0)
    assert (s == 0) == is_zero(node)


def test_an_open_zero_is_undecided() -> None:
    """A true equality outside the normal form is left open, not guessed."""
    with pytest.raises(Undecided, match="open"):
        sign(parse("4*atan(1/5) - atan(1/239) - pi/4"))


def test_zero_over_a_hidden_zero_is_not_zero() -> None:
    """The numerator is 0 by its normal form; the denominator is 0 as well, which no normal form shows."""
    nothing = "(sqrt(2)*sqrt(3) - sqrt(6))/(sin(1)**2 + sin(1 + pi/2)**2 - 1)"
    assert read(nothing).needs
    with pytest.raises(Undecided, match="open"):
        Profile.from_expr(f"{nothing} + z")
    with pytest.raises(Undecided, match="open"):
        Profile.from_expr(f"{nothing} + z", grid=4, seconds=5)


@pytest.mark.parametrize(
    ("text", "x", "value"),
    [
        ("sign(z)", (0, 1), "0"),
        ("sign(z)", (1, 9), "1"),
        ("sqrt(z)", (0, 1), "0"),
        ("z**(1/pi)", (0, 1), "0"),
        ("Min(z, 1/3)", (1, 3), "1/3"),
        ("Piecewise((1, z < 1/3), (2, True))", (1, 3), "2"),
        ("Piecewise((1, z <= 1/3), (2, True))", (1, 3), "1"),
        ("Piecewise((1, 1/3 < z <= 2/3), (2, True))", (2, 3), "1"),
        ("Max(sqrt(z), z)", (4, 9), "2/3"),
        ("Abs(z - 1)", (1, 4), "3/4"),
        ("2**(10*z)", (1, 10), "2"),
    ],
)
def test_values_at_rational_points_are_exact(text: str, x: tuple[int, int], value: str) -> None:
    """Steps, kinks and roots are taken exactly at a rational point."""
    assert exact(parse(text), Fraction(*x)) == parse(value)


@pytest.mark.parametrize(("text", "x"), [("1/z", 0), ("log(z)", 0), ("sqrt(z - 1)", 0), ("1/(1-z)", 1), ("z**-0.5", 0)])
def test_points_outside_the_domain_are_undefined(text: str, x: int) -> None:
    """A formula without a real value says so."""
    with pytest.raises(Undefined):
        exact(parse(text), Fraction(x))


@given(st.fractions(0, 1, max_denominator=50))
def test_rational_formulas_stay_rational(x: Fraction) -> None:
    """Arithmetic on rationals is exact."""
    value = (3 * x**2 - x / 7 + 1) / (x + Fraction(1, 4))
    found = exact(parse("(3*z**2 - z/7 + 1)/(z + 1/4)"), x)
    assert found == sympy.Rational(value.numerator, value.denominator)


def test_a_huge_number_is_not_called_small() -> None:
    """What is out of reach because it is large is said to be that."""
    with pytest.raises(Undecided, match="too large to compute"):
        sign(parse("exp(exp(exp(exp(exp(exp(1)))))) - 1"))
