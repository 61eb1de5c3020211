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
    both = Design.from_weights(grouped, [{4: 1}, {1: 2}], q=4, budget=8)
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
        ({"design": both, "shape": (2, 2), "coupling": "global"}, "one component"),
    ]:
        with pytest.raises(SchemeError, match=message):
            Scheme(**arguments)  # type: ignore[arg-type]
    for alpha in (Fraction(-1, 2), 0):
        with pytest.raises(SchemeError, match="positive alpha"):
            Scheme.l1(alpha, shape=(2,), q=4)
    with pytest.raises(ECMError, match="the first axis must have length 2"):
        Scheme(two, (3, 2))
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


def test_the_largest_lists_and_inputs_are_kept() -> None:
    """2**22 samples and 2**22 features are, one more is not."""
    for more in (0, 1):
        long = Design.from_weights(ECM.l1(2**20), {4: 1}, q=4, budget=2**22 + more)
        for design, shape, limit in ((long, (2,), "smaller budget"), (SMALL, (2**22 + more,), "at most 4194304 fit")):
            if more:
                with pytest.raises(SchemeError, match=limit):
                    Scheme(design, shape)
            else:
                assert Scheme(design, shape).total == design.budget


SMALL = Design.from_weights(ECM.lp("1/2", 2), {1: 1, 2: 2, 3: 1}, q=5, budget=24)
"""Eight outcomes with dividers: one with 5, four with 3 or 2, three with 2 or 1."""


def test_a_graded_list_begins_with_most_dividers() -> None:
    """Finite outcomes stand in the slots of the lattice, by falling numbers of dividers and then by number; all others
    follow in order. Interleaved, they stand there in the order of the seeded shuffle."""
    graded, mixed = Scheme(SMALL, (2, 3)), Scheme(SMALL, (2, 3), order="interleaved", seed=9)
    slots, finite = graded.lattice().slots(24), SMALL.outcomes[0].finite
    sizes = [len(row) for row in SMALL.outcomes[0].rows()] + [0] * (len(slots) - finite)
    assert graded.lists[0, slots].tolist() == sorted(range(len(slots)), key=lambda i: (-sizes[i], i))
    assert mixed.lists[0, slots].tolist() == np.random.RandomState([9, 1, 0]).permutation(len(slots)).tolist()
    rest = np.setdiff1d(np.arange(24), slots)
    for scheme in (graded, mixed):
        assert scheme.lists[0, rest].tolist() == list(range(len(slots), 24))


@pytest.mark.parametrize("weights", [{1: 0, 2: 2, 3: 1}, {1: 1, 2: 2, 3: 1, 4: 4}])
def test_the_samples_of_a_global_width_are_its_offsets(weights: dict[int, int]) -> None:
    """Each width with a weight has one sample per phase, and what is left of B is the weight of one sample more."""
    scheme = Scheme(Design.from_weights(ECM.l0(1), weights, 5, 24), (2,), coupling="global", order="published")
    used = {j: w for j, w in weights.items() if w}
    first = {j: sum(i * w for i, w in used.items() if i < j) for j in (*used, 6)}
    samples = [[j, phase, first[j], w] for j, w in used.items() for phase in range(j)]
    samples += [[1, 0, first[6], 24 - first[6]]] if first[6] < 24 else []
    assert np.stack(scheme.combs, axis=1).tolist() == samples
    assert scheme.samples == len(samples)
    mixed = attrs.evolve(scheme, order="interleaved", seed=3)
    order = np.random.RandomState([3, 1, 0]).permutation(len(samples))
    assert np.stack(mixed.combs, axis=1).tolist() == [samples[i] for i in order]


def test_nothing_of_a_scheme_can_be_written() -> None:
    """The arrays of a frozen object are read-only."""
    cyclic, common = Scheme(SMALL, (2, 3)), Scheme(SMALL, (2, 3), coupling="global")
    for array in (cyclic.offsets, cyclic.lists, cyclic.component, cyclic.site, cyclic.shown, *common.combs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_levels_are_bytes_by_default() -> None:
    """Without q the grid is that of images, 0..255."""
    assert Scheme.l1(2, shape=(3,)).q == 255
