"""The proof at k/q: accepted exactly where the four conditions hold, rejected at a place where one fails."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import pairwise

import pytest

from ecm.errors import NotAnECM
from ecm.formula import read
from ecm.proof.grid import prove_combination, prove_on_grid, prove_table
from ecm.proof.verdict import Proof

CONDITIONS = ["g(0) = 0", "concave", "increasing", "g <= 1"]
STEPS = [Fraction(k, 4) for k in range(-1, 6)]


def first_failure(values: tuple[Fraction, ...], most: Fraction = Fraction(1)) -> str:
    """The first condition, in their order, that does not hold."""
    steps = [b - a for a, b in pairwise(values)]
    checks = (values[0] == 0, all(a >= b for a, b in pairwise(steps)), steps[-1] >= 0, values[-1] <= most)
    return next((name for name, holds in zip(CONDITIONS, checks, strict=True) if not holds), "")


def names(proof: Proof) -> list[str]:
    """What is proven, if each has a method and a detail that are no names of conditions."""
    assert not {c.method for c in proof} & set(CONDITIONS)
    assert all(c.detail for c in proof)
    return [c.condition for c in proof]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_small_table_is_decided_rightly(size: int) -> None:
    """All tables of quarters; a witness names levels at which the condition fails."""
    accepted = 0
    for values in itertools.product(STEPS, repeat=size):
        expected = first_failure(values)
        if not expected:
            assert names(prove_table(values)) == CONDITIONS
            accepted += 1
        else:
            with pytest.raises(NotAnECM) as caught:
                prove_table(values)
            assert caught.value.condition == expected
            at = [int(k) for k in caught.value.witness.points]
            shown = [values[k] for k in at]
            assert caught.value.witness.name == "k"
            match expected:
                case "g(0) = 0":
                    assert at == [0]
                case "concave":
                    assert at == list(range(at[0], at[0] + 3))
                    assert shown[0] + shown[2] > 2 * shown[1]
                case "increasing":
                    assert at == [size - 2, size - 1]
                    assert shown[0] > shown[1]
                case _:
                    assert at == [size - 1]
                    assert shown[0] > 1
    assert accepted > 3


TABLES = [
    (0, 1, 2, 3, 4), (0, 2, 3, 4, 4), (0, 0, 0, 0, 0), (0, 4, 4, 4, 4), (0, 1, 3, 4, 4), (0, 2, 3, 3, 4),
    (0, 2, 4, 4, 3), (0, 2, 3, 4, 5), (1, 2, 3, 4, 4), (0, 2, 4, 6, 8), (0, 3, 4, 4, 3), (0, 1, 1, 2, 2),
    (-1, 1, 2, 3, 3),
    (0, 4, 5, 6, 6),     (0, 3, 5, 6, 6), (0, 0, 1, 1, 1), (0, 1, 2, 2, 3), (0, 5, 5, 5, 4), (0, 3, 5, 6, 5),
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("factor", "square"), [("1/4", Fraction(1, 16)), ("sqrt(2)/6", Fraction(1, 18))])
def test_formulas_are_decided_at_the_grid_alone(table: tuple[int, ...], factor: str, square: Fraction) -> None:
    """A step function with these values at k/4, rational or not, so that ties are met exactly."""
    cases = ", ".join(f"({v}, z < {2 * k + 1}/8)" for k, v in enumerate(table[:-1]))
    formula = read(f"({factor})*Piecewise({cases}, ({table[-1]}, True))")
    values = tuple(map(Fraction, table))
    expected = first_failure(values, values[-1])
    if not expected and values[-1] > 0 and values[-1] ** 2 * square > 1:
        expected = "g <= 1"
    if not expected:
        assert names(prove_on_grid(formula, 4, 10)) == CONDITIONS
        return
    with pytest.raises(NotAnECM) as caught:
        prove_on_grid(formula, 4, 10)
    assert caught.value.condition == expected
    at = [4 * point for point in caught.value.witness.points]
    shown = [values[int(k)] for k in at]
    if expected == "concave":
        assert at == [at[0], at[0] + 1, at[0] + 2]
        assert shown[0] + shown[2] > 2 * shown[1]
    elif expected == "increasing":
        assert at == [3, 4]
        assert shown[0] > shown[1]
    else:
        assert at == ([0] if expected == "g(0) = 0" else [4])


@pytest.mark.parametrize("place", range(5))
def test_a_formula_is_real_at_every_point_of_the_grid(place: int) -> None:
    """At its ends, too, and also where sympy cancels the pole."""
    for text in (f"z/4 + 0*Abs(1/(z-{place}/4))", f"z*(z-{place}/4)/(z-{place}/4)/4"):
        with pytest.raises(NotAnECM) as caught:
            prove_on_grid(read(text), 4, 10)
        assert caught.value.condition == "real on the grid"
        assert caught.value.witness.points == (Fraction(place, 4),)


def test_a_combination_is_looked_at_again_at_one() -> None:
    """The other conditions are kept by the operation."""
    assert names(prove_combination("a sum", Fraction(1), "z")) == CONDITIONS
    assert names(prove_combination("a sum", read("pi/4").expr, "z")) == CONDITIONS
    for top in (Fraction(5, 4), read("pi/3").expr):
        with pytest.raises(NotAnECM, match="exceeds 1") as caught:
            prove_combination("a sum", top, "z")
        assert caught.value.witness.points == (1,)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("z/2+1e-60*z**2", "concave"),
        ("z/2+1e-60*(exp(z)-1)", "concave"),
        ("z/2-1e-60*(exp(z)-1)", ""),
        ("Min(z,3/4)-1e-60*z**2", "increasing"),
        ("Min(z,3/4)-1e-60*(exp(z)-1)", "increasing"),
        ("Min(z,3/4)+1e-60*sqrt(z)", ""),
        ("Min(sqrt(2)*z/2,3*sqrt(2)/8)", ""),
        ("Min(z,3/4)*4/3+1e-60*z", "g <= 1"),
        ("Min(z,3/4)*(4/3-1e-60)", ""),
    ],
)
def test_differences_of_the_sixtieth_digit_are_decided_exactly(text: str, condition: str) -> None:
    """Balls of 128 bits do not see them."""
    if not condition:
        assert names(prove_on_grid(read(text), 4, 10)) == CONDITIONS
        return
    with pytest.raises(NotAnECM) as caught:
        prove_on_grid(read(text), 4, 10)
    assert caught.value.condition == condition
