"""Profiles: exact floors, exact comparisons, algebra, tables."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm.errors import ECMError, ExpressionError, NotAnECM, Undecided
from ecm.formula import SWITCHES, floats, precision, read, text_of
from ecm.metric.profile import Profile

FORMULAS = [
    *(
        "z",
        "z/18",
        "z**0.5/18",
        "z**(1/3)",
        "z**0.9",
        "log(1+5*z)/log(6)",
        "log(1+3*z)/log(4)",
        "1-exp(-3*z)",
        "tanh(2*z)",
    ),
    *("z/(z+1/4)", "Min(3*z,1)/18", "Min(sqrt(z)/0.5,1)", "sign(z)/18", "Piecewise((3*z,z<1/4),(z/3+2/3,True))"),
    *("0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8", "2*z-z**2", "sqrt(z)/2+cbrt(z)/2", "sqrt(2)*sqrt(z)/2", "sin(pi*z/2)"),
]


@pytest.mark.parametrize("text", FORMULAS)
@given(st.integers(0, 3000), st.integers(1, 30))
@settings(max_examples=8, deadline=None)
def test_floors_are_exact(text: str, scale: int, q: int) -> None:
    """floor(scale*g) is attained and the next integer is not, decided by exact signs."""
    profile = Profile.from_expr(text)
    floors = profile.floors(scale, q)
    assert floors.dtype == np.int64
    for k in range(q + 1):
        if scale:
            assert profile.at_least(k, q, Fraction(int(floors[k]), scale))
            assert not profile.at_least(k, q, Fraction(int(floors[k]) + 1, scale))
        else:
            assert floors[k] == 0


@given(st.integers(1, 10**9), st.integers(1, 300))
def test_floors_of_the_square_root_are_integer_square_roots(scale: int, q: int) -> None:
    """The most used profile agrees with math.isqrt at every level."""
    floors = Profile.from_expr("z**0.5/18").floors(scale, q)
    assert floors.tolist() == [isqrt(scale * scale * k // (324 * q)) for k in range(q + 1)]


@pytest.mark.parametrize(
    ("text", "scale", "q", "ties"),
    [
        ("log(1+15*z)/log(16)", 4, 15, {0: 0, 1: 1, 3: 2, 7: 3, 15: 4}),
        ("sqrt(z)/2 + z/2", 36, 9, {0: 0, 1: 8, 4: 20, 9: 36}),
        ("log1p(z)/log(2)", 10, 1, {0: 0, 1: 10}),
        ("sin(pi*z/2)", 10, 3, {0: 0, 1: 5, 3: 10}),
        ("Min(sqrt(z)*sqrt(2), 1)", 7, 4, {2: 7, 3: 7, 4: 7}),
    ],
)
def test_ties_are_decided_symbolically(text: str, scale: int, q: int, ties: dict[int, int]) -> None:
    """Where scale*g is an integer, the floor is that integer and not the one below."""
    floors = Profile.from_expr(text).floors(scale, q)
    assert {k: int(floors[k]) for k in ties} == ties


def test_an_undecidable_tie_is_rounded_down() -> None:
    """4*(atan(1/5)*4 - atan(1/239))/pi is 1, which the normal form does not see: 0 is sound."""
    profile = Profile.from_expr("z*(16*atan(1/5) - 4*atan(1/239))/pi/2")
    assert profile.floors(2, 1).tolist() == [0, 0]
    assert profile.floors(3, 1).tolist() == [0, 1]
    with pytest.raises(Undecided):
        profile.at_least(1, 1, Fraction(1, 2))


@pytest.mark.parametrize("text", ["z**0.5/18", "log(1+5*z)/log(6)", "Min(sqrt(z)/0.5,1)", "sign(z)/18"])
def test_large_grids_are_served(text: str) -> None:
    """65,536 levels agree with the floats wherever those are clear."""
    profile = Profile.from_expr(text)
    floors, z = profile.floors(16000, 65535), np.arange(65536) / 65535
    estimate = 16000 * profile(z)
    assert np.all(np.abs(floors + 0.5 - estimate) <= 0.5 + 1e-6)


@pytest.mark.parametrize("text", FORMULAS)
def test_values_calls_and_balls_agree(text: str) -> None:
    """The float table, the float function, the ball and sympy's number are one function."""
    profile = Profile.from_expr(text)
    values = profile.values(12)
    np.testing.assert_allclose(values, profile(np.arange(13) / 12), atol=1e-14)
    for k in (0, 5, 12):
        assert float(profile.ball(k, 12).mid()) == pytest.approx(values[k], abs=1e-14)
        assert float(sympy.N(profile.exact(k, 12))) == pytest.approx(values[k], abs=1e-14)
    assert isinstance(profile(0.25), float)


def test_equality_and_repr() -> None:
    """Equal formulas are equal profiles, and the repr can be pasted back."""
    a, b = Profile.from_expr("z**0.5/18"), Profile.from_expr(sympy.sqrt(sympy.Symbol("x")) / 18)
    assert a == b == eval(repr(a))
    assert len({a, b}) == 1
    assert a != Profile.from_expr("z**0.5/18", grid=255)
    table = Profile.from_values([0, "0.5", Fraction(2, 3)])
    assert eval(repr(table)) == table
    assert a != table


@pytest.mark.parametrize(("text", "zero"), [("0", True), ("0*z", True), ("Min(z, 0)", True), ("1e-300*z", False)])
def test_the_zero_profile_is_recognised(text: str, zero: bool) -> None:
    """A feature that may be changed for free has g = 0."""
    assert Profile.from_expr(text).is_zero is zero
    assert Profile.from_values([0, 0, 0]).is_zero


def test_algebra_keeps_the_proof_and_rechecks_the_top() -> None:
    """Multiples, sums, minima and caps are profiles; what exceeds 1 is refused with the way out."""
    root, line = Profile.from_expr("sqrt(z)"), Profile.from_expr("z")
    mixed = root.scaled(Fraction(1, 2)).plus(line.scaled(Fraction(1, 2)))
    assert mixed == Profile.from_expr("sqrt(z)/2 + z/2")
    assert mixed.minimum(line) == Profile.from_expr("Min(z, sqrt(z)/2 + z/2)")
    assert line.capped().floors(9, 3).tolist() == line.floors(9, 3).tolist()
    assert "sum of two proven profiles" in str(mixed.proof)
    with pytest.raises(NotAnECM, match="capped"):
        root.plus(line)
    with pytest.raises(NotAnECM):
        root.scaled(-1)
    assert root.scaled(0).is_zero


def test_tables_combine_on_the_common_grid() -> None:
    """Tables of 4 and 6 steps meet on 2; a formula joins where its values are rational."""
    four, six = (
        Profile.from_values([0, "0.4", "0.6", "0.7", "0.7"]),
        Profile.from_values([Fraction(k, 12) for k in range(7)]),
    )
    both = four.scaled(Fraction(1, 2)).plus(six)
    assert both.grid == 2
    assert both.table == (0, Fraction(3, 10) + Fraction(1, 4), Fraction(35, 100) + Fraction(1, 2))
    assert four.minimum(Profile.from_expr("z/2")).table == tuple(Fraction(k, 8) for k in range(5))
    with pytest.raises(Undecided, match="irrational"):
        four.minimum(Profile.from_expr("sqrt(z)/4"))


def test_a_grid_profile_serves_only_divisors_of_its_grid() -> None:
    """What is known at k/q is not extrapolated."""
    profile = Profile.from_expr("z/2 + sin(2*pi*8*z)", grid=8)
    assert profile.floors(16, 8).tolist() == list(range(9))
    assert profile.floors(16, 4).tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(ECMError, match="does not divide"):
        profile.floors(16, 3)
    with pytest.raises(Undecided):
        profile.pieces()


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6), st.sampled_from([1, 2, 3, 6]), st.integers(0, 1000))
def test_tables_are_served_on_every_divisor_of_their_grid(steps: list[int], q: int, scale: int) -> None:
    """floor(scale * table[6k/q]), at_least and values speak of the same entries."""
    sums = np.cumsum([0, *sorted(steps, reverse=True)]).tolist()
    table = [Fraction(n, max(1, sums[-1])) for n in sums]
    profile = Profile.from_values(table)
    entries = [table[6 * k // q] for k in range(q + 1)]
    assert profile.floors(scale, q).tolist() == [scale * v.numerator // v.denominator for v in entries]
    assert profile.values(q).tolist() == [float(v) for v in entries]
    for k, v in enumerate(entries):
        assert profile.at_least(k, q, v)
        assert not profile.at_least(k, q, v + Fraction(1, 10**9))


@pytest.mark.parametrize(("k", "q"), [(-1, 4), (5, 4), (0, 0), (1, -4)])
@pytest.mark.parametrize(
    "profile", [Profile.from_expr("z**0.5"), Profile.from_values([0, "0.5", "0.8", "0.9", 1])], ids=["formula", "table"]
)
def test_points_outside_the_grid_are_refused(profile: Profile, k: int, q: int) -> None:
    """k/q with k beyond 0..q is no point of [0, 1]; a negative scale has no floors; both ends are points."""
    with pytest.raises(ECMError, match="not a point"):
        profile.at_least(k, q, 0)
    with pytest.raises(ECMError, match="not be negative"):
        profile.floors(-1, 4)
    assert profile.at_least(0, 4, 0)
    assert profile.at_least(4, 4, 1)
    assert not profile.at_least(0, 4, Fraction(1, 10**9))


@pytest.mark.parametrize(
    "values", [[0], [], [0, "x"], [0, None], [0, float("nan")], [0, float("inf")], [0, True], [0, 1j]]
)
def test_tables_of_other_things_are_refused(values: list[object]) -> None:
    """A table holds exact numbers, at least two."""
    with pytest.raises(ExpressionError):
        Profile.from_values(values)


@pytest.mark.parametrize("grid", [0, -1, 2.5, True, 1 << 30])
def test_grids_are_positive_integers(grid: object) -> None:
    """A grid proof needs a sensible q."""
    with pytest.raises(ECMError):
        Profile.from_expr("z", grid=grid)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "rights", "jump"),
    [
        ("z**0.5/18", ["1"], "0"),
        ("sign(z)/18", ["1"], "1/18"),
        ("0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8", ["1"], "1/8"),
        ("Min(sqrt(z)/0.5,1)", ["1/4", "1"], "0"),
        ("Min(z**0.9/0.7,1)", ["(7/10)**(10/9)", "1"], "0"),
        ("Piecewise((3*z,z<1/4),(z/3+2/3,True))", ["1/4", "1"], "0"),
        ("Min(3*z,1)/2+Min(2*z,1)/2", ["1/3", "1/2", "1"], "0"),
        ("Max(z, z/2)", ["1"], "0"),
    ],
)
def test_pieces_and_jump(text: str, rights: list[str], jump: str) -> None:
    """Kinks are found exactly and each piece is smooth and equal to g inside."""
    profile = Profile.from_expr(text)
    pieces = profile.pieces()
    assert [str(piece.right) for piece in pieces] == [read(right).text for right in rights]
    assert text_of(profile.jump) == jump
    for piece in pieces:
        assert not piece.expr.has(*SWITCHES)
        middle = (float(piece.left) + float(piece.right)) / 2
        assert floats(piece.expr, np.array([middle]))[0] == pytest.approx(profile(middle))


def test_an_irrational_kink_is_isolated_and_refined() -> None:
    """The root of sin(2z) = 0.7 is known to any precision."""
    left, right = Profile.from_expr("Min(sin(2*z), 0.7)").pieces()
    assert left.right == right.left
    with precision(200):
        ball = left.right.ball()
        assert ball.rad() < 1e-55
        assert (2 * ball).sin().overlaps(ball * 0 + 7 / ball.__class__(10))


LONG = [[0, 10**1001], [0, Fraction(1, 10**5000)], [0, Decimal("1e-5000")], [0, Decimal("1e1000000")], [0, "1e-9999"]]


@pytest.mark.parametrize("values", [[0, "1e99999999"], [0, "1e-99999999"], 5, None, *LONG])
def test_a_table_that_is_none_is_refused_at_once(values: object) -> None:
    """A number with a hundred million digits is not written out first, and none is taken that cannot be written."""
    with pytest.raises(ExpressionError):
        Profile.from_values(values)  # type: ignore[arg-type]


def test_a_multiple_that_could_not_be_read_again_is_refused() -> None:
    """What a profile writes, `from_dict` reads."""
    small = Fraction(1, 10**900)
    for profile in (Profile.from_expr("sqrt(z)"), Profile.from_values([0, "1/2", "3/4"])):
        once = profile.scaled(small)
        assert Profile.from_dict(once.to_dict()) == once
        with pytest.raises(ExpressionError, match="1000 digits"):
            once.scaled(small)


@pytest.mark.parametrize("q", [2.0, "4", None, 0])
def test_a_grid_is_an_integer(q: int) -> None:
    """In every question that has one."""
    with pytest.raises(ECMError, match="grid"):
        Profile.from_expr("z").floors(10, q)
