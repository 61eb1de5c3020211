"""A packed ranking gives back what was packed, and calls sure only what is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from smoothing import Packing, Scheme, SmoothedClassifier, VoteError, pack_logits, pack_orders
from smoothing.certificates.ranking import checked_rankings
from smoothing.votes.classifier import cast, rank

CLASSES = st.sampled_from([2, 3, 4, 9, 10, 11, 12, 13, 20, 100, 300, 1000, 65535])


@given(classes=CLASSES)
def test_a_ranking_fits_in_four_bytes(classes: int) -> None:
    """All places up to 12 classes, and always the first place with its own flag."""
    packing = Packing.of(classes)
    number = 1
    for i in range(packing.places):
        number *= classes - i
    assert number << packing.flags <= 1 << 32
    assert packing.places == classes if classes <= 12 else packing.places >= 1
    assert packing.flags >= min(packing.gaps, 2) or packing.places == 1


@settings(max_examples=200, deadline=None)
@given(classes=CLASSES.filter(lambda n: n < 400), seed=st.integers(0, 2**32))
def test_what_is_packed_comes_back(classes: int, seed: int) -> None:
    """The first places in order, and near gaps: all that are near, and beyond the flags perhaps more."""
    rng = np.random.default_rng(seed)
    packing = Packing.of(classes)
    order = np.stack([rng.permutation(classes) for _ in range(50)])
    near = rng.random((50, classes - 1)) < rng.choice([0.0, 0.1, 0.5])
    again, flags = packing.unpack(pack_orders(order, near))
    assert np.array_equal(again, order[:, : packing.places])
    kept = near[:, : packing.gaps]
    assert (flags >= kept).all()
    alone = packing.gaps if packing.flags == packing.gaps else packing.flags - 1
    assert np.array_equal(flags[:, :alone], kept[:, :alone])
    assert np.array_equal(flags[:, alone:].any(axis=1), kept[:, alone:].any(axis=1))


def test_every_ranking_of_four_classes_has_its_own_number() -> None:
    """24 orders with 8 sets of near gaps each: 192 different codes."""
    orders = np.array(list(itertools.permutations(range(4))))
    near = np.array(list(itertools.product([False, True], repeat=3)))
    codes = pack_orders(np.repeat(orders, 8, axis=0), np.tile(near, (24, 1)))
    assert sorted(codes.tolist()) == list(range(192))


@settings(max_examples=200, deadline=None)
@given(
    classes=st.sampled_from([2, 3, 5, 10, 11, 12, 13, 40]),
    seed=st.integers(0, 2**32),
    tolerance=st.sampled_from([0.0, 1e-3, 0.3]),
)
def test_every_pair_within_the_tolerance_is_unsure(classes: int, seed: int, tolerance: float) -> None:
    """And what is called sure is in the order of the logits; votes are those that are cast from the logits."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(40, classes)).astype(np.float32)
    logits += np.round(rng.normal(size=(40, classes)), 1).astype(np.float32)
    logits[::3] = np.round(logits[::3], 1)
    packing, codes = Packing.of(classes), pack_logits(logits, tolerance)
    ranks = packing.ranks(codes)
    sure = ranks[:, :, None] < ranks[:, None, :]
    exact = logits.astype(np.float64)
    assert not (sure & ~(exact[:, :, None] - exact[:, None, :] > tolerance)).any()
    votes = cast(torch.from_numpy(logits), tolerance, 255).numpy()
    assert np.array_equal(packing.votes(codes), votes)
    assert np.array_equal(rank(torch.from_numpy(logits), tolerance).numpy().astype(np.uint32), codes)
    if not tolerance and classes <= 10:
        assert np.array_equal(np.argsort(packing.positions(codes), axis=1), np.argsort(-logits, axis=1, kind="stable"))


@settings(max_examples=150, deadline=None)
@given(classes=st.sampled_from([3, 5, 11, 13, 40]), seed=st.integers(0, 2**32))
def test_a_sure_pair_is_ordered_alike_in_every_evaluation(classes: int, seed: int) -> None:
    """With every logit moved by up to half the tolerance, the better class has the better place, also where the packing
    keeps a few places only: that is what `predict` reads."""
    rng = np.random.default_rng(seed)
    logits = np.round(rng.normal(size=(60, classes)), 1)
    packing = Packing.of(classes)
    ranks = packing.ranks(pack_logits(logits, 0.2))
    moved = packing.positions(pack_logits(logits + rng.choice([-0.1, 0.0, 0.1], size=logits.shape) * 0.999))
    sure = ranks[:, :, None] < ranks[:, None, :]
    assert not (sure & ~(moved[:, :, None] < moved[:, None, :])).any()


def test_infinite_logits_are_near_each_other_and_nan_is_refused() -> None:
    """inf - inf says nothing."""
    assert Packing.of(3).votes(pack_logits(np.array([np.inf, np.inf, 0.0]))) == 255
    with pytest.raises(VoteError, match="NaN"):
        pack_logits(np.array([0.0, np.nan]))


def test_nonsense_is_refused() -> None:
    """Each error says what to give instead."""
    for wrong in (np.array([1, 2]), np.float64(1.0)):
        with pytest.raises(VoteError, match="classes"):
            pack_logits(wrong)
    with pytest.raises(VoteError, match="every class"):
        pack_orders([[0, 0, 1]])
    with pytest.raises(VoteError, match="one entry per gap"):
        pack_orders([[0, 1, 2]], [[True]])
    with pytest.raises(VoteError, match="uint32"):
        checked_rankings(np.zeros(3, np.uint8), 3)
    with pytest.raises(VoteError, match="packs no ranking"):
        checked_rankings(np.array([6 * 4], np.uint32), 3)
    with pytest.raises(VoteError, match="plurality, runoff"):
        SmoothedClassifier(nn.Linear(6, 3), Scheme.l1(2, shape=(3,), q=4), 3, rule="majority")  # type: ignore[arg-type]
