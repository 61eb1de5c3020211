"""The search for a lattice finds what a slow one finds that is written from the definition, and counts as it says."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count, product
from math import gcd, isqrt
from typing import Any

import numpy as np
import pytest

from smoothing.scheme import lattice as search
from smoothing.scheme.lattice import Grid, Lattice, class_count, find_lattice, stride_order


def candidates(axes: int, classes: int) -> list[tuple[int, ...]]:
    """All linear forms, or those of Korobov's kind for evenly chosen numbers if there are too many."""
    if classes**axes <= search._CANDIDATES:
        return list(product(range(classes), repeat=axes))
    some = range(1, classes, -(-classes // int(search._CANDIDATES**0.5)))
    return [tuple(a * g**k % classes for k in range(axes)) for a in some for g in some]


class Slow:
    """A lattice search by the definition: all pairs of features, in plain Python."""

    def __init__(self, grid: Grid, classes: int, width: int) -> None:
        self.grid, self.classes, self.width = grid, classes, width
        self.features = list(product(range(grid.channels), *map(range, grid.places)))
        differences = product(*(range(1 - n, n) for n in (grid.channels, *grid.places)))
        squared = [(sum(a * a for a in d[1:]), d) for d in differences if d > (0,) * len(d)]
        self.within = sorted(pair for pair in squared if pair[1][0] == 0)
        self.between = sorted(pair for pair in squared if pair[1][0] != 0)

    def together(self, pairs: list[Any], steps: tuple[int, ...], radius: int) -> tuple[Any, ...]:
        """The first pair that is shown together, with its squared distance; the square of "far" if there is none."""
        for squared, difference in pairs:
            residue = sum(s * d for s, d in zip(steps, difference, strict=True)) % self.classes
            if squared <= radius**2 and min(residue, self.classes - residue) < self.width:
                return squared, difference
        return search._FAR**2, (search._FAR + 1,)

    def uneven(self, steps: tuple[int, ...]) -> int:
        """The difference between the largest and the least number of features that are shown at once."""
        found = [sum(s * a for s, a in zip(steps, f, strict=True)) % self.classes for f in self.features]
        shown = [sum((c - t) % self.classes < self.width for c in found) for t in range(self.classes)]
        return max(shown) - min(shown)

    def lattice(self) -> Lattice:
        """The best form: distance within a channel, distance across channels, evenness, numbers."""
        axes, far = len(self.grid.places), search._FAR
        if axes == 1:
            steps = range(1, max(2, self.classes), -(-self.classes // search._DEALS))
            step = min(steps, key=lambda step: (self.uneven((0, step)), step))
            return Lattice(self.classes, self.width, (step,), 0, 1, far**2)
        radius = next(r for r in count(1) if r >= far or self.width * r**axes >= self.classes * 2**axes)
        forms = candidates(axes, self.classes)
        nearest = [self.together(self.within, (0, *form), radius) for form in forms]
        best = [form for form, near in zip(forms, nearest, strict=True) if near == max(nearest)][: search._FORMS]
        channel = range(self.classes if self.grid.channels > 1 else 1)
        pairs = [(form, e) for form in best for e in channel]
        across = [self.together(self.between, (e, *form), radius)[0] for form, e in pairs]
        tied = [pair for pair, reach in zip(pairs, across, strict=True) if reach == max(across)]
        tied = tied[: max(8, search._COUNTED // len(self.features))]
        form, e = min(tied, key=lambda pair: (self.uneven((pair[1], *pair[0])), pair))
        distances = (self.together(pairs, (e, *form), far)[0] for pairs in (self.within, self.between))
        return Lattice(self.classes, self.width, form, e, *distances)


TABLES, IMAGES = ((12,),), ((4, 5), (5, 3), (1, 14), (2, 9), (3, 2, 3))


def cases(number: int, seed: int, largest: tuple[tuple[int, ...], ...]) -> Iterator[tuple[Grid, int, int]]:
    """Small inputs of one to three axes, wide and narrow, with one to three channels: (grid, classes, width)."""
    draw = np.random.RandomState(seed)
    for sides in (largest * number)[:number]:
        places = tuple(int(draw.randint(1, side + 1)) for side in sides)
        channels = 1 if len(places) == 1 else int(draw.randint(1, 4))
        classes = int(draw.randint(1, 5 if len(places) == 3 else 10))
        yield Grid(channels, places), classes, int(draw.randint(1, classes + 1))


NARROW = [(Grid(1, (1, 20)), 9, 1), (Grid(2, (1, 12)), 20, 1), (Grid(1, (2, 20)), 16, 1), (Grid(1, (1, 2, 5)), 8, 1)]
TIED = [(Grid(2, (3, 2)), 3, 2), (Grid(3, (2, 2)), 6, 5)]  # the 9th, or a later one, of the best is the most even


def test_the_search_finds_what_the_definition_says() -> None:
    """On small inputs all forms and all steps of the channel are compared, one pair of features at a time."""
    for grid, classes, width in (*cases(40, 0, TABLES + IMAGES), *NARROW, *TIED):
        assert find_lattice.__wrapped__(grid, classes, width) == Slow(grid, classes, width).lattice()


@pytest.mark.parametrize(
    ("limit", "value"),
    [("_CANDIDATES", 36), ("_DEALS", 3), ("_DEALS", 2), ("_FORMS", 2), ("_COUNTED", 1), ("_COUNTED", 96), ("_FAR", 3)],
)
def test_the_limits_of_the_search_cut_it_where_they_say(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """With small limits the slow search, which stops at the same places, finds the same lattices."""
    monkeypatch.setattr(search, limit, value)
    for grid, classes, width in (*cases(15, 1, TABLES if limit == "_DEALS" else IMAGES), *TIED):
        assert find_lattice.__wrapped__(grid, classes, width) == Slow(grid, classes, width).lattice()


@pytest.mark.parametrize("places", [(1, 1), (3, 5), (1, 9), (2, 3, 4)])
def test_the_search_looks_at_every_difference_within_its_radius(places: tuple[int, ...]) -> None:
    """One of v and -v each, nearest first, and none that is further away."""
    for radius in range(1, 6):
        differences = list(product(*(range(1 - n, n) for n in places)))
        near = [(sum(a * a for a in v), v) for v in differences if v > (0,) * len(v)]
        expected = [list(v) for squared, v in sorted(near) if squared <= radius**2]
        found = search._vectors(places, radius)
        assert found.tolist() == expected
        assert found.shape == (len(expected), len(places))


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_the_search_ends_at_the_bound_of_minkowski(axes: int) -> None:
    """No lattice of that density has a longer shortest vector; beyond 24 pixels all is far."""
    for classes, width in ((k, w) for k in (*range(1, 40), 143, 144, 145) for w in {1, 2, 3, k} if w <= k):
        radius = next(r for r in count(1) if r == 24 or width * r**axes >= classes * 2**axes)
        assert search._reach(axes, classes, width) == radius


def test_the_limits_are_pinned() -> None:
    """Another limit may find another lattice, and records and models depend on the lattice."""
    assert (search._SLACK, search._DEALS, search._FORMS, search._FAR) == (4, 512, 64, 24)
    assert (search._CANDIDATES, search._COUNTED) == (2**20, 2**24)
    assert [len(search._forms(2, classes)) for classes in (1024, 1025)] == [2**20, 512**2]
    assert [len(search._forms(3, classes)) for classes in (101, 102)] == [101**3, 101**2]


@pytest.mark.parametrize(
    ("shape", "pixel", "grid"),
    [
        ((12,), False, Grid(1, (12,))),
        ((8, 9), False, Grid(1, (8, 9))),
        ((3, 8, 9), False, Grid(3, (8, 9))),
        ((3, 8, 9), True, Grid(1, (8, 9))),
        ((3, 9), True, Grid(1, (9,))),
        ((2, 4, 5, 6), False, Grid(2, (4, 5, 6))),
    ],
)
def test_axes_are_channels_and_places(shape: tuple[int, ...], pixel: bool, grid: Grid) -> None:
    """One axis is a table, two are a map, and the first of three or more are channels; pixels have no channels."""
    assert Grid.of(shape, pixel) == grid


def golden(axes: int) -> list[int]:
    """The powers 1/x**axes, ..., 1/x of the root x of x**(axes + 1) = x + 1 in units of 2**-32, by Newton's method."""
    with localcontext() as context:
        context.prec = 60
        x = Decimal(2)
        for _ in range(99):
            x -= (x ** (axes + 1) - x - 1) / ((axes + 1) * x**axes - 1)
        return [int(2**32 / x**k) for k in range(axes, 0, -1)]


@pytest.mark.parametrize("grid", [Grid(1, (9,)), Grid(1, (4, 5)), Grid(2, (4, 5)), Grid(3, (2, 3, 4)), Grid(3, (4, 4))])
@pytest.mark.parametrize(("classes", "width", "budget"), [(1, 1, 7), (5, 2, 40), (6, 1, 600)])
def test_offsets_follow_the_golden_sequence(grid: Grid, classes: int, width: int, budget: int) -> None:
    """The class is the linear form of the place, the inner part what a sequence of the golden ratio gives."""
    lattice = find_lattice(grid, classes, width)
    features = product(range(grid.channels), *map(range, grid.places))
    steps = golden(1 + len(grid.places)) if grid.channels > 1 else [0, *golden(len(grid.places))]
    for offset, feature in zip(lattice.offsets(grid, budget).tolist(), features, strict=True):
        inner, own = divmod(offset, classes)
        assert own == sum(s * a for s, a in zip((lattice.channel, *lattice.steps), feature, strict=True)) % classes
        share = Fraction(sum(s * a for s, a in zip(steps, feature, strict=True)), 2**32) % 1
        assert inner == int(share * (budget // classes))
    assert lattice.slots(budget).tolist() == [entry for entry in range(budget) if entry % classes < width]


def test_classes_are_as_narrow_and_as_many_as_possible() -> None:
    """Of all divisors of the budget that waste at most a quarter, one of the least width and then the largest."""
    for budget in range(1, 61):
        assert class_count(budget, 0) == (1, 1)
        for finite in range(1, budget + 1):
            fit = []
            for classes in (k for k in range(1, budget + 1) if budget % k == 0):
                width = next(w for w in count(1) if w * budget // classes >= finite)
                if Fraction(width * budget, classes) <= Fraction(5, 4) * finite:
                    fit.append((-width, classes))
            width, classes = max(fit)
            assert class_count(budget, finite) == (classes, -width)


@pytest.mark.parametrize("length", [1, 2, 3, 12, 1000, 75025, 121393])
def test_the_stride_is_that_of_the_golden_ratio(length: int) -> None:
    """The step is the first number from length/golden ratio on, in units of 2**-32, that is coprime to the length."""
    ratio = (isqrt(5 << 64) - (1 << 32)) // 2
    step = next(s for s in count(length * ratio >> 32) if gcd(s, length) == 1)
    assert stride_order(length)[:3].tolist() == [step * k % length for k in range(min(3, length))]
