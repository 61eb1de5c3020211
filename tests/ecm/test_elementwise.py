"""The metric object: declared in many ways, combined, printed, stored, measured."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecm import ECM, ECMError, NotAnECM
from ecm.verification.strategies import profiles

RGB = ECM.grouped([ECM.lp("1/2", 18), ECM.from_expr("0"), ECM.l1(18)])
NAMED = [
    ECM.lp("1/2", 18),
    ECM.lp("1/3"),
    ECM.l1(18),
    ECM.l0(25),
    ECM.log1p(5, 18),
    ECM.lp("1/2", "1/2"),
    ECM.from_values(["0", "1/2", "3/4", "7/8", "7/8"]),
    ECM.from_expr("sin(z)", grid=16),
    RGB,
]


@pytest.mark.parametrize("metric", NAMED, ids=str)
def test_a_metric_survives_its_repr_and_its_json(metric: ECM) -> None:
    """Pasting the repr back, or reading the JSON, gives an equal metric with an equal hash and JSON."""
    pasted = eval(repr(metric), {"ECM": ECM})
    read = ECM.from_json(metric.to_json())
    assert pasted == metric == read
    assert hash(pasted) == hash(metric) == hash(read)
    assert pasted.to_json() == metric.to_json() == read.to_json()


@pytest.mark.parametrize("metric", NAMED, ids=str)
def test_a_metric_has_latex_and_a_printable_proof(metric: ECM) -> None:
    """Every metric shows itself in a notebook and says why it is one."""
    assert metric._repr_latex_().startswith("$")
    assert "concave" in str(metric.proof)


def test_names_and_formulas_give_equal_metrics() -> None:
    """The named constructors are formulas, and equal formulas are equal metrics."""
    assert ECM.lp(0.5, 18) == ECM.from_expr("sqrt(z)/18") == ECM.from_expr("z**0.5") / 18
    assert ECM.l1(18) == ECM.from_expr("z/18") == ECM.from_expr("z") * Fraction(1, 18)
    assert ECM.lp("1/2", "1/2") == ECM.from_expr("Min(2*sqrt(z), 1)")
    assert ECM.lp("1/2", 18) != ECM.lp("1/2", 17)


def test_algebra_keeps_concavity_and_the_bound() -> None:
    """Sums, scalings and minima of metrics are metrics; what exceeds 1 is refused."""
    half, third = ECM.lp("1/2", 2), ECM.lp("1/3", 2)
    assert (half + third).distance([0.0], [1.0]) == pytest.approx(1.0)
    assert ECM.minimum(half, third).distance([0.0], [0.5]) == pytest.approx(math.sqrt(0.5) / 2)
    assert (half * 2).distance([0.0], [0.25]) == pytest.approx(0.5)
    assert half.capped().distance([0.0], [0.25]) == half.distance([0.0], [0.25])
    with pytest.raises(NotAnECM, match="capped"):
        half * 3
    with pytest.raises(NotAnECM):
        half + third + third
    with pytest.raises(ECMError, match="positive"):
        half / 0
    with pytest.raises(ECMError):
        half * -1


def test_components_belong_to_indices_of_the_first_axis() -> None:
    """A grouped metric reads its component off the channel, and equal components are kept once."""
    assert RGB.component_of((3, 2, 2)).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    shared = ECM.grouped([ECM.l1(2), ECM.l0(2), ECM.l1(2)])
    assert ECM.grouped(["z/2", "sign(z)/2", ECM.l1(2)]).component_of((3,)).tolist() == [0, 1, 0]
    with pytest.raises(ECMError, match="got 3: give metrics, or formulas"):
        ECM.grouped([ECM.l1(2), 3])  # type: ignore[list-item]
    assert len(shared.components) == 2
    assert shared.groups == (0, 1, 0)
    assert shared[1] == ECM.l0(2)
    x, y = np.zeros((3, 1, 1)), np.full((3, 1, 1), 0.25)
    assert RGB.distance(x, y) == pytest.approx(0.5 / 18 + 0 + 0.25 / 18)
    with pytest.raises(ECMError, match="first axis"):
        RGB.component_of((4, 2, 2))
    with pytest.raises(ECMError, match="metric\\[0\\]"):
        RGB.allocate(100)


def test_a_distance_on_levels_equals_the_distance_of_their_values() -> None:
    """With q, integer levels stand for v/q."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (2, 3, 4, 4))
    assert RGB.distance(x, y, q=255) == pytest.approx(RGB.distance(x / 255, y / 255), rel=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "q"),
    [
        ([0.0], [1.5], None),
        ([float("nan")], [0.0], None),
        ([0.0], [0.0, 1.0], None),
        ([0.5], [0.0], 255),
        ([0], [300], 255),
    ],
)
def test_a_distance_of_no_points_is_refused(x: list[float], y: list[float], q: int | None) -> None:
    """Outside the box, NaN, different shapes, floats for levels: an error, not a number."""
    with pytest.raises(ECMError):
        ECM.l1().distance(x, y, q)


def test_a_number_too_long_to_write_is_refused() -> None:
    """Python itself writes no integer of 5000 digits."""
    for make in (lambda n: ECM.lp("1/2", n), ECM.log1p, lambda n: ECM.l1() / n):
        with pytest.raises(ECMError, match="shorter"):
            make(10**5000)


@pytest.mark.parametrize("bad", [0, -1, 2, "x", float("nan"), 1 / 3, True, "1/0", "9" * 300, "1e99999"])
def test_an_exponent_that_is_none_is_refused(bad: object) -> None:
    """lp takes exact exponents in (0, 1]."""
    with pytest.raises(ECMError):
        ECM.lp(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"format": "other"}', "[" * 100_000, '{"format": "ecm-metric/1"}']
)
def test_json_of_something_else_is_refused(text: str) -> None:
    """A wrong file gives the package's own error."""
    with pytest.raises(ECMError):
        ECM.from_json(text)


@pytest.mark.parametrize("groups", [[0, 0.9], [0, "1"], ["0", "1"]])
def test_groups_are_integers(groups: list[int]) -> None:
    """A place of a metric is not rounded and not read from text, neither in a call nor in a file."""
    metric = ECM.grouped([ECM.l1(2), ECM.l1(3)])
    with pytest.raises(ECMError, match="integer"):
        ECM.grouped([ECM.l1(2), ECM.l1(3)], groups)
    with pytest.raises(ECMError):
        ECM.from_json(metric.to_json().replace('"groups": [0, 1]', f'"groups": {json.dumps(groups)}'))


@given(profiles(), st.data())
def test_distance_is_a_metric_on_the_grid(profile: object, data: st.DataObject) -> None:
    """Symmetric, zero on the diagonal, and the triangle inequality, for every concave table."""
    metric = ECM((profile,))  # type: ignore[arg-type]
    q = metric.grid
    assert q is not None
    points = st.lists(st.integers(0, q), min_size=3, max_size=3)
    x, y, z = (np.array(data.draw(points)) for _ in range(3))
    assert metric.distance(x, x, q) == 0
    assert metric.distance(x, y, q) == metric.distance(y, x, q)
    assert metric.distance(x, z, q) <= metric.distance(x, y, q) + metric.distance(y, z, q) + 1e-12
