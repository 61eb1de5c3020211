"""One smooth piece: evidence of concavity is given exactly where no three points contradict it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ecm.errors import ExpressionError, NotAnECM, Undecided
from ecm.formula import as_ball, ball_of, derivative, point_ball, precision, read
from ecm.proof import concavity
from ecm.proof.concavity import concave_piece
from ecm.proof.deadline import Deadline
from ecm.proof.pieces import Piece, Point

FORMULAS = [
    *("sqrt(z)/2+sin(20*z)/1000", "sqrt(z)/2+sin(20*z)/100000", "z/2-z**2/8+exp(-((z-0.3)*20)**2)/500", "(z-1/3)**3"),
    *("-(z-1/2)**4", "(z-1/2)**4", "z-z**3", "z**1.5", "z**0.7-z**1.5/9", "log1p(z)+z**3/9", "tanh(z)*z", "sin(3*z)"),
    *("sin(4*z)", "sin(6*z)/6+z", "1/(z+1)+z", "z/(z+1/4)", "z*exp(-z)", "z*exp(-3*z)", "sqrt(z+z**2)", "z**2*(1-z)"),
    *("sqrt(1-(1-z)**2)", "1-(1-z)**1.5", "(1-z)**1.5", "log1p(sqrt(z))", "sqrt(z)*(1-z/10)", "sqrt(z)+z**2/2", "3*z"),
    *(
        "(z-1/7)**2*(1/2-z)",
        "tanh(9*z)+z**2",
        "atan(5*z)-z",
        "z-(z-1/3)**6",
        "-exp(z)",
        "exp(-(8*z-4)**2)",
        "z**3-z**4",
    ),
    *("z**2-5", "(z-1/2)**4-5", "sqrt(z**2-z+1/3)", "-sqrt(z**2-z+1/3)", "-z**2*(z+1)"),
]
INTERVALS = [("0", "1"), ("1/4", "3/4"), ("1/3", "1"), ("0", "1/5"), ("3/10", "1/3")]


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize(("left", "right"), INTERVALS)
def test_evidence_is_given_exactly_for_concave_pieces(text: str, left: str, right: str) -> None:
    """g'' is looked at in 400 points of the open interval; what is not concave has a witness, or is left open."""
    e, a, b = read(text).expr, Fraction(left), Fraction(right)
    second = derivative(derivative(e))
    with precision(128):
        concave = not any(ball_of(second, as_ball(a + (b - a) * (2 * k + 1) / 801)) > 0 for k in range(400))
        piece = Piece(Point.of(a), Point.of(b), e)
        if concave:
            evidence = concave_piece(e, piece, Deadline(10))
            assert evidence.rules == (evidence.cells == 0)
            assert evidence.rules == (evidence.text == "composition rules")
            assert 0 <= evidence.ends <= evidence.cells
            assert evidence.rules or f"on {evidence.cells} cell" in evidence.text
            assert ("expansion" in evidence.text) == (evidence.ends > 0)
            return
        with pytest.raises((NotAnECM, Undecided)) as caught:
            concave_piece(e, piece, Deadline(10))
        if isinstance(caught.value, NotAnECM):
            points = caught.value.witness.points  # three that bend upwards, or two that fall, or one above 1
            assert all(0 <= x <= 1 for x in points)
            if caught.value.condition == "concave":
                with precision(2048):
                    x, y, w = (point_ball(e, point) for point in points)
                    assert (w - y) * as_ball(points[1] - points[0]) > (y - x) * as_ball(points[2] - points[1])


@pytest.mark.parametrize("place", ["3/10", "1/pi", "7/9"])
def test_a_bump_that_no_sample_meets_is_not_overlooked(place: str) -> None:
    """A millionth wide, and far from every simple fraction."""
    e = read(f"sqrt(z)/2+1e-9*exp(-((z-{place})*100000)**2)").expr
    with precision(128), pytest.raises((NotAnECM, Undecided)):
        concave_piece(e, Piece(Point.of(0), Point.of(1), e), Deadline(10))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_is_settled_only_where_it_is_concave(text: str) -> None:
    """By each of the two ways, on cells of several sizes, at their ends and between them."""
    e = read(text).expr
    second = derivative(derivative(e))
    with precision(128):
        for left, right in [*INTERVALS, ("1/2", "1"), ("0", "1/2"), ("15/16", "1"), ("1/2", "33/64")]:
            a, b = Fraction(left), Fraction(right)
            settled = concavity._by_bounds(e, second, a, b), concavity._by_expansion(e, second, (a, b), (True, True), 0)
            bends = any(ball_of(second, as_ball(a + (b - a) * (2 * k + 1) / 101)) > 0 for k in range(50))
            assert not (bends and any(settled))


def test_rules_are_asked_first() -> None:
    """A piece that they settle has no cells; one that is affine, though they do not see it, has one."""
    for text, rules, cells in (
        ("sqrt(z)", True, 0),
        ("sqrt(4*z+4)-2*sqrt(z+1)+z/2", False, 1),
        ("-sqrt(z**2-z+1/3)", False, 2),
    ):
        e = read(text).expr
        with precision(128):
            evidence = concave_piece(e, Piece(Point.of(0), Point.of(1), e), Deadline(10))
        assert evidence.rules == rules
        assert min(evidence.cells, 2) == cells
        assert evidence.ends == 0


def test_an_end_is_flat_only_if_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """g'' is 2e-40 at 1/3 and falls to 0 right beside it; its exact value there is too long to be written out."""

    def too_long(*_: object) -> None:
        raise ExpressionError("too long to be written out")

    monkeypatch.setattr(concavity, "exact", too_long)
    e = read("(z-1/3)**2*1e-40-(z-1/3)**3").expr
    with precision(128), pytest.raises((NotAnECM, Undecided)):
        concave_piece(e, Piece(Point.of(Fraction(1, 3)), Point.of(1), e), Deadline(0.3))


@pytest.mark.parametrize(("left", "right"), [("0", "1"), ("1/4", "3/4"), ("1/3", "2/3")])
def test_no_cell_ends_at_a_cusp(left: str, right: str) -> None:
    """g'' < 0 on both sides of 1/2, where g is 0 and has no slope: cells that end there would say that g is concave."""
    e = read("(1-exp(-(z-1/2)**2))**(1/3)").expr
    with precision(128):
        middle = concavity._split(e, Fraction(left), Fraction(right), (False, False))
    assert Fraction(left) < middle < Fraction(right)
    assert middle != Fraction(1, 2)


def test_a_cell_without_a_point_that_has_a_slope_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """No slope is known anywhere."""
    monkeypatch.setattr(concavity, "derivative", lambda _: read("log(z-2)").expr)
    with precision(128), pytest.raises(Undecided, match="no known slope"):
        concavity._split(read("z").expr, Fraction(0), Fraction(1), (False, False))
