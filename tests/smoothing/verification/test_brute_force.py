"""Every certificate against every point of small spaces."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.allocation import Outcomes
from ecm.design import Design
from smoothing.certificates import Certificate, certify
from smoothing.scheme import Scheme
from smoothing.verification.brute_force import UNSURE, BruteForce
from smoothing.verification.strategies import small_schemes

METHODS = ("paper", "integer", "vote_aware")
FORMULAS = ("z**(1/2)/2", "z**(1/3)", "z/3", "z", "sign(z)/4", "log(1+5*z)/log(6)/2", "Min(3*z, 1)/3", "1 - exp(-2*z)")
COUPLINGS: dict[str, dict[str, Any]] = {
    "spread": {"coupling": "spread"},
    "spread interleaved": {"coupling": "spread", "order": "interleaved"},
    "spread pixel": {"coupling": "spread", "pixel": True},
    "interleaved": {"coupling": "independent", "order": "interleaved"},
    "published": {"coupling": "independent", "order": "published"},
    "permutation": {"coupling": "permutation"},
    "global": {"coupling": "global"},
    "pixel": {"coupling": "independent", "pixel": True},
    "pixel permutation": {"coupling": "permutation", "pixel": True},
}
METRICS = {text: ECM.from_expr(text) for text in FORMULAS}


def random_design(metric: ECM, q: int, budget: int, kind: str, rng: np.random.Generator) -> Design:
    """A sound design as full as random additions make it."""
    found = []
    for caps in metric.floors(budget, q):
        if kind == "periodic":
            weights: dict[int, int] = {}
            for width in rng.integers(1, q + 1, size=12).tolist():
                more = weights | {width: weights.get(width, 0) + 1}
                fits = sum(j * w for j, w in more.items()) <= budget
                if fits and (Outcomes.from_weights(more, q, budget).most <= caps).all():
                    weights = more
            found.append(weights)
        else:
            # has[b, e]: outcome b has a divider in gap e; separated[x, y] counts outcomes with one in x+1..y
            has = np.zeros((budget, q + 1), dtype=bool)
            separated = np.zeros((q + 1, q + 1), dtype=np.int64)
            allowed = caps[np.abs(np.subtract.outer(np.arange(q + 1), np.arange(q + 1)))]
            for cell in rng.permutation(budget * q)[: 4 * budget].tolist():
                b, e = cell // q, cell % q + 1
                low = max((g for g in range(1, e) if has[b, g]), default=0)
                high = min((g for g in range(e + 1, q + 1) if has[b, g]), default=q + 1)
                more = separated.copy()
                more[low:e, e:high] += 1
                if (np.triu(more) <= allowed).all():
                    has[b, e], separated = True, more
            found.append([np.flatnonzero(row) for row in has])
    build = Design.from_weights if kind == "periodic" else Design.from_rows
    return build(metric, found if len(found) > 1 else found[0], q, budget)


def random_scheme(rng: np.random.Generator, choices: dict[str, Any]) -> Scheme:
    """A scheme on 2-4 features, q <= 6 and B <= 60, over formulas and over groups of them."""
    shapes = [(2,), (3,), (2, 1), (2, 2), (1, 3), (3, 1)]
    shape = shapes[rng.integers(2, 6) if choices.get("pixel") else rng.integers(6)]
    q = int(rng.integers(1, 7)) if np.prod(shape) < 4 else int(rng.integers(1, 5))
    budget = int(rng.integers(2, 61))
    metric = METRICS[FORMULAS[rng.integers(len(FORMULAS))]]
    if not choices.get("pixel") and choices["coupling"] != "global" and rng.random() < 0.3:
        other = METRICS[FORMULAS[rng.integers(len(FORMULAS))]]
        metric = ECM.grouped([metric, other], [0] + [int(a) for a in rng.integers(0, 2, size=shape[0] - 1)])
    kind = "periodic" if choices["coupling"] == "global" or rng.random() < 0.4 else "aperiodic"
    return Scheme(random_design(metric, q, budget, kind, rng), shape, seed=int(rng.integers(1000)), **choices)


def random_function(world: BruteForce, classes: int, rng: np.random.Generator, unsure: float) -> np.ndarray:
    """Any voting function; often one class is frequent, so that there is something to certify."""
    shares = rng.dirichlet(np.full(classes, rng.choice([0.2, 1.0, 5.0])))
    f = rng.choice(classes, size=world.inputs, p=shares)
    f[rng.random(world.inputs) < unsure] = UNSURE
    return f


def assert_sound(scheme: Scheme, classes: int, rng: np.random.Generator, unsure: float) -> None:
    """At a random point, every certificate of a random function holds for it and for the worst ones like it."""
    world = BruteForce(scheme)
    f, x = random_function(world, classes, rng, unsure), int(rng.integers(len(world.points)))
    threats = ("features", "pixels") if scheme.pixel else ("features",)
    votes = world.votes(f, x)
    for threat in threats:
        balls = [
            certify(votes, world.points[x], scheme, classes, certificate=method, threat=threat)  # type: ignore[arg-type]
            for method in METHODS
        ]
        assert [b.strength for b in balls] == sorted(b.strength for b in balls), "vote-aware >= integer >= paper"
        worst = [world.worst(f, x, k) for k in range(classes) if k != balls[0].prediction]
        for voting in [f, *worst]:
            # The ball of a stronger certificate holds those of the weaker ones, so the last check is the sharpest.
            for ball in balls:
                assert world.counterexample(ball, voting, x, classes) is None, ball


@pytest.mark.parametrize("coupling", COUPLINGS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**40), classes=st.integers(2, 4), unsure=st.sampled_from([0.0, 0.0, 0.03, 0.2]))
def test_no_point_of_a_certified_ball_has_another_class(coupling: str, seed: int, classes: int, unsure: float) -> None:
    """Random and worst voting functions, every certificate, coupling and design, with and without unsure votes."""
    rng = np.random.default_rng(seed)
    assert_sound(random_scheme(rng, COUPLINGS[coupling]), classes, rng, unsure)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scheme=small_schemes(shapes=((1,), (2,), (3,), (2, 2)), max_q=4),
    seed=st.integers(0, 2**40),
    classes=st.integers(2, 4),
    unsure=st.sampled_from([0.0, 0.1]),
)
def test_certificates_hold_for_metrics_known_on_a_grid_only(
    scheme: Scheme, seed: int, classes: int, unsure: float
) -> None:
    """The public strategies draw metrics as tables, with steps, kinks, flat pieces and zero components."""
    assert_sound(scheme, classes, np.random.default_rng(seed), unsure)


@pytest.mark.parametrize("method", METHODS)
def test_a_certificate_one_unit_too_large_is_caught(method: str) -> None:
    """Three of four votes suffice to flip a unanimous vote, and x + 3 levels touches three: the ball is tight."""
    scheme = Scheme.l1(1, shape=(1,), q=4)
    world = BruteForce(scheme)
    f, x = world.worst(np.zeros(world.inputs, dtype=np.int64), 0, rival=1), 0
    ball = certify(world.votes(f, x), world.points[x], scheme, 2, certificate=method)  # type: ignore[arg-type]
    assert world.counterexample(ball, f, x, 2) is None
    unit = Fraction(1, scheme.total)
    assert world.counterexample(attrs.evolve(ball, radius=ball.radius + unit), f, x, 2) is not None
    if method != "paper":
        assert ball.radius == Fraction(3, 4)
        assert world.counterexample(attrs.evolve(ball, closed=True), f, x, 2) is not None


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_inflated_vote_aware_certificates_are_caught_for_every_coupling(coupling: str) -> None:
    """In seeded cases where the vote-aware ball is the larger one, a unit more is often one too many."""
    caught = larger = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        scheme = random_scheme(rng, COUPLINGS[coupling])
        world = BruteForce(scheme)
        f, x = random_function(world, 2, rng, 0.0), int(rng.integers(len(world.points)))
        votes = world.votes(f, x)
        small, ball = (certify(votes, world.points[x], scheme, 2, certificate=m) for m in METHODS[1:])  # type: ignore[arg-type]
        if not ball.everywhere and ball.strength > small.strength:
            larger += 1
            caught += _caught(world, ball, world.worst(f, x, 1 - ball.prediction), x)
    assert larger >= 10
    assert caught >= 3


def _caught(world: BruteForce, ball: Certificate, f: np.ndarray, x: int) -> bool:
    assert ball.radius is not None
    inflated = attrs.evolve(ball, radius=ball.radius + Fraction(1, world.scheme.total))
    return world.counterexample(inflated, f, x, 2) is not None
