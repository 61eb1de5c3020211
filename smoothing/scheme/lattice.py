"""Spread couplings: offsets that make the features shown together a lattice over the input.

Any coupling is sound, so the offsets may be chosen for the base classifier's sake. Of the B entries of a list, F are
finite. With K classes, entry K*j + s of the list is finite for s < `width` only, and a feature with the offset
K*inner + class is shown at sample t iff (t + class) mod K < width. The *class* of a feature decides when it is shown,
and is a linear form of its place modulo K; the *inner* part, in 0..B/K-1, decides with which outcome it begins.

Everything here is integer arithmetic, so a scheme is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import gcd, isqrt, prod

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Ints

_SLACK = 4  # a class may be shown in up to 1 + 1/4 times as many samples as there are finite outcomes
_CANDIDATES = 1 << 20  # linear forms that are compared
_DEALS = 512  # ways to deal the columns of a table that are compared
_FORMS = 64  # of the forms with the largest distance, how many are tried with every step of the channel
_COUNTED = 1 << 24  # features that are counted to compare how evenly the classes of the best forms are filled
_FAR = 24  # in pixels; features further apart than this count as far apart


@attrs.frozen
class Grid:
    """Where the features (or the pixels) of an input lie: `channels` times `places`.

    >>> Grid.of((3, 32, 32)), Grid.of((3, 32, 32), pixel=True), Grid.of((12,))
    (Grid(channels=3, places=(32, 32)), Grid(channels=1, places=(32, 32)), Grid(channels=1, places=(12,)))
    """

    channels: int
    places: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], pixel: bool = False) -> Grid:
        """Return the grid of a shape: three or more axes are channels and places, two are a map, one is a table.

        With `pixel`, the channels do not count.
        """
        if pixel:
            return cls(1, shape[1:])
        return cls(1, shape) if len(shape) <= 2 else cls(shape[0], shape[1:])

    def form(self, steps: Sequence[int], modulus: int) -> Ints:
        """Return the linear form with these steps, one for the channel and one an axis, modulo `modulus`, of every
        feature in C,H,W order."""
        total = np.zeros((1,) * (1 + len(self.places)), dtype=np.int64)
        for axis, (size, step) in enumerate(zip((self.channels, *self.places), steps, strict=True)):
            view = [1] * total.ndim
            view[axis] = size
            total = (total + (np.arange(size, dtype=np.int64) * step).reshape(view)) % modulus
        return total.ravel()


@attrs.frozen
class Lattice:
    """Class of the feature in channel c at the place x: (sum_i steps[i] * x_i + channel * c) mod `classes`.

    `width` neighbouring classes are shown at every sample. `distance` is the least squared distance between two
    places of one channel that are ever shown together, `across` the same for two different channels (where it can be
    0); 576 means that it is at least 24 pixels.

    >>> find_lattice(Grid.of((3, 32, 32)), 18, 1)
    Lattice(classes=18, width=1, steps=(1, 5), channel=8, distance=18, across=4)
    """

    classes: int
    width: int
    steps: tuple[int, ...]
    channel: int
    distance: int
    across: int

    def class_of(self, grid: Grid) -> Ints:
        """Return the class of every feature, [features]."""
        return grid.form((self.channel, *self.steps), self.classes)

    def offsets(self, grid: Grid, budget: int) -> Ints:
        """Return the offset of every feature, [features] in 0..budget-1.

        Inner parts follow the additive low-discrepancy sequence of the generalised golden ratio (Roberts 2018), so that
        every neighbourhood has all of them in equal proportion.
        """
        axes = len(grid.places)
        steps = _golden(1 + axes) if grid.channels > 1 else (0, *_golden(axes))
        inner = grid.form(steps, _UNIT) * (budget // self.classes) // _UNIT
        return inner * self.classes + self.class_of(grid)

    def slots(self, budget: int) -> Ints:
        """Return the entries of a list that may be finite, in order."""
        rounds = np.arange(budget // self.classes, dtype=np.int64)[:, None] * self.classes
        return (rounds + np.arange(self.width)).ravel()


def class_count(budget: int, finite: int) -> tuple[int, int]:
    """Return (K, width): K divides the budget, and when `width` of K classes are shown at a time, few entries are
    wasted.

    The width is the least possible, then K the largest. With alpha = 1/g(1) an integer and B a multiple of it, K is
    alpha and the width is 1.

    >>> class_count(2304, 127), class_count(4590, 255), class_count(192, 128), class_count(7, 2), class_count(12, 12)
    ((18, 1), (18, 1), (3, 2), (7, 2), (1, 1))
    """
    if not finite:
        return 1, 1
    small = [k for k in range(1, isqrt(budget) + 1) if budget % k == 0]
    choices = []
    for classes in {*small, *(budget // k for k in small)}:
        width = -(-finite * classes // budget)
        if width * (budget // classes) * _SLACK <= finite * (_SLACK + 1):
            choices.append((width, -classes))
    width, negative = min(choices)
    return -negative, width


@lru_cache(maxsize=64)
def find_lattice(grid: Grid, classes: int, width: int) -> Lattice:
    """Return the linear form whose classes keep features shown together as far apart as possible.

    A table has no geometry: its columns are dealt to the classes as evenly as possible. Otherwise the search compares,
    in this order: the distance within a channel, the distance across channels, how evenly the classes are filled, and
    the numbers themselves.
    """
    if len(grid.places) == 1:
        steps = range(1, max(2, classes), -(-classes // _DEALS))
        dealt = (Lattice(classes, width, (step,), 0, 1, _FAR**2) for step in steps)
        return min(dealt, key=lambda lattice: (_unevenness(lattice, grid), lattice.steps))
    radius = _reach(len(grid.places), classes, width)
    forms, distance = _furthest(_forms(len(grid.places), classes), grid, classes, width, radius)
    reached: list[tuple[int, tuple[int, ...], int]] = []
    for form in (tuple(int(a) for a in row) for row in forms[:_FORMS]):
        reach = _across(form, grid, classes, width, radius)
        reached += [(int(reach[e]), form, int(e)) for e in np.flatnonzero(reach == reach.max())]
    across = max(reach for reach, _, _ in reached)
    tied = [Lattice(classes, width, form, e, distance, across) for reach, form, e in reached if reach == across]
    best = min(
        tied[: max(8, _COUNTED // (grid.channels * prod(grid.places)))],
        key=lambda lattice: (_unevenness(lattice, grid), lattice.steps, lattice.channel),
    )
    if _FAR**2 in (distance, across):  # an input narrower than the radius of the search has its nearest places beyond
        _, distance = _furthest(np.array([best.steps]), grid, classes, width, _FAR)
        across = int(_across(best.steps, grid, classes, width, _FAR)[best.channel])
    return attrs.evolve(best, distance=distance, across=across)


def _forms(axes: int, classes: int) -> Ints:
    """Return candidates [n, axes], in lexicographic order: all forms if they are few, else those of Korobov's kind,
    (a, a*g, a*g**2, ...), for evenly chosen a and g."""
    if classes**axes <= _CANDIDATES:
        return np.ascontiguousarray(np.indices((classes,) * axes).reshape(axes, -1).T, dtype=np.int64)
    some = np.arange(1, classes, -(-classes // isqrt(_CANDIDATES)), dtype=np.int64)
    first, ratio = (column.ravel() for column in np.meshgrid(some, some, indexing="ij"))
    columns = [first]
    for _ in range(axes - 1):
        columns.append(columns[-1] * ratio % classes)
    return np.stack(columns, axis=1)


def _vectors(places: tuple[int, ...], radius: int) -> Ints:
    """Return differences between two places within the radius, one of v and -v, nearest first, without 0."""
    ranges = [range(-min(n - 1, radius), min(n - 1, radius) + 1) for n in places]
    half = [v for v in product(*ranges) if v > (0,) * len(places) and sum(a * a for a in v) <= radius**2]
    ordered = sorted(half, key=lambda v: (sum(a * a for a in v), v))
    return np.array(ordered, dtype=np.int64).reshape(-1, len(places))


def _reach(axes: int, classes: int, width: int) -> int:
    """Return a radius beyond which no lattice of that density has its shortest vector (Minkowski), or `_FAR`."""
    radius = 1
    while radius < _FAR and width * radius**axes < classes * 2**axes:
        radius += 1
    return radius


def _furthest(forms: Ints, grid: Grid, classes: int, width: int, radius: int) -> tuple[Ints, int]:
    """Return the forms with the largest distance within a channel, and that distance, squared; places further apart
    than the radius are not looked at."""
    for vector in _vectors(grid.places, radius):
        apart = _apart(forms @ vector, classes, width)
        if not apart.any():
            return forms, int(vector @ vector)
        forms = forms[apart]
    return forms, _FAR**2


def _apart(residues: Ints, classes: int, width: int) -> NDArray[np.bool_]:
    """Return whether features whose classes differ by the residue are never shown together."""
    circular = residues % classes
    return np.asarray((circular >= width) & (circular <= classes - width))


def _across(form: tuple[int, ...], grid: Grid, classes: int, width: int, radius: int) -> Ints:
    """Return the least squared distance of places shown together in two channels, for every step of the channel;
    places further apart than the radius are not looked at."""
    if grid.channels == 1:
        return np.full(1, _FAR**2, dtype=np.int64)
    half = _vectors(grid.places, radius)
    vectors = np.concatenate([np.zeros((1, len(grid.places)), dtype=np.int64), half, -half])
    norms = (vectors**2).sum(1)
    order = np.argsort(norms, kind="stable")
    place, norms = vectors[order] @ np.array(form), norms[order]
    nearest = np.full(classes, _FAR**2, dtype=np.int64)  # the nearest place whose class differs by the residue
    for residue in range(classes):
        together = np.flatnonzero(~_apart(place + residue, classes, width))
        if len(together):
            nearest[residue] = norms[together[0]]
    steps = np.arange(classes)
    least: Ints = np.min([nearest[steps * k % classes] for k in range(1, grid.channels)], axis=0)
    return least


def _unevenness(lattice: Lattice, grid: Grid) -> int:
    """Return the largest difference between the numbers of features that two samples show."""
    counts = np.bincount(lattice.class_of(grid), minlength=lattice.classes)
    around = np.cumsum(np.concatenate([[0], counts, counts[: lattice.width]]))
    shown = around[lattice.width :] - around[: -lattice.width]
    return int(shown.max() - shown.min())


_UNIT = 1 << 32


def _golden(axes: int) -> tuple[int, ...]:
    """Return the fractions 1/x, 1/x**2, ... of the root x > 1 of x**(axes+1) = x + 1, in units of 2**-32 and rounded
    down, the largest for the last axis."""
    unit = 1 << 64
    low, high = unit, 2 * unit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle ** (axes + 1) < (middle + unit) * unit**axes else (low, middle)
    return tuple(unit ** (k + 1) // low**k // _UNIT for k in range(axes, 0, -1))


def stride_order(length: int) -> Ints:
    """Return 0..length-1 in steps of about length/golden ratio, coprime to the length: every beginning visits all
    residues modulo every divisor of the length evenly.

    >>> stride_order(10).tolist()
    [0, 7, 4, 1, 8, 5, 2, 9, 6, 3]
    """
    step = max(1, length * 2654435769 >> 32)
    while gcd(step, length) > 1:
        step += 1
    return np.arange(length, dtype=np.int64) * step % length
