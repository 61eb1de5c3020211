"""What the composition rules claim is true at every point looked at, and they claim what they are meant to."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb

from ecm.errors import Undefined
from ecm.formula import as_ball, point_ball, precision, read
from ecm.proof.rules import Known, known

QUARTERS = Fraction(1, 4), Fraction(3, 4)
UNIT = Fraction(0), Fraction(1)

# u: never falls, d: never rises, c: concave, x: convex, a: the lower end is not attained, b: the upper end is not.
SHAPES = {
    "z": "0 1 ucxab", "-z": "-1 0 dcxab", "1-z": "0 1 dcxab", "z+sqrt(z)": "0 2 ucab", "z-sqrt(z)": "-1 1 xab",
    "1-z-sqrt(z)": "-1 1 dxab", "z**2": "0 1 uxab", "-z**2": "-1 0 dcab", "sqrt(z)-z**2": "-1 1 cab",
    "(z-1/2)**2": "0 1/4 x", "(z-1/2)**3": "-1/8 1/8 u", "(z-2)**2": "1 4 dxab", "(z-2)**3": "-8 -1 ucab",
    "1/(z-2)": "-1 -1/2 dcab", "(z-2)**-2": "1/4 1 uxab", "1/(1+z)": "1/2 1 dxab", "1/z": "1 inf dxab",
    "z**1.5": "0 1 uxab", "z**-0.5": "1 inf dxab", "exp(z)-1": "0 2 uxab", "exp(-z)": "0 1 dxab",
    "log(1+z)": "0 1 ucab", "log(z)": "-inf 0 ucab", "log(2-z)": "0 1 dcab", "sin(z)": "0 1 ucab",
    "sin(3*z)": "0 1 ca", "sin(4*z-2)": "-1 1 ", "sin(9*z)": "-1 1 ", "tanh(z)": "0 1 ucab",
    "tanh(z-1/2)": "-1/2 1/2 uab", "tanh(-z)": "-1 0 dxab", "atan(z)": "0 1 ucab", "asinh(z)": "0 1 ucab",
    "Abs(z-1/2)": "0 1/2 x", "Abs(z-2)": "1 2 dcxab", "sign(z)": "1 1 udcx", "sign(z-1/2)": "-1 1 u",
    "sign(-1-z)": "-1 -1 udcx", "sign(z-1)": "-1 -1 udcx", "Min(z,1-z)": "0 1 ca", "Max(z,1-z)": "0 1 xb",
    "Min(z,sqrt(z)/2)": "0 1/2 uca", "Min(z**2,sqrt(z))": "0 1 ua", "Max(z**2,exp(z)-1)": "0 2 uxb",
    "Min(-z,1-2*z)": "-1 0 dca", "Max(-z,2*z-1)": "-1 1 xb", "Min(sqrt(z),1/2)": "0 1/2 uc",
    "Max(z**2,1/4)": "1/4 1 ux", "z*(1-z)": "0 1 ab", "z*sqrt(z+1)": "0 2 uab", "(z-1)*(z-2)": "0 2 dab",
    "(z+1)*(z-2)": "-4 -1 ab", "(z-1/2)*(z+1)": "-1 1 ", "(1-z)*(2-z)": "0 2 dab", "z/(1+z)": "0 1/2 ucab",
    "z/(2*z+3)": "0 1/5 ucab", "sqrt(z)/(1+3*sqrt(z))": "0 1/4 ucab", "z**2/(1+z**2)": "0 1/2 uab",
    "(z+1)*(z+2)/(z+3)": "1/2 2 ab", "-3*z": "-3 0 dcxab", "-2*sqrt(z)": "-2 0 dxab", "exp(sqrt(z))-1": "0 2 uab",
    "exp(-sqrt(z))": "0 1 dxab", "sqrt(1-z)": "0 1 dcab", "sqrt(2-sqrt(z))": "1 2 dab", "1/sqrt(1+z)": "1/2 1 dxab",
    "1/(3+sin(pi*z))": "1/4 1/2 ", "exp(-z)*z": "0 1 ab", "(-z)**3": "-1 0 dcab", "(-1-z)**-3": "-1 -1/8 ucab",
    "(-1-z)**-2": "1/4 1 dxab", "2+0*z": "2 2 udcx", "z+1/2": "1/2 2 ucxab", "sqrt(z)+1-z": "0 2 cab",
    "z/(2-z)": "0 1 uab", "Min(z,0)*sqrt(z)": "0 0 u", "sin(z)*Min(z,0)": "0 0 u", "z*(1+Min(z,1/2))": "0 2 uab",
    "(3*z-2)*(3*z+sin(z)/9-2)": "-5/2 4 ", "3*z/(1+2*z)": "0 1 ucab", "tanh(z)/(1+tanh(z))": "0 1/2 ucab",
    "(z-1)**3": "-1 0 ucab", "(z-1)**2": "0 1 dxab", "1/(1-log(z))": "0 1 uab", "Abs(z-1/4)": "0 3/4 x",
    "Abs(z-3/4)": "0 3/4 x", "z*log(z)": "-inf 0 ab",
    "(z-1)*sqrt(z)": "-1 0 ab", "(z-1)*(-z)": "0 1 ab", "sin(2*z)*(z-1/2)": "-1 1 ", "z*(z-1/2)*(2-z)": "-2 2 ",
    "z*(log(z)+1/2)": "-inf 1/2 ", "Min(z,0)/z": "0 0 ",
    "(z-1/4)**2": "0 9/16 x", "(z-3/4)**2": "0 9/16 x", "sin(3*Max(z,1-z))": "0 1 ", "sin(3*Min(z,1-z))": "0 1 ",
}  # fmt: skip
NEARLY_PI = "3.14159265358979323846264338327950288419716939937510"
LETTERS = {"u": "up", "d": "down", "c": "concave", "x": "convex", "a": "above", "b": "below"}


@pytest.mark.parametrize(("text", "expected"), SHAPES.items())
def test_shapes_are_known(text: str, expected: str) -> None:
    """The rules see what they are made for, and hold the range between ends that are right to the next half."""
    shape = known(read(text).expr, arb(0), arb(1))
    low, high, *letters = expected.split(" ")
    assert "".join(letter for letter, name in LETTERS.items() if getattr(shape, name)) == "".join(letters)
    assert _end(low) - arb("0.501") <= shape.lo <= _end(high)
    assert _end(low) <= shape.hi <= _end(high) + arb("0.5")


def _end(text: str) -> arb:
    return {"inf": arb.pos_inf(), "-inf": arb.neg_inf()}.get(text) or as_ball(Fraction(text))


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize(
    ("left", "right"), [UNIT, QUARTERS, (Fraction(0), Fraction(1, 2)), (Fraction(1, 2), Fraction(1))]
)
def test_every_claim_is_true(text: str, left: Fraction, right: Fraction) -> None:
    """At points inside the open interval, and at the points between them."""
    formula = read(text).expr
    shape = known(formula, as_ball(left), as_ball(right))
    with precision(200):
        values = [point_ball(formula, left + (right - left) * k / 32) for k in range(1, 32)]
        assert not wrong(shape, values)


def wrong(shape: Known, values: list[arb]) -> str:
    """The first claim that values at equally spaced points contradict."""
    steps = [b - a for a, b in pairwise(values)]
    bends = [b - a for a, b in pairwise(steps)]
    claims = {
        "range": any(v < shape.lo or v > shape.hi for v in values),
        "above": shape.above and any(v <= shape.lo for v in values),
        "below": shape.below and any(v >= shape.hi for v in values),
        "up": shape.up and any(s < 0 for s in steps),
        "down": shape.down and any(s > 0 for s in steps),
        "concave": shape.concave and any(b > 0 for b in bends),
        "convex": shape.convex and any(b < 0 for b in bends),
        "positive": shape.positive and any(v <= 0 for v in values),
        "negative": shape.negative and any(v >= 0 for v in values),
    }
    return next((claim for claim, broken in claims.items() if broken), "")


def test_a_false_claim_is_found() -> None:
    """Each kind of claim can be wrong."""
    rising = [arb(k) ** 2 for k in range(-1, 4)]
    for name in ("up", "down", "concave"):
        assert wrong(Known(arb(-1), arb(9), **{name: True}), rising) == name
    assert wrong(Known(arb(0), arb(9), above=True), rising) == "above"
    assert wrong(Known(arb(0), arb(9), below=True), rising) == "below"
    assert wrong(Known(arb(0), arb(9), convex=True), [-v for v in rising]) in ("range", "convex")
    assert wrong(Known(arb(0), arb(8)), rising) == "range"


@pytest.mark.parametrize(
    "text",
    [
        *("sqrt(z-1/2)", "1/(z-1/2)", "log(z-1/2)", "z/(1-2*z)", "(z-1/2)**-2", "(z-1/2)**0.3", "log(Min(z, 1/2)-1/3)"),
        *(
            "1/Abs(z-1/2)",
            "1/sqrt(Abs(z-1/2))",
            "log(Abs(z-1/2))",
            f"({NEARLY_PI}-pi)*z",
            f"z**({NEARLY_PI}-pi)",
            f"(z+1)**({NEARLY_PI}-pi)",
        ),
        *("1/Min(z-1/3, 1)", "1/sin(4*z)", "sqrt(sin(4*z))", "Piecewise((z, z<1/2), (1/2, True))", "log1p(-2*z)"),
    ],
)
def test_what_may_not_be_real_is_not_known(text: str) -> None:
    """A formula that has no real value somewhere in the interval has no range."""
    with pytest.raises(Undefined):
        known(read(text).expr, arb(0), arb(1))


def test_ends_that_are_zero_are_positive_only_if_they_are_not_attained() -> None:
    """positive and negative are strict."""
    zero, one = arb(0), arb(1)
    assert Known(zero, one, above=True).positive
    assert not Known(zero, one).positive
    assert not Known(-one, one, above=True).positive
    assert Known(one, one).positive
    assert Known(-one, zero, below=True).negative
    assert not Known(-one, zero).negative
    assert not Known(-one, one, below=True).negative
    assert Known(-one, -one).negative
    assert not Known(zero, one, above=True).negative
    assert not Known(-one, zero, below=True).positive
