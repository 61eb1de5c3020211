"""The proof on [0, 1] stands by itself: it accepts nothing false, though no sample was looked at before it."""

from __future__ import annotations

import pytest

from ecm.errors import NotAnECM, Undecided
from ecm.formula import read
from ecm.proof import interval
from ecm.proof.interval import prove
from tests.ecm.proof.test_proof import REJECTED

TINY = {
    # jumps, at 0, at 1 and inside
    "z/2-1e-60*sign(z)": "concave",
    "z/2-(1-sign(1-z))*1e-40": "increasing",
    "z/2+(1-sign(1-z))*1e-40": "concave",
    "z/2+1e-40*sign(z-1/3)+1e-40": "concave",
    "Piecewise((z/2,z<=1/3),(z/2+1e-60,True))": "concave",
    "Piecewise((z/2,z<=1/3),(z/2-1e-60,True))": "concave",
    "Piecewise((0,z<=0),(z*(1-log(z))/2-1e-60,True))": "",
    "Piecewise((z/2,sin(z)<1/3),(z/2+1e-60,True))": "",
    # kinks: at a fraction, at another exact number, at a root
    "z/2+1e-40*Max(z,1/3)-1e-40/3": "concave",
    "z/2+1e-40*Max(z,1/pi)-1e-40/pi": "concave",
    "z/2+1e-9*Max(sin(z),0.3)-0.3*1e-9": "concave",
    "z/2+1e-40*Max(sin(z),0.3)-0.3*1e-40": "",
    # bends
    "z/2+1e-60*(sin(4*z-2)+sin(2))": "concave",
    "z/2+1e-60*(sin(2)-sin(2-4*z))": "concave",
    # the slope falls below 0 in the last trillionth only
    "Min(z, z/2+1/8, (1-1e-12)/2+1/8-(z-1+1e-12)/1000)": "increasing",
    "Min(z/2, z/4+1/8, z/8+1/4, (1-1e-12)/8+1/4-(z-1+1e-12)/1000)": "increasing",
    "z-z**2/2-1e-40*z**3": "increasing",
    "z/2+(sqrt(1-z)-1)/4096": "increasing",
    "z/2+1e-20*((1-z)**(1/pi)-1)": "",
    # holes
    "Piecewise((z, z<=0.3), (z, z>=0.3005))": "real on [0, 1]",
    "Piecewise((z, z<=0.3), (z, z>=0.300000001))": "",
}
"""Formulas that break a condition so little that no sample shows it, and the condition; empty: left open."""


@pytest.mark.parametrize(("text", "condition"), TINY.items())
def test_what_no_sample_shows_is_not_accepted(text: str, condition: str) -> None:
    """It is rejected with a witness that was looked for at the right place, or left open."""
    with pytest.raises(NotAnECM if condition else Undecided) as caught:
        prove(read(text), 10)
    if condition:
        assert caught.value.condition == condition  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [*(case.text for case in REJECTED), *TINY])
def test_nothing_false_is_accepted_without_samples(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples only find a witness sooner."""
    monkeypatch.setattr(interval, "refute", lambda *_: None)
    with pytest.raises((NotAnECM, Undecided)):
        prove(read(text), 2)


ONE = "(sin(1)**2+sin(1+pi/2)**2)"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        (f"sqrt(z)+{ONE}-1", r"g\(0\) = 0 and real values"),
        (f"z/2+(z-z**2)*({ONE}-1)", "concave"),
        (f"{ONE}*z-z**2/2", "increasing"),
        (f"{ONE}*z", "g <= 1"),
    ],
)
def test_the_condition_that_is_open_is_named(text: str, condition: str) -> None:
    """sin(1)**2 + cos(1)**2 is 1, which nobody here knows."""
    with pytest.raises(Undecided, match=rf"the condition '{condition}' is open") as caught:
        prove(read(text), 0.1)
    assert str(caught.value).startswith("g = ")
    assert "sin(1)" in str(caught.value).split(":")[0]


NESTED = "(sqrt(3+2*sqrt(2))-sqrt(2))"


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("sqrt(z)", "composition rules: g as a whole; composition rules: g as a whole"),
        ("2*z-z**2", "composition rules: g as a whole; concavity and slope: g'(1) = 0"),
        ("z-z**3/3", "composition rules: g as a whole; concavity and slope: g'(1) = 0"),
        ("sqrt(z)*(1-z/10)", "interval bounds: g'' <= 0 on 1 cell; concavity and slope: g'(1) = 7/20"),
        ("sqrt(4*z+4)-2*sqrt(z+1)+z/2", "interval bounds: g'' <= 0 on 1 cell; concavity and slope: g'(1) = 1/2"),
        (
            "Piecewise((3*z,z<1/4),(z/3+2/3,True))",
            "composition rules: (0, 1/4): composition rules; (1/4, 1): composition rules; slopes fall at each kink; "
            "concavity and slope: g'(1) = 1/3",
        ),
        (
            "Piecewise((sqrt(z)*(1-z/10)/2,z<1/4),(39/160+(z-1/4)/100,True))",
            "interval bounds: (0, 1/4): g'' <= 0 on 1 cell; (1/4, 1): composition rules; slopes fall at each kink; "
            "concavity and slope: g'(1) = 1/100",
        ),
        ("1-(1-z)**1.5", "composition rules: g as a whole; composition rules: g as a whole"),
    ],
)
def test_a_proof_says_how_each_condition_was_shown(text: str, methods: str) -> None:
    """Concavity, piece by piece, and then the slope at 1 where the rules do not show that g rises."""
    _, concave, increasing, _ = prove(read(text), 10)
    assert "; ".join(f"{c.method}: {c.detail}" for c in (concave, increasing)) == methods


@pytest.mark.parametrize(
    "text",
    [
        f"Piecewise((z, z<1/2), ({NESTED}/2, True))",
        f"Piecewise((z*{NESTED}, z<1), (1, True))",
        f"Piecewise((z*{NESTED}, z<sqrt(2)/2), (sqrt(2)/2, True))",
        f"Min(z*{NESTED}, 1/2)+z/2",
        "Piecewise((sqrt(z)/2, z<=1/4), (z/2+1/8, True))",
        "Piecewise((sin(z), sin(z)<1/3), (sin(z), True))",
    ],
)
def test_values_and_slopes_that_are_equal_are_no_jump_and_no_kink(text: str) -> None:
    """Written in two ways, since sqrt(3 + 2 sqrt(2)) is 1 + sqrt(2), or on the two sides of a point."""
    assert prove(read(text), 10)
