"""A scheme shows every feature every outcome exactly once, and says exactly which smoothed function it fixes."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from ecm import ECM, ECMError
from ecm.design import Design
from smoothing import Noise, Scheme, SchemeError
from smoothing.verification.strategies import small_schemes


def shown(scheme: Scheme, feature: int) -> Counter[tuple[int, ...]]:
    """How often (by weight) each set of dividers is used for a feature over all samples."""
    outcomes = scheme.design.outcomes[scheme.component[feature]]
    rows = [tuple(row.tolist()) for row in outcomes.rows()]
    weights = np.ones(scheme.samples, dtype=int) if scheme.weights is None else scheme.weights
    seen: Counter[tuple[int, ...]] = Counter()
    for outcome, weight in zip(scheme.outcome(feature, np.arange(scheme.samples)), weights, strict=True):
        seen[rows[outcome] if outcome < outcomes.finite else ()] += int(weight)
    return seen


@given(small_schemes())
@settings(max_examples=150, deadline=None)
def test_every_feature_sees_every_outcome_once(scheme: Scheme) -> None:
    """Over all samples each feature meets the design's list of outcomes, with its multiplicities, and nothing else."""
    for feature in range(scheme.features):
        outcomes = scheme.design.outcomes[scheme.component[feature]]
        listed = Counter(tuple(row.tolist()) for row in outcomes.rows())
        listed[()] += outcomes.infinite
        assert shown(scheme, feature) == +listed
    assert scheme.total == (scheme.samples if scheme.weights is None else scheme.weights.sum())


@given(small_schemes())
@settings(max_examples=60, deadline=None)
def test_json_round_trip(scheme: Scheme) -> None:
    """A scheme read back from its JSON is equal, has the same fingerprint and couples in the same way."""
    again = Scheme.from_json(scheme.to_json())
    assert again == scheme
    assert again.fingerprint == scheme.fingerprint
    everything = np.arange(scheme.features)[:, None], np.arange(scheme.samples)
    assert np.array_equal(again.outcome(*everything), scheme.outcome(*everything))


@given(small_schemes(shapes=((2, 2), (3, 1, 2)), pixel=True))
@settings(max_examples=60, deadline=None)
def test_the_channels_of_a_pixel_share_their_outcome(scheme: Scheme) -> None:
    """With pixel=True the outcome does not depend on the first index."""
    used = scheme.outcome(np.arange(scheme.features)[:, None], np.arange(scheme.samples))
    used = used.reshape(scheme.shape[0], scheme.sites, scheme.samples)
    assert (used == used[:1]).all()


def test_the_streams_are_frozen() -> None:
    """Offsets, orders and permutations are the same on every machine and in every version: records depend on them."""
    scheme = Scheme.l1(2, shape=(2, 2), q=4, coupling="independent")
    assert (
        scheme.offsets.tolist() == np.random.RandomState(0).randint(8, size=4, dtype=np.int64).tolist() == [4, 7, 5, 0]
    )
    assert scheme.lists.tolist() == [[0, 7, 3, 4, 5, 6, 1, 2]]
    assert scheme.permutation(3).tolist() == [7, 6, 4, 1, 5, 3, 2, 0]


def test_published_order_is_the_plain_list() -> None:
    """Feature i at sample t uses outcome (t + offset_i) mod B."""
    scheme = Scheme.l1(2, shape=(5,), q=4, coupling="independent", order="published", seed=3)
    offsets = np.random.RandomState(3).randint(8, size=5, dtype=np.int64)
    assert np.array_equal(scheme.outcome(np.arange(5)[:, None], np.arange(8)), (np.arange(8) + offsets[:, None]) % 8)


def test_every_choice_changes_the_fingerprint() -> None:
    """Two schemes that smooth differently have different fingerprints."""
    scheme = Scheme.l1(2, shape=(2, 2, 2), q=4, coupling="independent")
    changes = [
        {"design": Scheme.l1(3, shape=(1,), q=4).design},
        {"shape": (2, 4)},
        {"coupling": "spread"},
        {"coupling": "spread", "order": "graded"},
        {"coupling": "permutation"},
        {"coupling": "global"},
        {"order": "published"},
        {"seed": 1},
        {"pixel": True},
        {"representation": "center"},
    ]
    prints = {scheme.fingerprint, *(attrs.evolve(scheme, **change).fingerprint for change in changes)}
    assert len(prints) == 1 + len(changes)


def test_an_altered_file_is_refused() -> None:
    """A scheme whose stored fingerprint does not belong to its content is not read."""
    text = Scheme.l1(2, shape=(2,), q=4, coupling="independent").to_json()
    with pytest.raises(SchemeError, match="fingerprint"):
        Scheme.from_json(text.replace('"seed": 0', '"seed": 1'))


def test_errors_name_the_cure() -> None:
    """What does not fit is refused with a sentence about what would."""
    periodic = Scheme.l1(2, shape=(2,), q=4).design
    aperiodic = Design.from_rows(ECM.l1(2), [[1], [3]], q=4, budget=8)
    grouped = ECM.grouped([ECM.l1(2), ECM.l0(4)])
    two = Design.from_rows(grouped, [[[1], [3]], [[2]]], q=4, budget=8)
    for arguments, message in [
        ({"design": periodic, "shape": ()}, "shape of one input"),
        ({"design": periodic, "shape": (2,), "seed": -1}, "0..2\\*\\*32-1"),
        ({"design": periodic, "shape": (2,), "seed": 2**32}, "0..2\\*\\*32-1"),
        ({"design": periodic, "shape": (2, 0)}, "shape of one input"),
        ({"design": periodic, "shape": (2,), "pixel": True}, "first axis"),
        ({"design": periodic, "shape": (2,), "coupling": "random"}, "one of spread"),
        ({"design": periodic, "shape": (2,), "order": "sorted"}, "one of graded"),
        ({"design": periodic, "shape": (2,), "order": "published"}, "does not go with"),
        ({"design": periodic, "shape": (2,), "coupling": "independent", "order": "graded"}, "does not go with"),
        ({"design": periodic, "shape": (2,), "representation": "mean"}, "one of upper_lower"),
        ({"design": aperiodic, "shape": (2,), "coupling": "global"}, "periodic"),
        ({"design": two, "shape": (2, 2), "pixel": True}, "one component"),
    ]:
        with pytest.raises(SchemeError, match=message):
            Scheme(**arguments)  # type: ignore[arg-type]
    with pytest.raises(SchemeError, match="positive alpha"):
        Scheme.l1(Fraction(-1, 2), shape=(2,), q=4)
    assert Scheme.l1(1, shape=(1, 1), q=4, seed=2**32 - 1, pixel=True).sites == 1


GOOD = json.loads(Scheme.l1(2, shape=(3,), q=4).to_json())


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", "[" * 100_000, json.dumps({**GOOD, "more": 1})]
    + [json.dumps({key: value for key, value in GOOD.items() if key != gone}) for gone in ("design", "fingerprint")]
    + [json.dumps({**GOOD, key: None}) for key in GOOD],
    ids=lambda text: text[:20],
)
def test_what_is_no_scheme_is_refused_in_words(text: str) -> None:
    """By an error of the package's own, not by one from inside."""
    with pytest.raises(ECMError):
        Scheme.from_json(text)


@pytest.mark.parametrize(
    "choices",
    [{"seed": 0.5}, {"seed": "1"}, {"seed": -1}, {"pixel": "no"}, {"shape": (2.7,)}, {"shape": "34"}, {"shape": 3}],
)
def test_choices_of_another_type_are_refused(choices: dict[str, Any]) -> None:
    """Nothing is cut off or taken for true."""
    with pytest.raises(SchemeError, match=next(iter(choices))):
        Scheme(**{"design": Scheme.l1(2, shape=(3,), q=4).design, "shape": (3, 1)} | choices)


@pytest.mark.parametrize("alpha", ["x", None, float("nan"), "-1/2", 0, "1e999999"])
def test_an_alpha_that_is_none_is_refused(alpha: Any) -> None:
    """As everywhere in the package; exact texts are read."""
    with pytest.raises(ECMError, match="alpha"):
        Scheme.l1(alpha, shape=(3,), q=4)
    assert Scheme.l1("3/2", shape=(3,), q=4).total == 6


def test_a_list_too_long_to_keep_is_refused() -> None:
    """A global Lambda has few samples whatever B is."""
    design = Design.from_weights(ECM.l1(10**12), {4: 1}, q=4, budget=4 * 10**12)
    with pytest.raises(SchemeError, match="smaller budget"):
        Scheme(design, (2,))
    noise = Noise(Scheme(design, (2,), coupling="global"))
    assert noise.inputs(torch.tensor([[0, 4]]), range(5)).shape == (1, 5, 4)
