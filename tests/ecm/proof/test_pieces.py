"""Signs, pieces, expansions and Taylor bounds: whatever is said of an interval is true at the points inside it."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Expr

from ecm.errors import ExpressionError, NotAnECM, Undecided, Undefined
from ecm.formula import as_ball, ball_of, derivative, point_ball, precision, read
from ecm.proof import pieces
from ecm.proof.deadline import Deadline
from ecm.proof.expansion import curvature_beside, sign_beside
from ecm.proof.pieces import Point, merged, pieces_of, signs, simplest
from ecm.proof.taylor import bounds
from ecm.proof.witness import refute

INTERVALS = [(Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(3, 4))]
SWITCHES = {
    "z-1/3": 1, "1/3-z": 1, "z-1/8": 1, "z-7/8": 1, "7/8-z": 1, "z-1/4": 1, "z-3/4": 1, "3/4-z": 1, "z+1": 0, "-1-z": 0,
    "z-2": 0, "2-z**2": 0, "z**2-1/4": 1, "1/4-z**2": 1, "z**3-1/8": 1, "2*sqrt(z)-1": 1, "1-2*z**0.5": 1, "z**2": 0,
    "sqrt(z)-3*z/4-1/4": 1, "exp(z)-2": 1, "2-exp(z)": 1, "z*(z-1/2)*(z-3/4)": 2, "sin(z)-z": 0,
    "log1p(z)-z/2": 0, "z**2-z/2+1/16": 1, "(z-1/7)**2*(z-1/2)": 2, "(z-1/7)**2*(1/2-z)": 2, "z**2-2*z/3+1/12": 2,
    "pi*z-1": 1, "z**2-z+1/5": 2, "z**3-z/2": 1, "sin(pi*z)": 0, "exp(z)-1-z": 0, "exp(z)-1-z-z**2/2": 0, "3+0*z": 0,
    "sqrt(z**2-z+1/3)-1/2": 2, "log(z)+1/2": 1, "exp(z)-exp(1/3+1e-25)": 1, "(sqrt(3+2*sqrt(2))-sqrt(2)-1)+0*z": 0,
    "1-exp(z)": 0, "z**2-3": 0, "sin(z)-2": 0, "tanh(z-1/3)": 1, "sin(z)**2-1/9": 1,
}  # fmt: skip
"""Formulas, and the number of points inside (0, 1) at which they vanish."""


@pytest.mark.parametrize("text", SWITCHES)
@pytest.mark.parametrize(("left", "right"), INTERVALS)
def test_signs_are_true_on_whole_intervals(text: str, left: Fraction, right: Fraction) -> None:
    """The intervals follow one another, and the formula has the sign at every point looked at inside each."""
    e = read(text).expr
    found = signs(e, Point.of(left), Point.of(right), Deadline(10))
    assert (found[0][0].value, found[-1][1].value) == (left, right)
    assert all(before[1] == after[0] for before, after in pairwise(found))
    with precision(300):
        for lo, hi, s in found:
            assert lo.hi < hi.lo
            assert s in (-1, 0, 1)
            for k in range(1, 16):
                value = point_ball(e, lo.hi + (hi.lo - lo.hi) * k / 16)
                assert value * s > 0 if s else value.contains(0)


@pytest.mark.parametrize(("text", "zeros"), SWITCHES.items())
def test_every_zero_stands_between_two_intervals(text: str, zeros: int) -> None:
    """Also a zero at which the sign does not change."""
    e = read(text).expr
    between = [lo for lo, _, _ in signs(e, Point.of(0), Point.of(1), Deadline(10))][1:]
    with precision(200):
        assert sum(bool(ball_of(e, point.ball()).contains(0)) for point in between) == zeros


PIECES = {
    "Min(3*z, 1)/18": "0 z/6 1/3 1/18", "Max(3*z, 1)": "0 1 1/3 3*z", "Abs(z-1/4)": "0 1/4-z 1/4 z-1/4",
    "sign(z-1/2)*z": "0 -z 1/2 z", "Min(z, 1/2, 1-z)": "0 z 1/2 1-z", "Max(z, 1/2, 1-z)": "0 1-z 1/2 z",
    "Min(2*z, 1/2)+Min(3*z, 1/2)": "0 5*z 1/6 2*z+1/2 1/4 1", "Piecewise((z, z<1/3), (1/3, True))": "0 z 1/3 1/3",
    "Piecewise((z, z<=1/3), (2*z, z<1/2), (1, True))": "0 z 1/3 2*z 1/2 1",
    "Min(z, Max(1/4, z/2))": "0 z 1/4 1/4 1/2 z/2",
    "Piecewise((z, 1/4<z<1/2), (0, True))": "0 0 1/4 z 1/2 0",
    "Abs(Abs(z-1/2)-1/4)": "0 1/4-z 1/4 z-1/4 1/2 3/4-z 3/4 z-3/4",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PIECES.items())
def test_pieces_are_those_of_the_definition(text: str, expected: str) -> None:
    """Each piece begins where the one before ends, and holds the formula that applies inside."""
    found = pieces_of(read(text).expr, Deadline(10))
    words = expected.split()
    assert [str(piece.left) for piece in found] == words[::2]
    assert [piece.expr for piece in found] == [read(word).expr for word in words[1::2]]
    assert str(found[-1].right) == "1"
    assert all(before.right == after.left for before, after in pairwise(found))
    assert merged(found) == found


def test_an_isolated_root_is_enclosed_as_closely_as_is_asked() -> None:
    """And the enclosure holds the root."""
    root = next(
        hi for _, hi, _ in signs(read("sin(3*z)-z").expr, Point.of(0), Point.of(1), Deadline(10)) if hi.root is not None
    )
    lo, hi = root.narrowed(Fraction(1, 1 << 100))
    assert 0 < hi - lo <= Fraction(1, 1 << 100)
    with precision(300):
        assert point_ball(root.root, lo) > 0 > point_ball(root.root, hi)
        assert as_ball(lo) < root.ball() < as_ball(hi)
    assert abs(Fraction(str(root.number)) - lo) < Fraction(1, 10**28)
    assert float(root) == pytest.approx(float(lo))


@given(st.fractions(0, 2, max_denominator=50), st.fractions(0, 1, max_denominator=50))
def test_the_simplest_fraction_has_the_least_denominator(low: Fraction, width: Fraction) -> None:
    """By trying them all."""
    found = simplest(low, low + width)
    tried = (Fraction(n, d) for d in range(1, 51) for n in range(3 * d + 1) if low <= Fraction(n, d) <= low + width)
    assert low <= found <= low + width
    assert found.denominator == next(tried).denominator


@pytest.mark.parametrize("number", ["0", "1", "2", "1/3", "7/2"])
def test_the_simplest_fraction_of_a_point_is_the_point(number: str) -> None:
    """A whole number, too."""
    assert simplest(Fraction(number), Fraction(number)) == Fraction(number)


SMOOTH = [
    "sin(5*z)",
    "sqrt(z+1)-z**2",
    "exp(2*z)",
    "1/(z+2)",
    "tanh(z)-z/3",
    "z**2-z/2+1/16",
    "log1p(z)*z",
    "z**9",
    "1/3+z/10**6",
    "2",
]


@pytest.mark.parametrize("text", SMOOTH)
@pytest.mark.parametrize(("left", "right"), [*INTERVALS, (Fraction(3, 8), Fraction(1, 2))])
def test_taylor_bounds_hold_all_values(text: str, left: Fraction, right: Fraction) -> None:
    """Of the formula and of its second derivative, and they are not much wider than the values spread."""
    e = read(text).expr
    for curvature, formula in ((False, e), (True, derivative(derivative(e)))):
        found = bounds(e, left, right, curvature=curvature)
        with precision(200):
            values = [ball_of(formula, as_ball(left + (right - left) * k / 16)) for k in range(17)]
            assert all(found.contains(value) or found.overlaps(value) for value in values)
            if right - left < Fraction(1, 4):
                spread = max(float(v) for v in values) - min(float(v) for v in values)
                assert 2 * float(found.rad()) <= 2 * spread + 1e-9


BESIDE = {
    "z-sin(z)": 1, "sin(z)-z": -1, "sqrt(z)-z": 1, "z-sqrt(z)": -1, "z**1.5-z": -1, "z**(1/3)-z**(1/2)": 1,
    "exp(z)-1-z": 1, "1-exp(z)": -1, "z**2-z**3": 1, "sqrt(log1p(z))": 1, "log1p(z)-z": -1, "z/(1+z)-z": -1, "0*z": 0,
    "tanh(sqrt(z))-z": 1, "1/(1+z)-1": -1, "atan(z)-z": -1, "z**-0.5": 1, "2-z": 1, "z-2": -1,
    "sqrt(z+z**2)-sqrt(z)": 1,
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BESIDE.items())
def test_the_sign_beside_an_end_is_true(text: str, expected: int) -> None:
    """Right of 0, and left of 1 for the mirrored formula, on the whole width."""
    width = Fraction(1, 16)
    mirrored = text.replace("exp(", "EXP(").replace("z", "(1-z)").replace("EXP(", "exp(")
    assert sign_beside(read(text).expr, Fraction(0), 1, width) == expected
    assert sign_beside(read(mirrored).expr, Fraction(1), -1, width) == expected
    for k in range(1, 17):
        value = point_ball(read(text).expr, width * k / 16)
        assert value * expected > 0 if expected else value == 0


CHANGING = ["z-4*z**2", "sqrt(z)-3*z", "z**1.5-z/2", "sin(9*z)", "z**2-z/4", "1/4-z", "z**(1/3)-z**(1/2)*3/2"]


@pytest.mark.parametrize("text", CHANGING)
def test_a_sign_that_changes_within_the_width_is_not_claimed(text: str) -> None:
    """Nor that of a second derivative."""
    with pytest.raises((Undefined, ExpressionError)):
        sign_beside(read(text).expr, Fraction(0), 1, Fraction(1, 2))


BENDING = {
    "sqrt(z)+z**2/2": None, "z**1.5-z**2": None, "z**2-2*z**3": None, "sin(9*z)": None, "sqrt(z)+z**2/100": -1,
    "z**1.5+z**2": 1, "sqrt(z)-z**2": -1, "log1p(z)": -1, "exp(z)": 1, "z**(2/3)-z": -1, "z-z**3": -1, "z**3": 1,
    "tanh(z)": -1, "sqrt(sin(z))": -1, "z*sqrt(z)": 1, "5*z": 0, "z**2": 1, "z**0.4+z**0.6": -1, "z**-1": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BENDING.items())
def test_the_curvature_beside_an_end_is_true(text: str, expected: int | None) -> None:
    """None: it changes its sign within 1/2, or the formula is unbounded, and nothing is claimed."""
    e, width = read(text).expr, Fraction(1, 16)
    if expected is None:
        with pytest.raises((Undefined, ExpressionError)):
            curvature_beside(e, Fraction(0), 1, Fraction(1, 2))
        return
    assert curvature_beside(e, Fraction(0), 1, width) == expected
    second = derivative(derivative(e))
    for k in range(1, 16):
        value = ball_of(second, as_ball(width * k / 16))
        assert value * expected > 0 if expected else value == 0


@pytest.mark.parametrize(
    ("text", "points", "convex"),
    [
        ("z**2", (0, "1/4", 1), True),
        ("sqrt(z)", (0, "1/4", 1), False),
        ("z/3", (0, "1/4", 1), False),
        ("z/2+1e-30*z**2", ("1/8", "1/4", 1), True),
        ("z/2-1e-30*z**2", ("1/8", "1/4", 1), False),
        ("Max(z, 3/4)", (0, "3/4", 1), True),
        ("Min(z, 3/4)", (0, "3/4", 1), False),
        ("sin(z)", (0, "1/2", 1), False),
    ],
)
def test_three_points_show_a_bend_only_where_there_is_one(text: str, points: tuple[str, ...], convex: bool) -> None:
    """Points need not be equally far apart."""
    with precision(2048), pytest.raises(NotAnECM, match="not concave") if convex else nullcontext():
        refute(read(text).expr, map(Fraction, points))


@pytest.mark.parametrize("text", ["sqrt(z)", "z", "Min(z, 1/2)", "sign(z)", "0", "2*z-z**2", "sin(pi*z/2)"])
def test_points_of_a_metric_refute_nothing(text: str) -> None:
    """Ties are no violation."""
    refute(read(text).expr, [Fraction(k, 16) for k in range(17)])


def test_a_point_that_is_irrational_lies_between_its_bounds() -> None:
    """And is known exactly all the same."""
    point = Point.of(read("sqrt(2)/2").expr)
    assert point.value is None
    assert point.lo < point.hi
    assert point.hi - point.lo < Fraction(1, 1 << 40)
    assert 2 * point.lo**2 < 1 < 2 * point.hi**2
    assert as_ball(point.lo) < point.ball() < as_ball(point.hi)
    assert point.ball() ** 2 * 2 - 1 < 1e-9
    assert point.number == read("sqrt(2)/2").expr
    assert str(point) == "2**(1/2)/2"
    assert point.narrowed(Fraction(1)) == (
        point.lo,
        point.hi,
    )
    assert (
        Point.of(Fraction(1, 3)).lo == Point.of(Fraction(1, 3)).hi == Point.of(Fraction(1, 3)).value == Fraction(1, 3)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("z-1/2", [1]),
        ("1/2-z", [-1]),
        ("z-2**(1/2)/2", [1]),
        ("z-3/4", [-1, 1]),
        ("z-3/2", [-1]),
        ("1/z-5/4", [1, -1]),
        ("z**pi-1/2", [-1, 1]),
        ("z**0.5-1", [-1]),
        ("exp(z)-9/4", [-1, 1]),
    ],
)
def test_signs_from_an_irrational_point_on(text: str, expected: list[int]) -> None:
    """Between 1/sqrt(2) and 1, with runs of one sign taken together."""
    found = signs(read(text).expr, Point.of(read("sqrt(2)/2").expr), Point.of(1), Deadline(10))
    assert [s for k, (_, _, s) in enumerate(found) if not k or s != found[k - 1][2]] == expected


def test_signs_beside_an_isolated_root() -> None:
    """An end that is known as a root only."""
    parts = signs(read("sin(3*z)-z").expr, Point.of(0), Point.of(1), Deadline(10))
    root = next(hi for _, hi, _ in parts if hi.root is not None)
    for left, right, zeros in ((Point.of(0), root, 1), (root, Point.of(1), 0)):
        found = signs(read("z-1/2").expr, left, right, Deadline(10))
        assert (found[0][0], found[-1][1]) == (left, right)
        assert len({s for *_, s in found}) == zeros + 1


@pytest.mark.parametrize("text", ["1/(z-1/2)", "1/(3*z-1)", "log((z-1/2)**2)"])
def test_a_formula_that_has_no_value_inside_has_no_signs(text: str) -> None:
    """It may change its sign there without any zero."""
    with pytest.raises((Undecided, Undefined)):
        signs(read(text).expr, Point.of(0), Point.of(1), Deadline(1))


def test_a_root_is_a_fraction_only_if_the_formula_vanishes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """1/3 is close enough to be taken for it; where the value there is open, it is not taken."""
    e, real = read("exp(z)-exp(1/3+1e-25)").expr, pieces.sign_at

    def partly(node: Expr, x: Fraction) -> int:
        if x == Fraction(1, 3):
            raise Undecided("open")
        return real(node, x)

    for _ in range(2):
        root = next(hi for _, hi, _ in signs(e, Point.of(0), Point.of(1), Deadline(10)) if hi.value != Fraction(1, 3))
        assert root.exact is None
        assert root.lo <= Fraction(1, 3) + Fraction(1, 10**25) <= root.hi
        monkeypatch.setattr(pieces, "sign_at", partly)


def test_a_root_of_moderate_size_is_exact() -> None:
    """Its denominator is less than 2**26; beyond that it stays a root."""
    for denominator, is_exact in ((7, True), ((1 << 26) - 3, True), (1 << 26, False), ((1 << 27) + 3, False)):
        e = read(f"exp(z)-exp(3/{denominator})").expr
        found = signs(e, Point.of(0), Point.of(1), Deadline(10))
        (root,) = [a for (_, a, s), (_, _, t) in pairwise(found) if s * t < 0]
        assert (root.value == Fraction(3, denominator)) == is_exact


def test_a_root_that_may_be_an_irrational_end_is_left_open() -> None:
    """exp(z) - exp(1/sqrt(2)) vanishes at 1/sqrt(2), or right beside it, as far as bounds can tell."""
    end, e = Point.of(read("sqrt(2)/2").expr), read("exp(z)-exp(sqrt(2)/2)").expr
    for left, right in ((end, Point.of(1)), (Point.of(0), end)):
        with pytest.raises(Undecided, match="it is open whether"):
            signs(e, left, right, Deadline(10))
    assert [s for *_, s in signs(read("exp(z)-exp(3/4)").expr, end, Point.of(1), Deadline(10))] == [-1, 1]
    assert [s for *_, s in signs(read("exp(z)-exp(2/3)").expr, Point.of(0), end, Deadline(10))] == [-1, 1]
