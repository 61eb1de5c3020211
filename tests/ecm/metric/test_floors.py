"""floor(scale * g(k/q)): exact for powers, on the safe side where a tie cannot be decided."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb

from ecm.errors import ExpressionError
from ecm.formula import read
from ecm.metric import floors
from ecm.metric.floors import floors_of, power_of
from tests.ecm.independent import value

POWERS = ["z", "z/3", "5*z/7", "z**2", "z**(1/2)/18", "z**(2/3)/2", "3*z**(3/4)/5", "z**(5/12)", "z**(12/13)/3", "0"]


@pytest.mark.parametrize("text", POWERS)
@pytest.mark.parametrize(("scale", "q"), [(1, 4), (16, 16), (729, 9), (1000, 255), (1 << 40, 7)])
def test_powers_are_compared_as_integers(text: str, scale: int, q: int) -> None:
    """n <= scale * c * (k/q)**(a/b) exactly if (n/(scale c))**b <= (k/q)**a; n is the largest such number."""
    found = floors_of(read(text).expr, scale, q)
    c, p = power_of(read(text).expr) or (Fraction(0), Fraction(1))

    def below(n: int, k: int) -> bool:
        return c != 0 and Fraction(n) ** p.denominator <= (scale * c) ** p.denominator * Fraction(k, q) ** p.numerator

    assert len(found) == q + 1
    for k, n in enumerate(found.tolist()):
        assert n == 0 or below(n, k)
        assert not below(n + 1, k)


@pytest.mark.parametrize(
    "text", ["log1p(z)/log(2)", "1-exp(-3*z)", "asinh(z)/log(1+sqrt(2))", "sin(pi*z/2)", "Min(2*z,1)"]
)
@pytest.mark.parametrize(("scale", "q"), [(7, 4), (1000, 12), (1 << 40, 6)])
def test_other_formulas_are_rounded_down(text: str, scale: int, q: int) -> None:
    """By mpmath, with ties where g(k/q) is rational."""
    found = floors_of(read(text).expr, scale, q)
    with mpmath.workdps(60):
        tiny = mpmath.mpf(10) ** -40
        assert found.tolist() == [int(mpmath.floor(scale * value(text, Fraction(k, q)) + tiny)) for k in range(q + 1)]


def test_a_tie_that_cannot_be_decided_is_rounded_down() -> None:
    """z sin(z)**2 + z cos(z)**2 is z, which nobody here knows: the next lower number is sound."""
    found = floors_of(read("z*sin(z)**2 + z*sin(z + pi/2)**2").expr, 24, 8)
    assert all(n in (3 * k - 1, 3 * k) for k, n in enumerate(found.tolist()) if k)
    assert found[0] == 0
    assert (found[1:] == [3 * k - 1 for k in range(1, 9)]).any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("z**(2/3)/2", ("1/2", "2/3")),
        ("0", ("0", "1")),
        ("-3*z", ("-3", "1")),
        ("sqrt(2)*z", None),
        ("z**pi", None),
        ("2*z**(1/pi)", None),
        ("z+1", None),
        ("exp(z)", None),
        ("5", None),
    ],
)
def test_powers_are_told_from_all_else(text: str, expected: tuple[str, str] | None) -> None:
    """c z**p with rational c and p."""
    found = power_of(read(text).expr)
    assert found == (None if expected is None else tuple(map(Fraction, expected)))


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("z/2 + 1e-100*sqrt(z)", 2, 1),
        ("z/2 - 1e-100*z**2", 2, 0),
        ("sqrt(3+2*sqrt(2))*z - sqrt(2)*z", 8, 8),
        ("(sqrt(3+2*sqrt(2)) - sqrt(2) - 1e-100)*z", 8, 7),
        ("tanh(1)*z/tanh(1)", 5, 5),
    ],
)
def test_numbers_beside_an_integer_are_told_from_it(text: str, scale: int, expected: int) -> None:
    """By their exact value where it is rational, by a proof that they are equal, or by more bits."""
    assert floors_of(read(text).expr, scale, 4)[-1] == expected


def test_without_an_exact_value_more_bits_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long to be written out is not rounded to 0."""
    monkeypatch.setattr(floors, "exact", _too_long)
    assert floors_of(read("z/2 + 1e-100*sqrt(z)").expr, 8, 4).tolist() == [0, 1, 2, 3, 4]


def test_where_nothing_is_known_no_outcome_may_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 is the only number that is surely not too large."""
    monkeypatch.setattr(floors, "exact", _too_long)
    for unknown in (_too_long, lambda *_: arb.nan(), lambda *_: arb(0).union(arb.pos_inf())):
        monkeypatch.setattr(floors, "point_ball", unknown)
        assert floors_of(read("log1p(z)").expr, 8, 2).tolist() == [0, 0, 0]
    monkeypatch.setattr(floors, "point_ball", lambda *_: arb(0.5, 0.25))
    assert floors_of(read("log1p(z)").expr, 10, 2).tolist() == [2, 2, 2]
    monkeypatch.setattr(floors, "point_ball", lambda *_: arb(0, 2))
    assert floors_of(read("log1p(z)").expr, 10, 2).tolist() == [0, 0, 0]


def _too_long(*_: object) -> None:
    raise ExpressionError("too long to be written out")
