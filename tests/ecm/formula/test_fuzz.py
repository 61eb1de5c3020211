"""Hostile and random input: only the package's own exceptions come out, in bounded time, and no code runs."""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecm import ECMError, ExpressionError, Profile, Undecided
from ecm.verification.strategies import formulas
from tests.ecm.independent import value

VALID = (
    "z**0.5/18",
    "log(1+5*z)/log(6)",
    "Min(3*z,1)/18",
    "Piecewise((3*z,z<1/4),(z/3+2/3,True))",
    "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8",
    "z/(z+1/4)",
    "tanh(2*z)",
    "1-exp(-3*z)",
    "Max(z, Abs(sin(z))/2)",
)
TOKENS = (
    *("z", "z", "z", "0", "1", "2", "3", "0.5", "1e-6", "18", "pi", "E", "x", "1/3", "10**9", "1e400"),
    *("+", "-", "*", "/", "**", "(", ")", ",", "<", "<=", ">", "==", "and", "True", "not", " "),
    *("sqrt(", "cbrt(", "exp(", "expm1(", "log(", "log1p(", "sin(", "tanh(", "atan(", "asinh(", "sign(", "Abs("),
    *("Min(", "Max(", "Piecewise((", "lambda", ".real", "__class__", "[", "'", "if", "else", "\\", "\n", "#"),
)
LIMITS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def swallow(text: str) -> Profile | None:
    """Reads the text as a profile and lets only the package's own exceptions pass."""
    try:
        profile = Profile.from_expr(text, seconds=0.3)
    except ECMError:
        return None
    floors = profile.floors(100, 5)
    assert floors[0] == 0
    assert all(a <= b <= 100 for a, b in pairwise(floors))
    try:
        assert Profile.from_expr(profile.text, seconds=30) == profile
    except Undecided:
        pytest.fail(f"{profile.text} was proven before")
    return profile


def check_at(text: str, points: list[Fraction]) -> None:
    """The conditions at these points, by mpmath with 60 digits, which shares no code with the proof."""
    with mpmath.workdps(60):
        x = sorted({Fraction(0), Fraction(1), *points})
        g = [value(text, place) for place in x]
        slack = mpmath.mpf(10) ** -40
        assert abs(g[0]) <= slack
        assert g[-1] <= 1 + slack
        assert all(a <= b + slack for a, b in pairwise(g))
        for k in range(1, len(x) - 1):
            before, after = x[k] - x[k - 1], x[k + 1] - x[k]
            rise = (g[k] - g[k - 1]) * after.numerator / after.denominator
            assert rise >= (g[k + 1] - g[k]) * before.numerator / before.denominator - slack


@LIMITS
@given(st.text(max_size=60))
def test_arbitrary_unicode_raises_only_our_errors(text: str) -> None:
    """Any text is either a profile or refused with an ECMError."""
    swallow(text)


@LIMITS
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
def test_token_soup_raises_only_our_errors(text: str) -> None:
    """Any sequence of tokens is either a profile or refused with an ECMError."""
    swallow(text)


@LIMITS
@given(
    st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(TOKENS), st.booleans()), max_size=4)
)
def test_mutations_of_valid_formulas_raise_only_our_errors(text: str, edits: list[tuple[int, str, bool]]) -> None:
    """A valid formula with a few edits is either a profile or refused with an ECMError."""
    for place, token, replace in edits:
        at = place % (len(text) + 1)
        text = text[:at] + token + text[at + replace :]
    swallow(text)


POINTS = st.lists(st.fractions(0, 1, max_denominator=10**6), min_size=5, max_size=9)


@settings(parent=LIMITS, max_examples=300)
@given(formulas(), st.booleans(), POINTS, st.integers(0, 30))
def test_what_is_accepted_holds_at_random_points(text: str, scaled: bool, points: list[Fraction], j: int) -> None:
    """Any formula of the grammar is proved, refuted or left undecided; mpmath confirms what is proved."""
    written = f"({text})*z/20" if scaled else text
    if swallow(written) is not None:
        check_at(written, [*points, *(p / 2**j for p in points)])


def test_the_check_by_mpmath_can_fail() -> None:
    """It sees a convex formula, one that falls, and one that exceeds 1."""
    points = [Fraction(k, 7) for k in range(8)]
    check_at("sqrt(z)/2 + Min(z, 1/3)", points)
    for wrong in (
        "z**2",
        "z**1.0000001",
        "z*(1-z)",
        "z*1.0000001",
        "z+1e-30",
        "Piecewise((z,z<1/3),(z+1e-30,True))",
    ):
        with pytest.raises(AssertionError):
            check_at(wrong, points)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch {canary}')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: open('{canary}', 'w'))()",
        "[c for c in ().__class__.__mro__]",
        "eval(\"open('{canary}', 'w')\")",
        "exec(z)",
        "open(z)",
        "z.__class__",
        "Min.__globals__",
        "f'{{z}}'",
        "getattr(z, E)",
        "(z := 1)",
        "print(z)",
    ],
)
def test_no_code_runs(text: str, tmp_path: object) -> None:
    """Text that would run code under eval is refused with a position and leaves no trace."""
    canary = f"{tmp_path}/canary"
    modules = set(sys.modules)
    with pytest.raises(ExpressionError) as caught:
        Profile.from_expr(text.format(canary=canary))
    assert caught.value.position is not None
    assert not os.path.exists(canary)
    assert "antigravity" not in set(sys.modules) - modules


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "2**(10**9)",
        "z**(10**9)",
        "(((2**1000)**1000)**1000)*z",
        "(2*z)**1000000",
        "(sqrt(2)*z)**1000000",
        "exp(1000000000*log(2))*z",
        "exp(999999*log(2))*z",
        "exp(1000000000*log(2 + z))",
        "1e999999999*z",
        "1" * 9000,
        "(" * 200 + "z" + ")" * 200,
        "(" * 3000 + "z" + ")" * 3000,
        "-" * 9000 + "z",
        "z+" * 4900 + "z",
        "z**" * 3000 + "z",
        "sqrt(" * 55 + "z" + ")" * 55 + "+x",
        "z" * 1_000_000,
        "z + " * 250_000 + "z",
        "z\x00",
        "\ud800",
        "ｚ",
        "z" + "/3" * 4000,
        "Min(" * 2000,
        "+".join(f"z*{p}**-20000" for p in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47) * 40),
        "*".join(f"(z+{k}**900)" for k in range(2, 400)),
    ],
)
def test_oversized_input_is_refused_at_once(text: str) -> None:
    """Huge powers, deep nesting and long texts are refused before they cost anything."""
    with pytest.raises(ECMError):
        Profile.from_expr(text)
