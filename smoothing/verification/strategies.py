"""Hypothesis strategies for small schemes and base functions, to test certificates (or your own) by brute force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecm import ECM
from ecm.allocation import Outcomes
from ecm.arrays import Ints
from ecm.design import Design
from smoothing.scheme import Coupling, Scheme

SHAPES: tuple[tuple[int, ...], ...] = ((1,), (2,), (3,), (4,), (2, 2), (1, 2), (2, 1, 2), (1, 2, 2))


@st.composite
def small_metrics(draw: st.DrawFn, q: int) -> ECM:
    """A metric of one component known on the grid q: any concave sequence of rationals with small numbers.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(small_metrics(q=3))
    ... def on_the_grid(metric):
    ...     assert metric.grid == 3
    >>> on_the_grid()
    """
    steps = sorted(draw(st.lists(st.integers(0, 6), min_size=q, max_size=q)), reverse=True)
    whole = max(1, sum(steps)) + draw(st.integers(0, 8))
    return ECM.from_values([Fraction(int(n), whole) for n in np.cumsum([0, *steps])])


@st.composite
def small_designs(draw: st.DrawFn, metric: ECM, q: int, budget: int, periodic: bool) -> Design:
    """A sound design: random outcomes, each kept if the list stays under the metric's caps.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(small_designs(ECM.l1(2), q=3, budget=9, periodic=True))
    ... def sound(design):
    ...     assert (design.outcomes[0].most <= design.metric.floors(9, 3)[0]).all()
    >>> sound()
    """
    caps = metric.floors(budget, q)
    if periodic:
        return Design.from_weights(metric, [draw(_weights(cap, q, budget)) for cap in caps], q, budget)
    rows = [draw(_rows(cap, q, budget)) for cap in caps]
    return Design.from_rows(metric, rows if len(rows) > 1 else rows[0], q, budget)


@st.composite
def _weights(draw: st.DrawFn, caps: Ints, q: int, budget: int) -> Mapping[int, int]:
    weights: dict[int, int] = {}
    for width in draw(st.lists(st.integers(1, q), max_size=8)):
        more = weights | {width: weights.get(width, 0) + 1}
        if sum(j * w for j, w in more.items()) <= budget and _sound(Outcomes.from_weights(more, q, budget), caps):
            weights = more
    return weights


@st.composite
def _rows(draw: st.DrawFn, caps: Ints, q: int, budget: int) -> list[list[int]]:
    rows: list[list[int]] = []
    for row in draw(st.lists(st.sets(st.integers(1, q), min_size=1), max_size=min(budget, 12))):
        more = [*rows, sorted(row)]
        if _sound(Outcomes.from_rows(more, q, budget), caps):
            rows = more
    return rows


def _sound(outcomes: Outcomes, caps: Ints) -> bool:
    return bool((outcomes.most <= caps).all())


@st.composite
def small_schemes(
    draw: st.DrawFn,
    *,
    shapes: tuple[tuple[int, ...], ...] = SHAPES,
    max_q: int = 5,
    max_budget: int = 24,
    couplings: tuple[Coupling, ...] = ("spread", "independent", "permutation", "global"),
    pixel: bool | None = None,
) -> Scheme:
    """Schemes of every coupling, order and design on spaces small enough to enumerate.

    `pixel` None draws both; True or False fixes it (True needs shapes of two axes or more).

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(small_schemes(couplings=("spread",), max_q=3))
    ... def small(scheme):
    ...     assert scheme.samples <= 24
    ...     assert scheme.q <= 3
    >>> small()
    """
    q, budget = draw(st.integers(1, max_q)), draw(st.integers(1, max_budget))
    shape = draw(st.sampled_from(shapes))
    coupling = draw(st.sampled_from(couplings))
    shared = draw(st.booleans()) if pixel is None and len(shape) > 1 else bool(pixel)
    if shape[0] > 1 and not shared and coupling != "global" and draw(st.booleans()):
        parts = [draw(small_metrics(q)) for _ in range(2)]
        metric = ECM.grouped(parts, [0, 1, *draw(_groups(shape[0] - 2))])
    else:
        metric = draw(small_metrics(q))
    periodic = coupling == "global" or draw(st.booleans())
    return Scheme(
        draw(small_designs(metric, q, budget, periodic)),
        shape,
        coupling=coupling,
        order=draw(st.sampled_from(["interleaved", "graded" if coupling == "spread" else "published"])),
        seed=draw(st.integers(0, 2**32 - 1)),
        pixel=shared,
    )


def _groups(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 1), min_size=count, max_size=count)


def small_inputs(scheme: Scheme, count: int = 1) -> st.SearchStrategy[Ints]:
    """Batches of `count` inputs, int64 [count, *shape], levels 0..q.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(small_inputs(Scheme.l1(2, shape=(3,), q=4), count=2))
    ... def levels(batch):
    ...     assert batch.shape == (2, 3)
    ...     assert batch.max() <= 4
    >>> levels()
    """
    flat = st.lists(st.integers(0, scheme.q), min_size=count * scheme.features, max_size=count * scheme.features)
    return flat.map(lambda values: np.array(values, dtype=np.int64).reshape(count, *scheme.shape))


@attrs.frozen
class HashVote:
    """A base function without any structure: the label is a hash of all bounds.

    >>> HashVote(seed=0, classes=3)(np.zeros((2, 4), dtype=np.int64), np.ones((2, 4), dtype=np.int64)).shape
    (2,)
    """

    seed: int
    classes: int

    def __call__(self, lower: NDArray[Any], upper: NDArray[Any]) -> Ints:
        """Labels [n] of bounds [n, ...]; only equal bounds are sure to get equal labels."""
        ends = np.concatenate([_bits(lower), _bits(upper)], axis=1)
        odd = np.random.RandomState(self.seed).randint(0, 2**62, size=ends.shape[1], dtype=np.int64).astype(np.uint64)
        mixed = (ends * (2 * odd + np.uint64(1))).sum(axis=1)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33)
        return np.asarray(mixed.astype(np.int64) % self.classes, dtype=np.int64)


@attrs.frozen
class LinearVote:
    """A base function with structure: the largest of random linear scores of the bounds, in exact integers.

    >>> LinearVote(seed=0, classes=3)(np.zeros((2, 4), dtype=np.int64), np.ones((2, 4), dtype=np.int64)).shape
    (2,)
    """

    seed: int
    classes: int

    def __call__(self, lower: NDArray[Any], upper: NDArray[Any]) -> Ints:
        """Labels [n] of bounds [n, ...] in half-steps, or in [0,1]."""
        ends = np.concatenate([lower.reshape(len(lower), -1), upper.reshape(len(upper), -1)], axis=1)
        if ends.dtype.kind == "f":
            ends = np.round(ends * 720720)
        weights = np.random.RandomState(self.seed).randint(-9, 10, size=(ends.shape[1], self.classes))
        return np.asarray((ends.astype(np.int64) @ weights).argmax(axis=1), dtype=np.int64)


def _bits(ends: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of small integers or float32 values; the 20 that are always zero in double precision are dropped."""
    exact = ends.reshape(len(ends), -1).astype(np.float64)
    return np.ascontiguousarray(exact).view(np.uint64) >> np.uint64(20)


def votes(classes: int) -> st.SearchStrategy[Callable[[NDArray[Any], NDArray[Any]], Ints]]:
    """Base functions `(lower, upper) -> labels` on arrays [n, ...], structured and not.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(votes(classes=3))
    ... def labels(vote):
    ...     assert 0 <= vote(np.zeros((1, 4), dtype=np.int64), np.ones((1, 4), dtype=np.int64))[0] < 3
    >>> labels()
    """
    seeds = st.integers(0, 2**32 - 1)
    return st.one_of(seeds.map(lambda s: HashVote(s, classes)), seeds.map(lambda s: LinearVote(s, classes)))
