"""Stopping early gives the answer of the full vote, and stops as soon as any rule could."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.design import Design
from smoothing.certificates import certify, pack_logits, pack_orders
from smoothing.errors import VoteError
from smoothing.scheme import Scheme
from smoothing.verification.strategies import small_schemes
from smoothing.votes.early_stop import asking_order, decide, needed, vote_chunks

METHODS = ("paper", "integer")


@st.composite
def elections(draw: st.DrawFn, most: int = 24) -> tuple[Scheme, np.ndarray, int]:
    """A scheme (weighted ones too), votes with some unsure, and the number of classes."""
    scheme = draw(small_schemes(max_budget=most))
    classes = draw(st.integers(2, 4))
    options = st.sampled_from([0, 0, 0, *range(classes), 255])
    votes = draw(st.lists(options, min_size=scheme.samples, max_size=scheme.samples))
    return scheme, np.array(votes, dtype=np.uint8), classes


@settings(max_examples=300, deadline=None)
@given(
    election=elections(),
    radius=st.fractions(0, 1, max_denominator=60),
    method=st.sampled_from(METHODS),
    label=st.none() | st.integers(0, 1),
    chunk=st.integers(1, 9),
)
def test_the_answer_is_that_of_the_full_vote(
    election: tuple[Scheme, np.ndarray, int], radius: Fraction, method: str, label: int | None, chunk: int
) -> None:
    """Any radius, chunk, label and weights; nothing is asked for after the answer is fixed."""
    scheme, votes, classes = election
    full = certify(votes, None, scheme, classes, certificate=method)  # type: ignore[arg-type]
    expected = full.covers(radius) and label in (None, full.prediction)
    asked = 0

    def chunks():  # type: ignore[no-untyped-def]
        nonlocal asked
        for start in range(0, len(votes), chunk):
            asked = start + len(votes[start : start + chunk])
            yield votes[start : start + chunk]

    found = decide(chunks(), scheme, classes, lambda ball: ball.covers(radius), certificate=method, label=label)  # type: ignore[arg-type]
    assert found.certified is expected
    assert found.prediction == (full.prediction if expected else None)
    assert found.evaluated == asked
    assert found.decisive <= found.evaluated < found.decisive + chunk


@settings(max_examples=60, deadline=None)
@given(election=elections(most=10), radius=st.fractions(0, 1, max_denominator=12), method=st.sampled_from(METHODS))
def test_before_the_decisive_sample_both_answers_are_possible(
    election: tuple[Scheme, np.ndarray, int], radius: Fraction, method: str
) -> None:
    """So no rule that is always right could have stopped earlier."""
    scheme, votes, classes = election

    def answer(ballots: np.ndarray) -> bool:
        return certify(ballots, None, scheme, classes, certificate=method).covers(radius)  # type: ignore[arg-type]

    found = decide([votes], scheme, classes, lambda ball: ball.covers(radius), certificate=method)  # type: ignore[arg-type]
    if found.decisive:
        seen = votes[: found.decisive - 1]
        missing = scheme.samples - len(seen)
        endings = [np.full(missing, k, np.uint8) for k in [*range(classes), 255]]
        assert {answer(np.concatenate([seen, ending])) for ending in endings} == {True, False}


def test_questions_in_other_units_are_decided_exactly() -> None:
    """An l_1/2 radius of 1 is d = 1/6: 20 of 120 samples; an open ball must reach beyond them."""
    metric = ECM.lp("1/2", 6)
    scheme = Scheme(metric.design(120, q=16), (3,))
    assert needed(scheme, lambda ball: ball.covers_lp(1), "paper") == 41
    assert needed(scheme, lambda ball: ball.covers_lp(1), "integer") == 41
    assert needed(scheme, lambda ball: ball.covers_lp(Fraction(99, 100)), "integer") == 39
    assert needed(scheme, lambda ball: ball.covers_lp(36), "integer") is None


def test_clear_cases_take_half_the_samples_or_none() -> None:
    """A unanimous vote is decided after the need is out of reach of the rest; an impossible wish at once."""
    scheme = Scheme.l1(25, shape=(2,), q=4)
    votes = np.zeros(100, np.uint8)
    found = decide([votes], scheme, 2, lambda ball: ball.covers(0))
    assert (found.certified, found.decisive, found.samples) == (True, 50, 100)
    impossible = decide(iter([]), scheme, 2, lambda ball: ball.covers(1))
    assert (impossible.certified, impossible.evaluated) == (False, 0)


def test_votes_that_end_too_soon_or_too_late_are_refused() -> None:
    """Half an election decides nothing by itself."""
    scheme = Scheme.l1(2, shape=(2,), q=4)
    votes = np.array([0, 1, 0, 1], np.uint8)
    with pytest.raises(VoteError, match="only 4 of 8"):
        decide([votes], scheme, 2, lambda ball: ball.covers(0))
    with pytest.raises(VoteError, match="too many"):
        decide([np.tile(votes, 3)], scheme, 2, lambda ball: ball.covers(0))


def test_a_classifier_votes_no_longer_than_needed() -> None:
    """Chunk by chunk from the network itself, with the answer of its full certificate."""
    import torch

    from smoothing import SmoothedClassifier

    torch.manual_seed(0)
    scheme = Scheme.l1(10, shape=(4,), q=20)
    voter = SmoothedClassifier(torch.nn.Linear(8, 2), scheme, classes=2, rule="plurality")
    for image in torch.randint(0, 21, (6, 4), generator=torch.Generator().manual_seed(1)):
        full = voter.certify(image[None], certificate="integer")[0]
        for radius in (Fraction(1, 100), Fraction(1, 5)):
            found = decide(vote_chunks(voter, image, 16), scheme, 2, lambda ball, r=radius: ball.covers(r))
            assert found.certified is full.covers(radius)
            assert found.evaluated <= found.samples


@settings(max_examples=100, deadline=None)
@given(small_schemes())
def test_samples_that_show_little_are_asked_first(scheme: Scheme) -> None:
    """Every sample is asked once; with independent offsets the number of features shown never falls, and with spread
    ones every beginning visits all classes of features evenly."""
    order = asking_order(scheme)
    assert sorted(order.tolist()) == list(range(scheme.samples))
    if scheme.coupling == "spread":
        for component in range(len(scheme.design.outcomes)):
            classes = scheme.lattice(component).classes
            for start in range(0, scheme.samples, classes):
                assert sorted(t % classes for t in order[start : start + classes].tolist()) == list(range(classes))
        return
    if scheme.coupling != "independent":
        assert order.tolist() == list(range(scheme.samples))
        return
    features = np.arange(scheme.features)
    finite = np.array([outcomes.finite for outcomes in scheme.design.outcomes])[scheme.component]
    shown = [int((scheme.outcome(features, np.array(t)) < finite).sum()) for t in order]
    assert scheme.weights is None
    assert shown == sorted(shown)


@settings(max_examples=100, deadline=None)
@given(election=elections(), radius=st.fractions(0, 1, max_denominator=60), chunk=st.integers(1, 9))
def test_a_voter_is_asked_in_that_order_and_the_answer_stays(
    election: tuple[Scheme, np.ndarray, int], radius: Fraction, chunk: int
) -> None:
    """Whatever the order, weights go with their votes: the decision is that of the full vote."""
    scheme, votes, classes = election

    class Recorded:
        def __init__(self) -> None:
            self.scheme = scheme

        def votes(self, x: np.ndarray, samples: list[int]) -> np.ndarray:
            return votes[None, samples]

    full = certify(votes, None, scheme, classes, certificate="integer")
    image = np.zeros(scheme.shape)
    found = decide(vote_chunks(Recorded(), image, chunk), scheme, classes, lambda ball: ball.covers(radius))
    assert found.certified is full.covers(radius)


@pytest.mark.parametrize(
    ("classes", "label", "method"), [(2, -1, "integer"), (2, 2, "integer"), (1, None, "paper"), (2, None, "vote_aware")]
)
def test_what_early_stop_cannot_decide_is_refused(classes: int, label: int | None, method: str) -> None:
    """A label among the classes, and a certificate that follows from counts."""
    scheme = Scheme.l1(2, shape=(3,), q=4)
    with pytest.raises(VoteError, match="early stop"):
        decide([], scheme, classes, lambda ball: ball.covers(0), label=label, certificate=method)  # type: ignore[arg-type]


def test_a_chunk_is_not_empty() -> None:
    """It would be asked for again and again."""
    voter: Any = SimpleNamespace(scheme=Scheme.l1(2, shape=(3,), q=4))
    with pytest.raises(VoteError, match="one sample or more"):
        next(vote_chunks(voter, np.zeros(3, int), size=0))


def test_large_weights_are_counted_exactly() -> None:
    """Up to the largest budget there is, a single vote decides."""
    budget = 1 << 50
    design = Design.from_weights(ECM.l1(budget // 4), {4: 1}, q=4, budget=budget)
    scheme = Scheme(design, (2,), coupling="global", order="published")
    votes = np.array([1, 1, 1, 1, 0], np.uint8)
    assert scheme.weights is not None
    assert scheme.weights.tolist() == [1, 1, 1, 1, budget - 4]
    for need, certified in ((budget - 7, True), (budget - 6, False)):
        wanted = lambda ball, need=need: ball.covers(Fraction(need - 1, 2 * budget))  # noqa: E731
        assert decide([votes], scheme, 2, wanted, certificate="paper").certified is certified


@st.composite
def rankings(draw: st.DrawFn, most: int = 24) -> tuple[Scheme, np.ndarray, int]:
    """A scheme, a ranking per sample (some with near gaps), and the number of classes."""
    scheme = draw(small_schemes(max_budget=most))
    classes = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = rng.integers(0, draw(st.sampled_from([4, 40])), size=(scheme.samples, classes)).astype(float)
    logits[:, 0] += draw(st.sampled_from([0.0, 2.0, 10.0]))
    return scheme, pack_logits(logits, draw(st.sampled_from([0.0, 1.0]))), classes


@settings(max_examples=300, deadline=None)
@given(
    election=rankings(),
    radius=st.fractions(0, 1, max_denominator=60),
    label=st.none() | st.integers(0, 1),
    chunk=st.integers(1, 9),
)
def test_a_runoff_is_decided_as_by_its_full_vote(
    election: tuple[Scheme, np.ndarray, int], radius: Fraction, label: int | None, chunk: int
) -> None:
    """Any radius, chunk, label and weights, near-ties included."""
    scheme, codes, classes = election
    full = certify(codes, None, scheme, classes, certificate="runoff")
    expected = full.covers(radius) and label in (None, full.prediction)
    chunks = [codes[i : i + chunk] for i in range(0, len(codes), chunk)]
    found = decide(chunks, scheme, classes, lambda ball: ball.covers(radius), certificate="runoff", label=label)
    assert found.certified is expected
    assert found.prediction == (full.prediction if expected else None)
    assert found.decisive <= found.evaluated < found.decisive + chunk


def test_a_clear_runoff_takes_half_of_the_samples() -> None:
    """As a clear plurality does."""
    scheme = Scheme.l1(25, shape=(2,), q=4)
    codes = pack_orders([[0, 1, 2]] * 100)
    found = decide([codes], scheme, 3, lambda ball: ball.covers(0), certificate="runoff")
    assert (found.certified, found.decisive, found.samples) == (True, 50, 100)
