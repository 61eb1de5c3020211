"""Spread couplings: what is shown together lies far apart, in equal numbers, and is the same everywhere."""

from __future__ import annotations

import hashlib
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from smoothing import Scheme, SchemeError
from smoothing.scheme.lattice import Grid, class_count, find_lattice, stride_order

SHAPES = [(3, 8, 8), (1, 8, 8), (8, 8), (2, 4, 4, 4), (12,), (3, 5, 7), (3, 1, 6)]
METRICS = {
    "integer alpha": ECM.lp("1/2", 6),
    "fractional alpha": ECM.from_expr("z**0.5/2.5"),
    "alpha = 1": ECM.lp("1/2", 1),
    "a step": ECM.l0(7),
}


def visible(scheme: Scheme) -> np.ndarray:
    """Whether each feature has a divider at each sample, [samples, features], by the scheme's own answer."""
    ids = scheme.outcome(np.arange(scheme.features), np.arange(scheme.samples)[:, None])
    finite = np.array([outcomes.finite for outcomes in scheme.design.outcomes])[scheme.component]
    return ids < finite


def place(scheme: Scheme) -> tuple[np.ndarray, np.ndarray]:
    """Channel [features] and place [features, axes] of every feature."""
    grid = Grid.of(scheme.shape)
    axes = np.indices((grid.channels, *grid.places)).reshape(1 + len(grid.places), -1)
    return axes[0], axes[1:].T


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("budget", [60, 59, 7])
def test_features_shown_together_are_far_apart(shape: tuple[int, ...], name: str, budget: int) -> None:
    """At every sample no two features of one channel are closer than the lattice's distance, nor two of different
    channels closer than `across`; the distances are exact where features that near exist."""
    scheme = Scheme(METRICS[name].design(budget, q=4), shape)
    lattice = scheme.lattice()
    channel, where = place(scheme)
    if len(where[0]) == 1:
        return
    squared = ((where[:, None] - where[None]) ** 2).sum(-1)
    for row in np.unique(visible(scheme), axis=0):
        shown = np.flatnonzero(row)
        near = squared[np.ix_(shown, shown)]
        same = channel[shown][:, None] == channel[shown][None]
        np.fill_diagonal(near, 10**6)
        assert near[same].min(initial=10**6) >= min(lattice.distance, 10**6)
        assert near[~same].min(initial=10**6) >= lattice.across


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", METRICS)
def test_samples_show_about_equally_many_features(shape: tuple[int, ...], name: str) -> None:
    """The numbers of features shown at two samples differ by a few: at most 8 and an eighth of the features."""
    scheme = Scheme(METRICS[name].design(60, q=4), shape)
    assert np.array_equal(scheme.shown, visible(scheme).sum(1))
    assert scheme.shown.max() - scheme.shown.min() <= 8 + scheme.features // 8


@pytest.mark.parametrize(("alpha", "few"), [(6, 12), (9, 12), (18, 12), (36, 20), (48, 20)])
def test_images_of_cifar_size_are_shown_evenly(alpha: int, few: int) -> None:
    """With 128 alpha samples of 3x32x32 the number of values shown stays within a few of 3072/alpha."""
    scheme = Scheme(ECM.lp("1/2", alpha).design(128 * alpha), (3, 32, 32))
    assert scheme.shown.max() - scheme.shown.min() <= few
    assert abs(scheme.shown.mean() * alpha - 3072) < 3072 / 16


@given(
    places=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    channels=st.integers(1, 3),
    classes=st.integers(1, 9),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_the_search_is_exact(places: tuple[int, int], channels: int, classes: int, data: st.DataObject) -> None:
    """No other linear form has a larger distance within a channel: all are tried here, one pair of places at a time."""
    width = data.draw(st.integers(1, classes))
    grid = Grid(channels, places)
    spots = list(product(*map(range, places)))

    def distance(steps: tuple[int, ...]) -> int:
        apart = 576
        for a, b in combinations(spots, 2):
            residue = sum(s * (i - j) for s, i, j in zip(steps, a, b, strict=True)) % classes
            if min(residue, classes - residue) < width:
                apart = min(apart, sum((i - j) ** 2 for i, j in zip(a, b, strict=True)))
        return apart

    found = find_lattice(grid, classes, width)
    assert found.distance == distance(found.steps) == max(map(distance, product(range(classes), repeat=2)))


@given(st.integers(1, 400), st.data())
def test_the_number_of_classes_fits_the_budget(budget: int, data: st.DataObject) -> None:
    """All finite outcomes find an entry, and the entries left over are few."""
    finite = data.draw(st.integers(0, budget))
    classes, width = class_count(budget, finite)
    assert budget % classes == 0
    slots = width * (budget // classes)
    assert finite <= slots <= max(1, finite) * 9 / 8 or (finite == 0 and classes == 1)


@given(st.integers(1, 500))
def test_a_beginning_visits_all_residues_evenly(length: int) -> None:
    """For every divisor k, each run of k samples in a row has every residue once."""
    order = stride_order(length)
    assert sorted(order.tolist()) == list(range(length))
    for k in (k for k in range(1, length + 1) if length % k == 0):
        assert (np.sort(order.reshape(-1, k) % k, axis=1) == np.arange(k)).all()


def test_several_components_have_their_own_classes() -> None:
    """Each component has as many classes as its own g(1) asks for; a component that is 0 is never shown."""
    metric = ECM.grouped([ECM.lp("1/2", 2), ECM.lp("1/2", 6), ECM.from_expr("0*z")])
    scheme = Scheme(metric.design(60, q=4), (3, 8, 8))
    assert [scheme.lattice(c).classes for c in range(3)] == [2, 6, 1]
    assert not visible(scheme).reshape(60, 3, 64)[:, 2].any()


def test_schemes_are_the_same_everywhere() -> None:
    """Offsets and lists of spread couplings are pinned: records and models depend on them."""
    found = {}
    for alpha, shape in [(18, (3, 32, 32)), (36, (3, 32, 32)), (64, (3, 32, 32)), (5, (13,))]:
        scheme = Scheme(ECM.l0(alpha).design(alpha * 4), shape, pixel=alpha == 64)
        taken = scheme.offsets.astype("<i8").tobytes() + scheme.lists.astype("<i8").tobytes()
        found[alpha] = hashlib.sha256(taken).hexdigest()[:16]
    assert found == {
        18: "16cb800ad30926b5",
        36: "0c4bf0dd123bbbb6",
        64: "957439b7593442bf",
        5: "aacb9f4e9504e1b7",
    }


def test_large_images_have_a_lattice() -> None:
    """3x224x224 takes no longer than a moment."""
    scheme = Scheme(ECM.l0(49).design(49), (3, 224, 224), pixel=True)
    assert scheme.lattice().distance >= 49
    assert scheme.offsets.shape == (224 * 224,)


def test_only_a_spread_coupling_has_a_lattice() -> None:
    """The error says which coupling it is."""
    with pytest.raises(SchemeError, match="independent"):
        Scheme(ECM.l0(4).design(4), (3,), coupling="independent").lattice()
