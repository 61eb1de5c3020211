"""Soft certificates: at outputs of 0 and 1 they are those of votes, and what is no output is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ecm import ECM, Design
from smoothing.certificates.certifier import certify
from smoothing.certificates.soft import certify_soft, certify_soft_sums
from smoothing.errors import VoteError
from smoothing.scheme import Scheme

SCHEME = Scheme.l1(2, shape=(3,), q=4)
LEVELS = np.array([0, 2, 4])
SCHEMES = [
    SCHEME,
    Scheme(ECM.lp("1/2", 2).design(24, q=4), (3,)),
    Scheme(ECM.lp("1/2", 2).design(40, q=4, kind="periodic"), (3,), coupling="global"),
    Scheme(Design.from_rows(ECM.l0(2), [[1]], q=4, budget=4), (3,), coupling="independent"),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_outputs_of_nothing_or_all_are_votes(scheme: Scheme, seed: int) -> None:
    """The last class wins no tie, neither of votes nor of sums, so that both need the same; also with weights.

    Votes come whole, so that their ball is larger by less than one vote."""
    random = np.random.RandomState(seed)
    weights = np.ones(scheme.samples, int) if scheme.weights is None else scheme.weights
    others = (random.rand(scheme.samples) < 0.1 * (seed % 3)) & (weights == weights.min())
    votes = np.where(others, random.randint(3, size=scheme.samples), 2)
    soft = certify_soft(np.eye(3, dtype=np.int64)[votes], 1, LEVELS, scheme)
    hard = certify(votes.astype(np.uint8), LEVELS, scheme, classes=3, certificate="vote_aware")
    assert (soft.prediction, soft.closed, soft.everywhere) == (2, hard.closed, hard.everywhere)
    assert soft.radius is not None
    assert hard.radius is not None
    assert 0 <= hard.radius - soft.radius < Fraction(1, scheme.total)


@pytest.mark.parametrize("seed", range(6))
def test_the_outputs_prove_no_less_than_their_sums(seed: int) -> None:
    """A rival by rival bound is at least the one by sums, and no larger than the nearest rival allows."""
    random = np.random.RandomState(seed)
    outputs = random.randint(0, 101, size=(SCHEME.samples, 3)) // [2, 1, 3]
    plain, aware = (
        certify_soft_sums(outputs.sum(axis=0), 100, SCHEME),
        certify_soft(outputs, 100, LEVELS, SCHEME),
    )
    assert plain.prediction == aware.prediction
    assert plain.radius is not None
    assert aware.radius is not None
    assert plain.radius <= aware.radius
    assert not plain.closed


def test_the_largest_sum_and_the_smallest_margin_count() -> None:
    """All samples agree, or one unit decides, or nothing does."""
    assert certify_soft_sums([0, 800], 100, SCHEME).prediction == 1
    assert certify_soft_sums([400, 401], 100, SCHEME).radius is not None
    tie = certify_soft(np.full((8, 2), 50), 100, LEVELS, SCHEME)
    assert tie.radius is None
    assert not tie.everywhere
    assert tie.method == "soft_vote_aware"


@pytest.mark.parametrize("wrong", [-1, 101])
def test_one_output_outside_of_its_range_is_refused(wrong: int) -> None:
    """Even if all sums are in theirs."""
    outputs: Any = np.full((8, 2), 50)
    outputs[3, 1] = wrong
    with pytest.raises(VoteError, match="outputs span"):
        certify_soft(outputs, 100, LEVELS, SCHEME)


def test_sums_stay_exact() -> None:
    """2**51 units in all are too many, one fewer are not."""
    outputs = np.array([[0, 1]] * 8)
    with pytest.raises(VoteError, match="too fine"):
        certify_soft(outputs, 1 << 48, LEVELS, SCHEME)
    assert certify_soft(outputs, (1 << 48) - 1, LEVELS, SCHEME).prediction == 1


def test_what_nobody_can_change_is_certified_everywhere() -> None:
    """One feature touches one of four samples, and three are enough."""
    scheme = Scheme(Design.from_rows(ECM.l0(2), [[1]], q=1, budget=4), (1,), coupling="independent")
    found = certify_soft(np.array([[0, 5]] * 4), 5, np.array([0]), scheme)
    assert found.everywhere
    assert found.closed
    assert found.prediction == 1
