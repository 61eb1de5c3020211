"""Values at the edge of what is allowed: alpha below 1, fixed widths that are no whole number of levels, very large
budgets, copies, other precisions."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ecm import ECM, Design
from ecm.errors import ECMError
from smoothing import Certifier, RandomizedSmoothing, Scheme, SmoothedClassifier, scheme_facts
from smoothing.document import checker
from smoothing.errors import VoteError
from smoothing.scheme import Noise
from smoothing.verification.strategies import HashVote


@pytest.mark.parametrize(("p", "alpha"), [("1/2", "1/2"), ("1/2", "9/10"), (1, "1/3"), ("1/3", "2/3")])
@pytest.mark.parametrize("closed", [True, False])
def test_lp_radii_hold_for_alpha_below_one(p: Any, alpha: Any, closed: bool) -> None:
    """g = Min(z**p/alpha, 1): every point of the l_p ball lies in the metric ball, on a whole grid."""
    from smoothing import Certificate

    metric, q = ECM.lp(p, alpha), 6
    exponent, x = float(Fraction(p)), np.array([0, 3])
    for radius in (Fraction(1, 12), Fraction(1, 3), Fraction(1, 2), Fraction(5, 4)):
        ball = Certificate(0, "integer", radius, closed, metric, q, (2,))
        rho = ball.lp_radius()
        assert rho is not None
        assert ball.covers_lp(Fraction(rho))
        assert not ball.covers_lp(Fraction(rho) * 2)
        for y in itertools.product(range(q + 1), repeat=2):
            distance = float(((np.abs(x - y) / q) ** exponent).sum() ** (1 / exponent))
            if distance < rho * (1 - 1e-12):
                assert ball.contains(x, np.array(y))
    if p == 1:
        assert ball.l1_to_lp("1/2") is not None


def test_metrics_that_are_capped_elsewhere_have_no_lp_radius() -> None:
    """Only a cap at 1 leaves the l_p ball inside."""
    assert ECM.from_expr("Min(2*z, 1)").power() == (1, Fraction(1, 2))
    for text in ("Min(2*z, 1/2)", "Min(3*z, 1)/18", "Min(2*z, z**(1/2))"):
        assert ECM.from_expr(text).power() is None


@pytest.mark.parametrize("alpha", ["1/2", "1/3", "9/10", "1", "3/2", "5/4", "7/3"])
def test_fixed_widths_of_any_alpha(alpha: str) -> None:
    """B = alpha*q rounded up, so that no pair is split by more than its distance over alpha, and hardly by less."""
    q = 10
    scheme = Scheme.l1(alpha, shape=(2,), q=q)
    exact = Fraction(alpha) * q
    assert scheme.total - 1 < exact <= scheme.total
    assert scheme.metric == ECM.l1(alpha)
    most = scheme.design.outcomes[0].most
    for k in range(q + 1):
        g = min(Fraction(k, q) / Fraction(alpha), Fraction(1))
        assert Fraction(int(most[k]), scheme.total) <= g <= Fraction(int(most[k]) + 1, scheme.total)


def test_fixed_widths_below_a_whole_level_range_are_sound() -> None:
    """Every certified ball of alpha = 1/2, all points enumerated, by a vote that depends on every bin."""
    scheme = Scheme.l1("1/2", shape=(2,), q=5, coupling="independent", seed=3)
    noise, vote = Noise(scheme), HashVote(1, 2)
    points = np.array(list(itertools.product(range(6), repeat=2)))
    lower, upper = (part.numpy() for part in noise.bounds(torch.from_numpy(points), range(scheme.samples)))
    votes = np.stack([vote(lo, up) for lo, up in zip(lower, upper, strict=True)]).astype(np.uint8)
    certifier = Certifier(scheme, 2)
    balls = [certifier(ballot, x) for ballot, x in zip(votes, points, strict=True)]
    found = 0
    for x, ball in zip(points, balls, strict=True):
        for y, other in zip(points, balls, strict=True):
            if ball.contains(x, y):
                found += 1
                assert other.prediction == ball.prediction
    assert found


def test_costs_of_a_capped_power_are_recomputed_by_the_checker() -> None:
    """They are not on trust."""
    for metric in (ECM.lp("1/2", "1/2"), ECM.l1("1/3")):
        text = metric.components[0].text
        assert checker.floors(text, 1 << 40, 255) == metric.floors(1 << 40, 255)[0].tolist()


@pytest.mark.parametrize("budget", [10**6, 10**8])
def test_a_periodic_design_does_not_grow_with_its_budget(budget: int) -> None:
    """It keeps weights: no row per outcome is made, not for its fingerprint, not for a scheme of global widths."""
    tracemalloc.start()
    try:
        design = ECM.lp("1/2", 1).design(budget, q=64, kind="periodic")
        scheme = Scheme(design, (2,), coupling="global")
        assert tracemalloc.get_traced_memory()[1] < 2**29  # the states of the exact program, which has its own limit
        tracemalloc.reset_peak()
        assert len(scheme.fingerprint) == 64
        assert Design.from_json(design.to_json()) == design
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    assert sum(scheme.weights.tolist()) == budget  # type: ignore[union-attr]


def test_rows_that_are_too_many_are_refused_before_they_are_made() -> None:
    """And the error says what to write instead."""
    design = ECM.lp("1/2", 1).design(10**8, q=64, kind="periodic")
    with pytest.raises(ECMError, match=r"coupling='global'"):
        list(design.outcomes[0].rows())
    with pytest.raises(ECMError, match="smaller budget"):
        Scheme(design, (2,))


def test_the_noise_of_repeated_rows_is_that_of_the_list() -> None:
    """Tables hold every different row once; what a feature sees is the row of its outcome."""
    design = Design.from_weights(ECM.lp("1/2", 2), {1: 2, 3: 3, 5: 2}, q=5, budget=60)
    for coupling, order in (("independent", "interleaved"), ("permutation", "interleaved"), ("global", "published")):
        scheme = Scheme(design, (2, 2), coupling=coupling, order=order, seed=2)  # type: ignore[arg-type]
        rows = [[], *[row.tolist() for row in design.outcomes[0].rows()]]
        x = np.array([[0, 2], [5, 3]])
        lower, upper = (part.numpy()[0] for part in Noise(scheme).bounds(torch.from_numpy(x[None]), range(10)))
        for t, feature in itertools.product(range(10), range(4)):
            used = int(scheme.outcome(feature, t))
            dividers = rows[used + 1] if used < design.outcomes[0].finite else []
            level = int(x.ravel()[feature])
            below = [2 * e - 1 for e in dividers if e <= level]
            above = [2 * e - 1 for e in dividers if e > level]
            ends = (max(below, default=0), min(above, default=10))
            assert (lower[t].ravel()[feature], upper[t].ravel()[feature]) == ends


def small() -> SmoothedClassifier:
    scheme = Scheme(ECM.lp("1/2", 4).design(24, q=16), (1, 4, 4))
    torch.manual_seed(0)
    return SmoothedClassifier(nn.Sequential(nn.Flatten(), nn.Linear(32, 3)), scheme, 3)


def saved(module: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


@pytest.mark.parametrize("through", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing)), saved])
def test_schemes_and_classifiers_can_be_copied(through: Any) -> None:
    """A worker process gets the same object: equal scheme, equal votes, before and after the first vote."""
    classifier = small()
    x = torch.arange(16).reshape(1, 1, 4, 4)
    fresh = through(classifier)
    votes = classifier.votes(x)
    for other in (fresh, through(classifier)):
        assert other.scheme == classifier.scheme
        assert other.scheme.fingerprint == classifier.scheme.fingerprint
        assert np.array_equal(other.votes(x), votes)
    assert through(classifier.scheme) == classifier.scheme
    assert through(classifier.scheme.design) == classifier.scheme.design
    assert through(classifier.certify(x)) == classifier.certify(x)


@pytest.mark.parametrize("precision", ["half", "bfloat16", "double"])
def test_other_precisions_are_defined(precision: str) -> None:
    """Inputs are rounded to the precision of the base; votes follow from its logits, and nearly all are the same."""
    classifier = small()
    x = torch.arange(48).reshape(3, 1, 4, 4) % 17
    votes = classifier.votes(x)
    other = getattr(copy.deepcopy(classifier), precision)()
    again = other.votes(x)
    assert (again != votes).mean() < 0.1
    assert np.array_equal(again, other.votes(x))
    shown = other.noise.inputs(other.levels(x), range(24)).flatten(0, 1)
    logits = other.base(shown.to(other.dtype)).double()
    assert np.array_equal(logits.argmax(dim=1).numpy().reshape(3, 24), again)


def test_probabilities_are_not_classes() -> None:
    """0.9 is no vote for class 0, nor is -0.5; whole floats and booleans are read."""
    x = np.full(3, 0.4)
    for answer in (0.9, -0.5, float("nan")):
        smooth = RandomizedSmoothing(lambda lower, _, a=answer: np.full(len(lower), a), 2, ECM.l1(2))  # type: ignore[misc]
        with pytest.raises(VoteError, match="argmax"):
            smooth.certify(x, 10, 10, 0.1)
    rows = RandomizedSmoothing(lambda lower, _: np.ones((len(lower), 2)), 2, ECM.l1(2))
    with pytest.raises(VoteError, match="argmax"):
        rows.certify(x, 10, 10, 0.1)
    for kind in (float, bool, np.int8):
        smooth = RandomizedSmoothing(lambda lower, _, k=kind: np.ones(len(lower), dtype=k), 2, ECM.l1(2))  # type: ignore[misc]
        assert smooth.certify(x, 10, 100, 0.1).prediction == 1


@pytest.mark.parametrize("sizes", [(10, 100.0), (10.0, 100), (True, 100), ("10", 100)])
def test_draws_are_whole_numbers(sizes: Any) -> None:
    """Said in words, not by NumPy."""
    smooth = RandomizedSmoothing(lambda lower, _: np.ones(len(lower), dtype=int), 2, ECM.l1(2))
    with pytest.raises(ECMError, match="whole numbers"):
        smooth.certify(np.full(3, 0.4), *sizes, 0.1)


def test_the_facts_of_a_large_periodic_design_are_small() -> None:
    """They name widths, not rows."""
    scheme = Scheme(ECM.lp("1/2", 1).design(10**6, q=16, kind="periodic"), (2,), coupling="global")
    assert len(scheme_facts(scheme)) < 10_000
