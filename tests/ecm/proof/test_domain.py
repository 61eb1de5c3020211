"""A formula is real as it is written: what sympy cancelled is proven everywhere, not only where samples fall."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ecm.errors import ExpressionError, NotAnECM, Undecided
from ecm.formula import read
from ecm.proof import domain, interval
from ecm.proof.domain import refute_real
from ecm.proof.interval import prove

REAL = [
    *("z+0*sqrt((z-1/7)**2)", "z*(sin(z)-2)/(sin(z)-2)", "z+0/(Min(sin(z)-1/3,0)-1)", "z+0*log(Min(sin(z)-1/3,0)+1)"),
    *("z+0/(Min(sin(z)-1/3,0)+1)", "z+0*log(Piecewise((1,z<=1/7),(z-1/7,True)))", "z+0*sqrt(Min(sin(z)-1/3,0)+1)"),
    *("Piecewise((0,z<=0),(z+0*log(z),True))", "z+0*log(Abs(z-1/7)+1)", "z+0/(Abs(z-1/7)+1)", "z+0/(-Abs(z-1/7)-1)"),
    "z-(1/(3/2-z)-2/3)/9",
]
CUT = {
    "z+0/(z-1/7)": "1/7",
    "z+0*Abs(1/(z-1/7))": "1/7",
    "z+0*log((z-1/7)**2)": "1/7",
    "z+0*log(Abs(z-1/7))": "1/7",
    "z+0/Piecewise((1,z<1/7),(z-1/7,True))": "1/7",
    "z+0*log(Piecewise((1,z<1/7),(z-1/7,True)))": "1/7",
    "z+0*sqrt((z-1/7)**2-1e-30)": "",
    "z+0*sqrt(Min(1,(7*z-1)**2-1e-30))": "",
    "z+0*sqrt(Piecewise((1,z<=1/7),(-1,z<1/7+1e-15),(1,True)))": "",
    "z/2+1e-99*(1/(z**2-1/49)+49)": "1/7",
    "z/2+1e-99*(1/(z-1/7)**2-49)": "1/7",
}
"""Formulas, and the point where they are not real; empty: an interval around 1/7."""
OPEN = [
    *("(z**2-1/2)/(z**2-1/2)*z/2", "(sin(z)-1/3)/(sin(z)-1/3)*z", "z+0*log(Abs(sin(z)-1/3))", "z+0/(sqrt(z)-1/pi)"),
    *("z+0/Piecewise((1,sin(z)<1/3),(sin(z)-1/3,True))", "z+0/Piecewise((sin(z)-1/3,sin(z)<1/3),(1,True))"),
    *("z+0/Piecewise((1,z**2<1/2),(z**2-1/2,True))", "z+0/Piecewise((z**2-1/2,z**2<1/2),(1,True))"),
    *("z+0*log(Abs(z**2-1/2))", "z+0*log(Max(1/2-z**2,z**2-1/2))"),
]


@pytest.fixture(params=["all samples", "the ends alone"], autouse=True)
def samples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "the ends alone":
        for name in ("COARSE", "SAMPLES"):
            monkeypatch.setattr(interval, name, (Fraction(0), Fraction(1)))


@pytest.mark.parametrize("text", REAL)
def test_what_is_real_everywhere_is_accepted(text: str) -> None:
    """Also where the required expression switches at a root, or touches what it may be."""
    assert prove(read(text), 10)


@pytest.mark.parametrize(("text", "place"), CUT.items())
def test_a_point_where_the_formula_is_not_real_is_found(text: str, place: str) -> None:
    """Wherever it lies."""
    with pytest.raises(NotAnECM) as caught:
        prove(read(text), 10)
    assert caught.value.condition == "real on [0, 1]"
    (point,) = caught.value.witness.points
    assert point == Fraction(place) if place else abs(point - Fraction(1, 7)) < Fraction(1, 10**14)


@pytest.mark.parametrize("text", OPEN)
def test_what_may_vanish_at_an_irrational_point_is_not_accepted(text: str) -> None:
    """No fraction is a witness, so it is left open."""
    with pytest.raises(Undecided):
        prove(read(text), 10)


def test_points_that_are_not_asked_for_do_not_matter() -> None:
    """The first point that fails is named, with where it was looked for."""
    formula = read("z+0/(z-1/7)")
    refute_real(formula, map(Fraction, ("0", "1/8", "1")))
    with pytest.raises(NotAnECM) as caught:
        refute_real(formula, map(Fraction, ("0", "1/7", "1")), "the grid")
    assert (caught.value.condition, caught.value.witness.points) == ("real on the grid", (Fraction(1, 7),))


def test_a_requirement_without_a_value_is_the_concern_of_another() -> None:
    """log(log(z - 1/2)) needs a positive logarithm, which needs a positive argument."""
    formula = read("z+0*log(log(z-1/2))")
    with pytest.raises(NotAnECM, match=r"z - 1/2"):
        refute_real(formula, [Fraction(1, 4)])


def test_a_requirement_whose_value_is_too_long_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is neither met nor broken."""

    def too_long(*_: object) -> None:
        raise ExpressionError("too long to be written out")

    monkeypatch.setattr(domain, "sign_at", too_long)
    with pytest.raises(Undecided, match="too long"):
        refute_real(read("z+0/(z-1/7)"), [Fraction(0)])
