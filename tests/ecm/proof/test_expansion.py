"""Expansions beside a point: the formula lies in them with their remainder, and no sign is claimed without it."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest

from ecm.errors import Undefined
from ecm.formula import as_ball, ball_of, derivative, power, precision, rational, read
from ecm.proof.expansion import _expand, curvature_beside, sign_beside, sign_near
from tests.ecm.proof.test_pieces import BESIDE

FORMULAS = [
    *BESIDE,
    *("sin(z)*exp(z)", "sin(z+1)*exp(-2*z)*exp(z**2)", "sqrt(z)*exp(z)", "sqrt(z+1)*log1p(z)", "(1+z)**2-1-2*z-z**2"),
    *("z-2*z**12", "2*z**12-z", "exp(z)-1-z-2*z**12", "z-z**2", "z**2-z", "sqrt(z)-2*z**7", "z**(1/3)-3*z**5"),
    *("(2-z)**5", "(z-2)**5", "(z-2)**-3", "1/sqrt(z)+exp(z)", "z**-2-9", "tanh(1/(1+z))", "sin(1-z)", "sin(pi*(1-z))"),
    *(
        "-z**2+10*z**9",
        "-z**2+z**12",
        "sqrt(z)+z**8/220",
        "z-z**3+z**11",
        "log(z+1/9)",
        "(z+z**2)**3-z**3",
        "(1+z**12)**2-1",
    ),
]
WIDTHS = [Fraction(1), Fraction(1, 2), Fraction(1, 16)]


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize(("end", "side"), [(0, 1), (1, -1)])
def test_the_formula_lies_in_its_expansion(text: str, end: int, side: int) -> None:
    """At points up to the far end, with the last coefficient over all of the interval as the remainder."""
    e = read(text).expr
    for width in WIDTHS:
        try:
            x, g, n = _expand(e, Fraction(end), side, width)
        except Undefined:
            continue
        with precision(300):
            for j in range(1, 9):
                t = power(as_ball(width), rational(Fraction(1, n))) * j / 8
                assert x.span.overlaps(t)
                total = g.over[g.at.prec - 1]
                for k in reversed(range(g.at.prec - 1)):
                    total = total * t + g.at[k]
                found = total * power(t, rational(Fraction(g.v)))
                assert found.overlaps(ball_of(e, as_ball(end + side * width * Fraction(j, 8) ** n)))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize(("end", "side"), [(0, 1), (1, -1)])
def test_no_sign_is_claimed_that_is_false(text: str, end: int, side: int) -> None:
    """Of the formula up to the far end itself, and of its second derivative inside."""
    e = read(text).expr
    second = derivative(derivative(e))
    for width in WIDTHS:
        points = [as_ball(end + side * width * Fraction(j, 32)) for j in range(1, 33)]
        with precision(300):
            try:
                s = sign_beside(e, Fraction(end), side, width)
                assert s in (-1, 0, 1)
                assert all(ball_of(e, x) * s > 0 if s else ball_of(e, x).contains(0) for x in points)
            except Undefined:
                pass
            try:
                s = curvature_beside(e, Fraction(end), side, width)
                assert s in (-1, 0, 1)
                assert all(ball_of(second, x) * s > 0 if s else ball_of(second, x).contains(0) for x in points[:-1])
            except Undefined:
                pass


@pytest.mark.parametrize(
    ("text", "sign", "curvature"),
    [
        ("sqrt(z)+2*z**(11/2)/199", 1, -1),
        ("sqrt(z)+2*z**(11/2)/197", 1, None),
        ("-sqrt(z)-2*z**(11/2)/199", -1, 1),
        ("-sqrt(z)-2*z**(11/2)/197", -1, None),
        ("-z**2+2*z**9/73", -1, -1),
        ("-z**2+2*z**9/71", -1, None),
        ("z-99*z**9/100", 1, -1),
        ("z-101*z**9/100", None, -1),
        ("z-z**2", None, -1),
        ("(1+z)**2-1-2*z-z**2", 0, None),
        ("1/z", 1, None),
        ("log(z)", None, None),
        ("z**(1/24)", 1, -1),
        ("z**(1/25)", None, None),
    ],
)
def test_a_sign_is_claimed_where_the_remainder_leaves_no_doubt(text: str, sign: int, curvature: int) -> None:
    """On all of (0, 1], with remainders one percent to both sides of the limit."""
    for expected, claim in ((sign, sign_beside), (curvature, curvature_beside)):
        try:
            assert claim(read(text).expr, Fraction(0), 1, Fraction(1)) == expected
        except Undefined:
            assert expected is None


@pytest.mark.parametrize(
    ("text", "flat", "expected"),
    [("z**2-9*z**3", True, -1), ("z**2-9*z**3", False, 1), ("z**(2/3)", True, -1), ("z**(2/3)", False, -1)],
)
def test_a_flat_end_is_taken_on_trust(text: str, flat: bool, expected: int) -> None:
    """g''(a) = 0 removes the coefficient of t**2 where z = a + t, and nothing where z is another power of t."""
    assert curvature_beside(read(text).expr, Fraction(0), 1, Fraction(1, 64), flat) == expected


@pytest.mark.parametrize("power", range(1, 16))
def test_a_formula_that_is_flat_to_a_high_order_is_not_taken_for_an_affine_one(power: int) -> None:
    """(1 + z**k)**2 - 1 is convex, however many of its coefficients are 0 and whether or not g''(0) = 0 is known."""
    e = read(f"(1+z**{power})**2-1").expr
    for flat in (False, power > 2):
        with suppress(Undefined):
            assert curvature_beside(e, Fraction(0), 1, Fraction(1, 64), flat) == 1
    with suppress(Undefined):
        assert sign_beside(e, Fraction(0), 1, Fraction(1, 64)) == 1


def test_a_sign_is_found_ever_closer_to_the_point() -> None:
    """Where the formula changes its sign soon after, or has none that is known."""
    assert sign_near(read("z-1000*z**2").expr, Fraction(0), 1, Fraction(1)) == 1
    assert sign_near(read("1000*z**2-z").expr, Fraction(0), 1, Fraction(1)) == -1
    assert sign_near(read("(1-z)-1000*(1-z)**2").expr, Fraction(1), -1, Fraction(1)) == 1
    assert sign_near(read("log(z)").expr, Fraction(0), 1, Fraction(1)) is None
