"""The four conditions: what is accepted is proven, what is rejected comes with points that show it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import mpmath
import pytest
import sympy
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM, NotAnECM, Undecided
from ecm.errors import Undefined
from ecm.formula import as_ball, ball_of, derivative, point_ball, precision, read
from ecm.proof.expansion import curvature_beside
from ecm.proof.grid import prove_on_grid, prove_table
from ecm.proof.interval import prove
from ecm.proof.rules import known
from ecm.proof.verdict import Proof
from ecm.proof.witness import written
from tests.ecm.independent import value


def parse(text: str) -> sympy.Expr:
    return read(text).expr


FROM_THE_PAPER_AND_BEYOND = [
    *("z", "z/18", "z**0.5/18", "z**(1/3)", "z**0.9", "log(1+5*z)/log(6)", "log1p(z)", "1-exp(-3*z)", "tanh(2*z)"),
    *("atan(3*z)/2", "asinh(5*z)/3", "sin(z)", "z/(z+1/4)", "Min(3*z,1)/18", "Min(sqrt(z)/0.5,1)", "sign(z)/18"),
    *("Piecewise((3*z,z<1/4),(z/3+2/3,True))", "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8", "sqrt(log1p(z))", "2*z-z**2"),
]
ACCEPTED = [
    *FROM_THE_PAPER_AND_BEYOND,
    *("0", "z**(1/7)", "z**0.123456789/2", "z**(1/pi)", "sqrt(sqrt(z))", "cbrt(z)", "Abs(z)", "1-2**(-z)"),
    *(
        "sin(pi*z/2)",
        "sqrt(sin(pi*z/2))",
        "sin(pi*z/4)",
        "sin(z)/sin(1)",
        "asinh(z)/asinh(1)",
        "atan(z)*4/pi",
        "log(1+z)/log(2)",
    ),
    *("1-(1-z)**3", "1-(1-z)**1.5", "1-(1-z)**4.5", "1-(1-z)**1000", "sqrt(1-(1-z)**2)", "sqrt(2*z-z**2)"),
    *("sqrt(z)*(1-z/10)", "z-z**1.5/3", "z-z**3/3", "z**0.5/2+1e-9*z**2", "z**0.5/2+z**2/100", "z*exp(-z)*E"),
    *("z**(1/pi)/2+z**2/1000", "sqrt(z+z**2)/2", "sqrt(z/(1+z))", "1-exp(-sqrt(z))", "tanh(sqrt(z))", "log1p(sqrt(z))"),
    *("1-1/(1+z)**2", "(exp(z)-1)/exp(z)", "3*z/(1+2*z)", "z/(1+z)+z/(2+z)/3", "z**0.4*log1p(z)**0.4"),
    *("z/3-((z-1/2)**4-1/16)/12", "z/3-((z-1/3)**4-1/81)/12", "z/2+z*(1-z)/3", "exp(exp(1-z))*z/20"),
    *("tanh(tanh(tanh(z)))", "log1p(log1p(log1p(z)))", "sin(sin(sin(z)))", "(1/(z**0.3 + 1/2)**2)**2*z/20"),
    *("sqrt(z)/2+sin(500*z)/1000000000", "sqrt(expm1(sqrt(z)))/1000+sqrt(z)/2", "z/20/exp(pi+z**0.3)"),
    *("z/(z+1e-9)", "sqrt(z)/(1+sqrt(z))", "tanh(1000*z)", "1-exp(-1000*z)", "z**0.01", "z*(2-z)"),
    *("sqrt(z)/2+1e-14*(exp(-((z-0.3)*1000000)**2)-exp(-90000000000))", "Min(z,1/2)+Max(z,1/2)-1/2"),
    *("Max(z,z/2)", "Max(sin(z),z)", "Max(sqrt(z)/2,sqrt(z)/3)", "Min(Min(2*z,1/2),sqrt(z))", "Min(sin(2*z),0.7)"),
    *("Min(log1p(3*z),sqrt(z))", "Max(Min(log1p(3*z),sqrt(z)),z/9)", "Min(z**0.9/0.7,1)", "Min(z,0)"),
    *("Min(1,2*z)/2+Min(1,3*z)/2", "Min(sqrt(z),0.3)+z/100", "sign(z)*z", "sign(z)/2+sqrt(z)/2"),
    *("Piecewise((sqrt(z),z<=1/4),(z/2+3/8,True))", "Piecewise((sqrt(z)/2,z**2<1/2),(2**(-1/4)/2,True))"),
    *("Piecewise((z,z<1/3),(1/3,1/3<=z<=2/3),(1/3,True))", "Piecewise((z,z>=0))"),
    *("2-2*2**(-z)", "(1-2**(-z))*2", "(1-4**(-z))*4/3", "(1-10**(-z))/0.9", "atan(sqrt(3)*z)*3/pi"),
    *("sin(pi*z/3)*2/sqrt(3)", "asinh(z)/log(1+sqrt(2))", "tanh(z)*(E**2+1)/(E**2-1)", "log1p(expm1(z))"),
    *("sqrt(3+2*sqrt(2))*z-sqrt(2)*z", "Min(asinh(Piecewise((z,z<1/sqrt(2)),(z,True))),0.1)/2"),
    *("Piecewise((0,z<=0),(z*(1-log(z)),True))", "1-1/(1+z)**1000000", "Piecewise((0,z<=0),(-z*log(z)/2+z/2,True))"),
    # each of these needs one part of the proof that no other formula here needs
    *("z**0.33/(1+z**0.33)", "1-(1-z**2)/(1+z)", "z/2+(1-exp(2*z))/(1+exp(z))/8+exp(z)/8-1/8"),
    *("sqrt(4*z+4)-2*sqrt(z+1)+z/2", "sign(z)/8+sqrt(Min(sin(z),0.3))/4", "z/3-(sin(z-1/2)**4-sin(1/2)**4)/12"),
    *("Piecewise((0,z<=0),(1-(1-exp(-z))/z,True))", "Min(log1p(z),log1p(z)*(1+z*(1-z)/1000))"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    """Each condition of a true profile is proven, with a stated method, in a bounded time."""
    proof = prove(read(text), 10)
    assert [c.condition for c in proof] == ["g(0) = 0", "concave", "increasing", "g <= 1"]
    assert all(c.method and c.detail for c in proof)


@pytest.mark.parametrize("text", ACCEPTED)
@given(st.lists(st.fractions(0, 1, max_denominator=10**9), min_size=3, max_size=3, unique=True), st.integers(0, 60))
@settings(max_examples=12, deadline=None)
def test_accepted_profiles_satisfy_the_conditions_at_random_points(text: str, points: list[Fraction], j: int) -> None:
    """No three points, however close to 0, contradict a proof."""
    node = parse(text)
    x, y, w = sorted(p / 2**j for p in points)
    with precision(300):
        a, b, c = (point_ball(node, p) for p in (x, y, w))
        assert not a > b
        assert not b > c
        assert not (b - a) * as_ball(w - y) < (c - b) * as_ball(y - x)
        assert not c > 1


class Rejected(NamedTuple):
    """A formula, the condition that fails, and a part of the message."""

    text: str
    condition: str
    hint: str = ""


REJECTED = [
    Rejected("z**2", "concave", "0, 1/16, 1/4"),
    Rejected("2*sqrt(z)", "g <= 1", ".capped()"),
    Rejected("sqrt(z)+0.1", "g(0) = 0", "1/10"),
    Rejected("1/18", "g(0) = 0", "1/18"),
    Rejected("-z", "increasing", "-1/4"),
    Rejected("1/z", "real on [0, 1]", "z = 0"),
    Rejected("exp(z)-1", "concave"),
    Rejected("sin(4*z)", "increasing"),
    Rejected("z*(1-z)", "increasing", "3/16"),
    Rejected("0.9*z+1e-6*sin(50*z)", "concave"),
    Rejected("0.9*z+1e-30*sin(50*z)", "concave"),
    Rejected("0.9*z-1e-30*sin(z)", "concave"),
    Rejected("z/2+1e-9*z**2", "concave"),
    Rejected("z/2+1e-60*z**1.01", "concave"),
    Rejected("Max(z, sqrt(z)/2)", "concave"),
    Rejected("sqrt(z-1)", "real on [0, 1]", "z = 0"),
    Rejected("sqrt(1/2-z)-sqrt(1/2)", "real on [0, 1]"),
    Rejected("log(z)", "real on [0, 1]", "z = 0"),
    Rejected("z**1.5", "concave"),
    Rejected("z**1.0000001", "concave"),
    Rejected("exp(-1/z)", "real on [0, 1]"),
    Rejected("Piecewise((0,z<=0),(exp(-1/z),True))", "concave"),
    Rejected("Piecewise((z,z<1/2),(z+1e-12,True))", "concave"),
    Rejected("Piecewise((z,z<1/3),(z+1e-40,True))*0.9", "concave"),
    Rejected("Piecewise((z,z<1/3),(z-1e-40,True))", "concave"),
    Rejected("Piecewise((z,z<1/2),(1/2,z<=3/4))", "real on [0, 1]", "no branch"),
    Rejected("Piecewise((z,z<1/2),(1/4,z<=1/2),(z,True))", "concave"),
    Rejected("Piecewise((z,z<1/7),(1,z<=1/7),(z,True))", "concave"),
    Rejected("Piecewise((1,(z-2/7)**2<=0),(z,True))", "concave"),
    Rejected("Piecewise((sqrt(z)/2,log1p(z)<1/3),(z,True))", "concave"),
    Rejected("z*sign((z-1/3)**2)", "concave"),
    Rejected("sqrt(z)/2+1e-9*Max(z,0.301)-0.301*1e-9", "concave"),
    Rejected("sqrt(z)/2+1e-9*Max(z,1/pi)-1e-9/pi", "concave"),
    Rejected("sqrt(z)/2+1e-9*Max(sin(z),0.3)-0.3*1e-9", "concave"),
    Rejected("sqrt(z)/2+1e-12*(exp(-((z-0.3)*1000000)**2)-exp(-90000000000))", "concave"),
    Rejected("sqrt(z)/2+Piecewise((0,z<0.301),(1e-30,True))", "concave"),
    Rejected("sqrt(z)/2+Piecewise((0,sin(z)<0.3),(1e-30,True))", "concave"),
    Rejected("z/2+Max(z,1/3)/100-1/300", "concave"),
    Rejected("z/2+Max(z,1/pi)/100-1/pi/100", "concave"),
    Rejected("sqrt(z)/2+z**2/8", "concave"),
    Rejected("sqrt(z)/2+sin(50*z)/10000", "concave"),
    Rejected("1-sqrt(1-z)", "concave"),
    Rejected("z-z**3/2", "increasing"),
    Rejected("z*exp(-1.01*z)", "increasing"),
    Rejected("2*z-1.0000001*z**2", "increasing"),
    Rejected("z*sign(1-z)", "increasing"),
    Rejected("Min(z,1-z)", "increasing"),
    Rejected("log(1+z)/log(2)+1e-20*z", "g <= 1", ".capped()"),
    Rejected("expm1(z)/(E-1)", "concave"),
    Rejected("Abs(z-1/2)", "g(0) = 0"),
    Rejected("sign(z)-2*z", "increasing"),
    Rejected("-sign(z)/2+z", "concave"),
    Rejected("sign(z-1/3)+1", "concave"),
    Rejected("sqrt(z)/2+atan(z)**(1/3)/log(tanh(1))/1000", "concave"),
]


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case.text)
def test_rejected(case: Rejected) -> None:
    """A failing condition is named, with rational points as the witness."""
    with pytest.raises(NotAnECM) as caught:
        prove(read(case.text), 10)
    assert caught.value.condition == case.condition
    assert case.hint in str(caught.value)


@pytest.mark.parametrize(
    "case", [c for c in REJECTED if c.condition in ("concave", "increasing")], ids=lambda c: c.text
)
def test_witnesses_are_true(case: Rejected) -> None:
    """mpmath, which shares no code with us, finds the same violation at the points of the witness."""
    with pytest.raises(NotAnECM) as caught:
        prove(read(case.text), 10)
    points = caught.value.witness.points
    with mpmath.workdps(400):
        values = [value(case.text, p) for p in points]
        if case.condition == "increasing":
            assert values[0] > values[1]
        else:
            steps = [mpmath.mpf((b - a).numerator) / (b - a).denominator for a, b in pairwise(points)]
            assert (values[1] - values[0]) * steps[1] < (values[2] - values[1]) * steps[0]


def test_undecided_says_what_is_open_and_how_to_go_on() -> None:
    """What cannot be settled is not accepted; the error names the condition and the grid proof."""
    with pytest.raises(Undecided, match=r"'concave' is open.*grid=255"):
        prove(read("z**0.3137*log1p(z**0.6173)**0.3/3"), 1)


@pytest.mark.parametrize(
    "text", ["Piecewise((0,1/(3+sin(7*pi*z/2))<=1/4),(sqrt(z),True))", "sign(1/(3+sin(7*pi*z/2))-1/4)*z"]
)
def test_a_value_that_differs_at_one_point_only_is_not_overlooked(text: str) -> None:
    """g(1/7) = 0 and g > 0 on both sides: the condition touches its limit there, and nowhere in the samples."""
    assert point_ball(parse(text), Fraction(1, 7)) == 0
    with pytest.raises((NotAnECM, Undecided)):
        prove(read(text), 1)


@pytest.mark.parametrize("text", ["1/(3 + sin(pi*z))", "1/Min(z + 1, 3/2)"])
def test_an_end_of_the_range_that_is_attained_is_not_called_open(text: str) -> None:
    """1/x takes its least value where x takes its largest, which it may do inside the interval."""
    node = parse(text)
    shape, middle = known(node, arb(0), arb(1)), point_ball(node, Fraction(1, 2))
    assert not (shape.above and middle.overlaps(shape.lo))
    assert not (shape.below and middle.overlaps(shape.hi))


@pytest.mark.parametrize("text", ["z**0.3137*log1p(z**0.6173)**0.3/3"])
def test_the_grid_proof_settles_what_the_continuous_one_leaves_open(text: str) -> None:
    """Formulas with singularities of another kind are open on [0, 1] and proven at k/q."""
    with pytest.raises(Undecided):
        prove(read(text), 1)
    assert "grid" in str(prove_on_grid(read(text), 255, 30))


def test_a_value_of_more_digits_than_python_writes_is_shown() -> None:
    """A witness may lie where g is such a fraction; the message gives its first digits."""
    assert written(parse("z**500"), Fraction(1, 2**40)).endswith("e-6021")


def test_an_open_grid_proof_does_not_advise_a_grid_proof() -> None:
    """The way on is another one."""
    with pytest.raises(Undecided, match=r"or take a coarser grid$"):
        prove_on_grid(read("z*sin(z)**2 + z*sin(z + pi/2)**2"), 8, 30)


def test_the_grid_proof_rejects_with_a_witness() -> None:
    """On the grid the conditions are decided exactly, ties included."""
    assert prove_on_grid(read("z/2 + sin(2*pi*8*z)"), 8, 30)
    for text, condition in [
        ("z**2", "concave"),
        ("z*(1-z)", "increasing"),
        ("2*z", "g <= 1"),
        ("1/(z-1/4)+4", "real on the grid"),
    ]:
        with pytest.raises(NotAnECM) as caught:
            prove_on_grid(read(text), 8, 30)
        assert caught.value.condition == condition


@given(st.lists(st.fractions(-1, 2, max_denominator=6), min_size=2, max_size=6))
def test_tables_are_accepted_iff_the_conditions_hold(values: list[Fraction]) -> None:
    """A table is a profile exactly when it starts at 0, rises, bends down and stays below 1."""
    steps = [b - a for a, b in pairwise(values)]
    good = values[0] == 0 and all(s >= 0 for s in steps) and all(s >= t for s, t in pairwise(steps)) and values[-1] <= 1
    try:
        assert isinstance(prove_table(tuple(values)), Proof)
        accepted = True
    except NotAnECM:
        accepted = False
    assert accepted == good


@pytest.mark.parametrize(
    ("text", "end", "side", "expected"),
    [
        ("sqrt(log1p(z))", 0, 1, -1),
        ("z - sin(z)", 0, 1, 1),
        ("1-(1-z)**1.5", 1, -1, -1),
        ("z**(1/7) + z**2", 0, 1, -1),
        ("z**1.5", 0, 1, 1),
        ("tanh(2*z)", 0, 1, -1),
        ("3*z", 0, 1, 0),
    ],
)
def test_expansions_give_the_curvature_beside_an_end(text: str, end: int, side: int, expected: int) -> None:
    """Singular ends and ends where g'' vanishes are settled by the expansion, in agreement with g'' itself."""
    node, width = parse(text), Fraction(1, 64)
    assert curvature_beside(node, Fraction(end), side, width) == expected
    for j in range(1, 40, 3):
        second = ball_of(derivative(derivative(node)), as_ball(end + side * width / 2**j))
        assert expected == 0 or second * expected > 0


@pytest.mark.parametrize("text", [t for t in ACCEPTED if "Piecewise" not in t])
@given(st.fractions(0, 1, max_denominator=64), st.fractions(0, 1, max_denominator=64))
@settings(max_examples=5, deadline=None)
def test_ranges_hold_the_values(text: str, a: Fraction, b: Fraction) -> None:
    """The range known for an interval holds the value at its middle."""
    node, (lo, hi) = parse(text), sorted((a, b))
    if lo == hi:
        return
    try:
        shape = known(node, as_ball(lo), as_ball(hi))
    except Undefined:
        return
    middle = point_ball(node, (lo + hi) / 2)
    assert not middle < shape.lo
    assert not middle > shape.hi
    assert isinstance(shape.lo, arb)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("sin(1e300*z)", "concave"),
        ("z**(1+1e-300)", "concave"),
        ("Min(z, 3 + 1/(z - 1/3)**2)", "real on [0, 1]"),
        ("(z-1/3)/(z-1/3)*z", "real on [0, 1]"),
    ],
)
def test_extreme_numbers_are_refused_at_once(text: str, condition: str) -> None:
    """Frequencies and exponents of 300 digits are decided with enough bits, poles at their exact place."""
    with pytest.raises(NotAnECM) as caught:
        prove(read(text), 10)
    assert caught.value.condition == condition


REMOVABLE = [
    ("z/z-1", 0),
    ("z**2/z", 0),
    ("exp(log(z))", 0),
    ("z*(1-log(z))", 0),
    ("z/log1p(z)-1", 0),
    ("((1/3)/z)**(1/3)*z/20", 0),
    ("(pi/z)**(1/3)*z/20", 0),
    ("(z-1/3)/(z-1/3)*z", Fraction(1, 3)),
    ("(z**2-1/9)/(z-1/3)/2-1/6", Fraction(1, 3)),
    ("z*(z-1/7)**2/(z-1/7)**2", Fraction(1, 7)),
    ("0*log(z)+z", 0),
    ("log(z)-log(z)+z", 0),
    ("sqrt(z-1)*sqrt(z-1)+1", 0),
    ("exp(1/z)*exp(-1/z)*z", 0),
    ("Min(z/z*z, 1)", 0),
    ("Piecewise((z/z*z, z<=1/2), (z, True))", 0),
    ("Piecewise((z, z/z<=1), (z, True))", 0),
    ("Piecewise((z/2, z/z<1/3), (z, True))", 0),
]


@pytest.mark.parametrize(("text", "place"), REMOVABLE)
def test_a_formula_must_be_real_as_it_is_written(text: str, place: Fraction) -> None:
    """Nothing is cancelled or extended, at 0 or inside, whatever sympy makes of the formula."""
    with pytest.raises(NotAnECM) as caught:
        prove(read(text), 10)
    assert caught.value.condition == "real on [0, 1]"
    assert caught.value.witness.points == (place,)


@pytest.mark.parametrize(
    "text",
    [
        "Piecewise((0, z<=0), (z/z*z, True))",
        "Piecewise((0, z<=0), (exp(log(z)), True))",
        "Piecewise((z/2, z<1/3), (z/z*z/2, True))",
        "z*(z+1)**2/(z+1)**2",
        "exp(log(1+z))-1",
        "sqrt(z+1)*sqrt(z+1)-1",
        "z+log(1+z)-log(1+z)",
    ],
)
def test_what_cancels_where_it_is_real_is_accepted(text: str) -> None:
    """A requirement that was cancelled is proven where the formula looks at it, and nowhere else."""
    assert prove(read(text), 20)


def test_a_removable_point_between_levels_does_not_matter_on_a_grid() -> None:
    """The grid proof asks for real values at k/q only."""
    assert prove_on_grid(read("(z-1/3)/(z-1/3)*z"), 4, 30)
    with pytest.raises(NotAnECM, match="real"):
        prove_on_grid(read("(z-1/3)/(z-1/3)*z"), 3, 30)


def test_a_metric_can_be_made_from_its_formula_alone() -> None:
    """ECM("...") means one component."""
    assert ECM("z**0.5/18") == ECM.from_expr("z**0.5/18") == ECM(sympy.sqrt(sympy.Symbol("x")) / 18)
