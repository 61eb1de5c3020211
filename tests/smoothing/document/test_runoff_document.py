"""A run-off's certificate written down is checked again by a file that shares no code with the package."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecm import ECM, Design
from smoothing import (
    Certifier,
    Packing,
    Scheme,
    certificate_document,
    level_bytes,
    pack_logits,
    scheme_facts,
    vote_bytes,
)
from smoothing.certificates.certifier import diameter
from smoothing.certificates.electorate import Electorate
from smoothing.certificates.runoff import Race
from smoothing.document import checker
from smoothing.verification.strategies import small_schemes

METHODS = ("runoff", "runoff_vote_aware")
Written = tuple[dict[str, object], str, bytes, bytes]


def written(scheme: Scheme, seed: int, method: str, classes: int = 4) -> Written:
    """Document, facts, rankings and levels of a random image with some near-ties."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, scheme.q + 1, size=scheme.shape)
    ahead = rng.permutation([1.0, 0.6, 0.2, 0.0, *[0.0] * (classes - 4)])
    codes = pack_logits(np.round(rng.normal(ahead * rng.choice([1, 2]), 1, size=(scheme.samples, classes)), 2), 0.02)
    ball = Certifier(scheme, classes, method)(codes, levels)  # type: ignore[arg-type]
    shared = scheme_facts(scheme)
    text = certificate_document(ball, codes, levels, scheme, classes=classes, shared=shared)
    return json.loads(text), shared, vote_bytes(codes), level_bytes(levels)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scheme=small_schemes(couplings=("spread", "independent")),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(METHODS),
)
def test_the_checker_accepts_every_run_off_and_no_larger_ball(scheme: Scheme, seed: int, method: str) -> None:
    """Pixel schemes too; a ball that is everywhere, or as wide as the whole space, has nothing larger."""
    found, *files = written(scheme, seed, method)
    checker.check(found, *files)
    if found["radius"] is None or found["everywhere"]:
        return
    larger = Fraction(str(found["radius"])) + Fraction(1, 2 * scheme.total)
    if larger >= diameter(scheme):
        return
    with pytest.raises(checker.Rejected):
        checker.check({**found, "radius": str(larger), "ball": "closed"}, *files)


@settings(max_examples=30, deadline=None)
@given(scheme=small_schemes(couplings=("permutation", "global")), seed=st.integers(0, 2**32))
def test_a_run_off_by_counts_is_checked_for_every_coupling(scheme: Scheme, seed: int) -> None:
    """Weighted samples included."""
    checker.check(*written(scheme, seed, "runoff"))


@pytest.mark.parametrize("classes", [2, 3, 10, 11, 12, 13, 40, 300])
def test_the_checker_reads_rankings_as_the_package_does(classes: int) -> None:
    """Ranks, votes, needs and what every sample brings, written twice and equal."""
    rng = np.random.default_rng(classes)
    codes = pack_logits(np.round(rng.normal(size=(50, classes)), 1), 0.05)
    ranks, votes = checker.unpack(codes.tolist(), classes)
    packing = Packing.of(classes)
    assert ranks == packing.ranks(codes).tolist()
    unsure = np.iinfo(packing.votes(codes).dtype).max
    assert votes == [classes if v == unsure else v for v in packing.votes(codes).tolist()]
    if 3 <= classes <= 10:
        weights = rng.integers(1, 4, size=50)
        people, races = Electorate.of(codes, classes, weights), checker.Races(ranks, votes, weights.tolist())
        assert races.winner == people.poll.winner
        for event in races.events():
            for kind, a, b in event:
                race = Race(kind, a, b)  # type: ignore[arg-type]
                assert races.need((kind, a, b)) == people.poll.need(race)
                assert races.worth((kind, a, b)) == people.worth(race).tolist()


@pytest.fixture(scope="module")
def case() -> Written:
    """A vote-aware run-off at q = 20 whose ball counts alone could not prove."""
    rows = [[int(e)] for e in np.arange(1, 21, 2)] + [[5, 15], [10]]
    scheme = Scheme(Design.from_rows(ECM.lp("1/2", 3), rows, q=20, budget=60), (4, 3), coupling="independent", seed=3)
    for seed in range(50):
        found = written(scheme, seed, "runoff_vote_aware")
        counted = written(scheme, seed, "runoff")[0]["radius"]
        if counted is not None and Fraction(str(found[0]["radius"])) > Fraction(str(counted)):
            return found
    raise AssertionError("no such image")


def test_each_tampering_is_found(case: Written) -> None:
    """Rankings, class, rule, method or multipliers: change any and the checker says no."""
    found, shared, votes, levels = case
    checker.check(*case)
    races = [[*race[:3], 0] for race in found["races"]]  # type: ignore[attr-defined]
    for change in (
        {"races": []},
        {"races": races},
        {"method": "runoff"},
        {"rule": "plurality"},
        {"rule": "borda"},
        {"prediction": (int(str(found["prediction"])) + 1) % 4},
        {"unsure": 7},
        {"vote_bytes": 1},
        {"classes": 3},
    ):
        with pytest.raises(checker.Rejected):
            checker.check({**found, **change}, shared, votes, levels)
    with pytest.raises(checker.Rejected):
        checker.check(found, shared, votes[:-4], levels)
