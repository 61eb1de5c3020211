"""The quantized law of Lambda is exact: integers decide, floats only show."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import attrs
import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecm.errors import ECMError
from ecm.law.grid_number import GridNumber
from ecm.law.quantized import QuantizedLaw
from ecm.metric import Profile
from ecm.verification.strategies import concave_tables

FORMULAS = [
    "z/18",
    "z**0.5/18",
    "z**(1/3)",
    "log(1+5*z)/log(6)",
    "tanh(2*z)",
    "Min(3*z, 1)/18",
    "sign(z)/18",
    "2*z-z**2",
    "0",
]


def split_by_enumeration(law: QuantizedLaw, x: int, y: int) -> Fraction:
    """P(x and y in different bins), one by one over all widths and offsets: a divider lies in the gaps x+1..y."""
    total = Fraction(0)
    for j in range(1, law.q + 1):
        probability = law.probability(j).fraction
        assert probability is not None
        hits = sum(any((gap - offset) % j == 0 for gap in range(x + 1, y + 1)) for offset in range(j))
        total += probability * Fraction(hits, j)
    return total


@given(concave_tables())
def test_a_concave_table_gives_a_distribution(values: tuple[Fraction, ...]) -> None:
    """The probabilities are non-negative and add up to 1, in fractions."""
    law = QuantizedLaw.of(Profile.from_values(values), len(values) - 1)
    probabilities = [law.probability(j).fraction for j in (*range(1, law.q + 1), law.INFINITE)]
    assert all(p is not None and p >= 0 for p in probabilities)
    assert sum(p for p in probabilities if p is not None) == 1
    law.verify()


@given(concave_tables(), st.data())
def test_enumerating_widths_and_offsets_splits_with_probability_g(
    values: tuple[Fraction, ...], data: st.DataObject
) -> None:
    """Dividers laid out one by one separate x and y with probability g(|x - y|/q), wherever the pair lies."""
    law = QuantizedLaw.of(Profile.from_values(values), len(values) - 1)
    x = data.draw(st.integers(0, law.q))
    y = data.draw(st.integers(x, law.q))
    assert split_by_enumeration(law, x, y) == values[y - x]


@pytest.mark.parametrize("q", [1, 2, 4, 16, 255])
def test_split_is_the_coefficient_vector_of_g(q: int) -> None:
    """split(k), summed from its definition, is 1 * g(k/q) as integers, for one k at a time and for all in one pass."""
    law = QuantizedLaw.of(Profile.from_expr("atan(3*z)/2"), q)
    for k, split in enumerate(law.splits()):
        assert split == GridNumber(law.profile, q, 0, ((k, 1),) if k else ())
        if k % 50 < 3:
            assert law.split(k) == split


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("q", [4, 255])
def test_float_probabilities_sum_back_to_g(text: str, q: int) -> None:
    """The float law splits like g up to rounding, and no probability is negative."""
    law = QuantizedLaw.of(Profile.from_expr(text), q)
    law.verify()
    assert (law.probabilities >= 0).all()
    assert law.probabilities[0] == 0
    assert law.probabilities.sum() + law.infinite == pytest.approx(1, abs=1e-14)
    assert law.split_values() == pytest.approx(law.profile.values(q), abs=1e-13)
    assert law.cdf_values()[q // 2] == pytest.approx(float(law.cdf(q // 2)), abs=1e-14)


@pytest.mark.parametrize("text", ["z**0.5/18", "Min(3*z, 1)/18"])
def test_sixteen_bit_levels(text: str) -> None:
    """q = 65535 needs no table of pairs: the whole law is exact and verified."""
    law = QuantizedLaw.of(Profile.from_expr(text), 65535)
    law.verify()
    assert law.split_values() == pytest.approx(law.profile.values(65535), abs=1e-13)


@pytest.mark.parametrize("text", FORMULAS)
def test_floats_lie_in_the_balls(text: str) -> None:
    """Each exact number encloses its own float to the last bits, and a probability of 0 is 0.0."""
    law = QuantizedLaw.of(Profile.from_expr(text), 16)
    with flint.ctx.workprec(200):
        for j in (*range(1, 17), law.INFINITE):
            number = law.probability(j)
            error = abs(number.ball() - float(number))
            assert error < 1e-15 * abs(float(number)) + flint.arb(2) ** -180


def test_known_laws() -> None:
    """l1 has the width 1 alone, l0 the width of one level; a free feature is never split."""
    l1, l0, free = (QuantizedLaw.of(Profile.from_expr(text), 255) for text in ("z/2", "sign(z)/4", "0"))
    assert {j: p for j, p in enumerate(l1.probabilities) if p} == {255: 0.5}
    assert {j: p for j, p in enumerate(l0.probabilities) if p} == {1: 0.25}
    assert free.infinite == 1
    assert not free.probabilities.any()


def test_a_broken_probability_is_noticed() -> None:
    """verify() can fail: a law whose width 2 is one count off, and a table that is not concave, raise."""

    class Broken(QuantizedLaw):
        def _one_offset(self, width: int) -> tuple[tuple[int, int], ...]:
            return ((1, -1), (2, 3), (3, -1)) if width == 2 else super()._one_offset(width)

    with pytest.raises(ECMError, match="not g"):
        Broken(Profile.from_expr("sqrt(z)"), 4).verify()
    good = Profile.from_values([0, "1/2", "3/4"])
    convex = attrs.evolve(good, table=(Fraction(0), Fraction(1, 4), Fraction(3, 4)))
    with pytest.raises(ECMError, match=r"P\(Lambda = 1/2\)"):
        QuantizedLaw(convex, 2).verify()


def test_samples_follow_the_law() -> None:
    """Each width's count lies within six standard deviations, infinity has its sentinel, zero widths never occur."""
    law = QuantizedLaw.of(Profile.from_values([0, "1/2", "7/10", "9/10", "9/10"]), 4)
    n = 200_000
    counts = Counter(law.sample(np.random.default_rng(7), (n // 10, 10)).ravel().tolist())
    expected = {j: law.probabilities[j] for j in (1, 2, 3, 4)} | {law.INFINITE: law.infinite}
    assert expected[2] == 0
    assert set(counts) == {j for j, p in expected.items() if p}
    for j, p in expected.items():
        assert abs(counts[j] - n * p) <= 6 * (n * p * (1 - p)) ** 0.5


class Constant(np.random.Generator):
    """A generator whose uniform draws are all `draw`."""

    def __init__(self, draw: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.draw = draw

    def random(self, size: object = None) -> object:  # type: ignore[override]
        return np.full(1, self.draw)


def test_a_law_without_infinity_never_samples_it() -> None:
    """Where rounding leaves the running sum of probabilities below 1, the largest draw still has a width."""
    law = QuantizedLaw.of(Profile.from_expr("z**(1/3)"), 10)
    top = float(np.nextafter(1.0, 0.0))
    assert law.infinite == 0
    assert law.cdf_values()[-1] < top
    assert law.sample(Constant(top), 1).tolist() == [10]


def test_the_smallest_draw_has_a_width_that_occurs() -> None:
    """A draw of exactly 0 is the first width of positive probability, never 0."""
    law = QuantizedLaw.of(Profile.from_expr("Min(2*z, 1)"), 4)
    assert law.sample(Constant(0.0), 1).tolist() == [2]


@pytest.mark.parametrize("q", [1, 2, 3, 4, 5, 16, 255])
def test_pooled_rows_cover_every_width_once(q: int) -> None:
    """The printed rows partition 1..q and add up to 1."""
    law = QuantizedLaw.of(Profile.from_expr("sqrt(z)/2"), q)
    names = [name for name, _ in law.rows()]
    covered = [j for name in names[:-1] for j in range(int(name.split("-")[0]), int(name.split("-")[-1]) + 1)]
    assert covered == list(range(1, q + 1))
    assert names[-1] == "inf"
    assert sum(p for _, p in law.rows()) == pytest.approx(1)
    assert all(name in str(law) for name in names)


def test_json_holds_exact_text() -> None:
    """A table's JSON reads back as the same fractions; a formula's names the combination of g(k/q)."""
    table = QuantizedLaw.of(Profile.from_values([0, "1/2", "3/4"]), 2)
    data = json.loads(table.to_json())
    assert {int(j): Fraction(p) for j, p in data["exact"].items()} == {1: Fraction(1, 4), 2: Fraction(1, 2)}
    assert Fraction(data["infinite_exact"]) == Fraction(1, 4)
    formula = json.loads(QuantizedLaw.of(Profile.from_expr("sqrt(z)/2"), 2).to_json())
    assert formula["exact"] == {"1": "2*g(1/2) - g(2/2)", "2": "-2*g(1/2) + 2*g(2/2)"}
    assert formula["infinite_exact"] == "1 - g(2/2)"


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda law: QuantizedLaw.of(law.profile, 0), "at least 1"),
        (lambda law: QuantizedLaw.of(law.profile, 2.0), "at least 1"),
        (lambda law: QuantizedLaw.of(law.profile, 3), "divides 4"),
        (lambda law: law.probability(0), r"1\.\.4"),
        (lambda law: law.probability(5), r"1\.\.4"),
        (lambda law: law.split(-1), r"0\.\.4"),
    ],
)
def test_errors_name_what_is_allowed(act: object, says: str) -> None:
    """A q that the grid does not have, and widths outside it, are refused with the range."""
    law = QuantizedLaw.of(Profile.from_values([0, "1/4", "1/2", "3/4", 1]), 4)
    with pytest.raises(ECMError, match=says):
        act(law)  # type: ignore[operator]


def test_a_coarser_grid_of_a_table() -> None:
    """A table on 0..4 also serves q = 2, by every other value."""
    law = QuantizedLaw.of(Profile.from_values([0, "1/3", "1/2", "7/12", "2/3"]), 2)
    assert [law.split(k).fraction for k in range(3)] == [0, Fraction(1, 2), Fraction(2, 3)]
