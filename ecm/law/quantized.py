"""The exact law of the bin width Lambda on a grid of q + 1 levels, as integer combinations of the values g(k/q)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import flint
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Floats
from ecm.errors import ECMError
from ecm.law.grid_number import PRECISION, GridNumber
from ecm.metric import Profile


@attrs.frozen(repr=False, slots=False)
class QuantizedLaw:
    """The law of Lambda for values v/q, v = 0..q, under which two levels k apart are split with probability g(k/q).

    Lambda = j/q (j levels wide, j = 1..q, one of j offsets each with probability 1/j) or infinite:

        P(Lambda = j/q) = -j [g((j-1)/q) + g((j+1)/q) - 2 g(j/q)],  j < q
        P(Lambda = 1)   =  q [g(1) - g((q-1)/q)]
        P(Lambda = inf) =  1 - g(1)

    A pair k levels apart is split by min(j, k) of the j offsets, so split(k) = sum_j P_j min(j, k)/j = g(k/q) exactly
    (Levine & Feizi 2022, section on quantization). Widths are in levels.

    >>> law = QuantizedLaw(Profile.from_values([0, "1/2", "3/4", "3/4", "3/4"]), 4)
    >>> [law.probability(j).fraction for j in (1, 2, 3, 4)]
    [Fraction(1, 4), Fraction(1, 2), Fraction(0, 1), Fraction(0, 1)]
    >>> law.infinite
    0.25
    >>> law.split(3)
    GridNumber('g(3/4)')
    """

    profile: Profile
    q: int

    INFINITE = int(np.iinfo(np.int64).max)
    """The width that stands for an infinite Lambda: more than any other width, so comparisons keep their meaning."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.q, int | np.integer) or self.q < 1:
            raise ECMError(f"q = {self.q!r}: the levels are 0..q, write an integer of at least 1 (images: q=255)")
        grid = self.profile.grid
        if grid is not None and grid % self.q:
            raise ECMError(
                f"q = {self.q}: this metric is known only at k/{grid}; write a q that divides {grid}, such as q={grid}"
            )

    @classmethod
    def of(cls, profile: Profile, q: int) -> QuantizedLaw:
        """Return the law of one component on the levels 0..q."""
        return cls(profile, q)

    def _number(self, constant: int, terms: dict[int, int]) -> GridNumber:
        return GridNumber(self.profile, self.q, constant, tuple(sorted((k, c) for k, c in terms.items() if c and k)))

    def _one_offset(self, width: int) -> tuple[tuple[int, int], ...]:
        """Return P(Lambda = width/q) / width, the probability of one width with one of its offsets."""
        if width == self.q:
            return ((width - 1, -1), (width, 1))
        return ((width - 1, -1), (width, 2), (width + 1, -1))

    def probability(self, width: int) -> GridNumber:
        """Return P(Lambda = width/q), exactly, for a width of 1..q levels or `QuantizedLaw.INFINITE`."""
        if width == self.INFINITE:
            return self._number(1, {self.q: -1})
        self._check(width, "width", 1)
        return self._number(0, {k: width * c for k, c in self._one_offset(width)})

    def cdf(self, width: int) -> GridNumber:
        """Return P(Lambda <= width/q), exactly, summed from the probabilities."""
        self._check(width, "width", 0)
        total: dict[int, int] = {}
        for j in range(1, width + 1):
            _add(total, self._one_offset(j), j)
        return self._number(0, total)

    def split(self, distance: int) -> GridNumber:
        """Return the probability that two levels `distance` apart fall in different bins, summed from its definition.

        It comes out as the single term g(distance/q): the theorem, checked by integers.
        """
        self._check(distance, "distance", 0)
        total: dict[int, int] = {}
        for j in range(1, self.q + 1):
            _add(total, self._one_offset(j), min(j, distance))
        return self._number(0, total)

    def splits(self) -> Iterator[GridNumber]:
        """Yield split(0), ..., split(q) in one pass: P(Lambda <= k) + k * E[1{Lambda > k}/Lambda], both as running
        sums."""
        within: dict[int, int] = {}
        beyond: dict[int, int] = {}
        for j in range(1, self.q + 1):
            _add(beyond, self._one_offset(j), 1)
        for k in range(self.q + 1):
            if k:
                _add(within, self._one_offset(k), k)
                _add(beyond, self._one_offset(k), -1)
            total = dict(within)
            _add(total, beyond.items(), k)
            yield self._number(0, total)

    def verify(self) -> None:
        """Raise ECMError unless this is a distribution with split(k) = g(k/q) for every k; exact.

        Non-negativity is decided by fractions or balls; where a ball touches 0, the proof of concavity stands.
        """
        for k, split in enumerate(self.splits()):
            if split.constant or split.terms != (((k, 1),) if k else ()):
                raise ECMError(f"split({k}/{self.q}) = {split}, not g({k}/{self.q})")
        finite, infinite = self.cdf(self.q), self.probability(self.INFINITE)
        if finite.constant + infinite.constant != 1 or finite.terms != tuple((k, -c) for k, c in infinite.terms):
            raise ECMError(f"the probabilities add up to {finite} + {infinite}, not to 1")
        negative = [j for j, p in enumerate(self._balls) if p < 0]
        if negative:
            j = negative[0]
            raise ECMError(
                f"P(Lambda = {j}/{self.q}) = {self.probability(j)} < 0: g is not concave and increasing there"
            )

    @cached_property
    def _balls(self) -> list[flint.arb | Fraction]:
        """The probabilities by width, infinity last, as balls (fractions for a table), each g(k/q) evaluated once."""
        with flint.ctx.workprec(PRECISION):
            g: list[Any] = [self.profile.number(k, self.q) for k in range(self.q + 1)]
            finite = [j * sum(c * g[k] for k, c in self._one_offset(j)) for j in range(1, self.q + 1)]
            return [g[0], *finite, 1 - g[-1]]

    @cached_property
    def probabilities(self) -> Floats:
        """Floats [q + 1]: P(Lambda = j/q) at index j. Index 0 is 0; P(Lambda = inf) is `infinite`."""
        values = np.array([_float(p) for p in self._balls[:-1]])
        values.setflags(write=False)
        return values

    @property
    def infinite(self) -> float:
        """P(Lambda = inf) = 1 - g(1) as a float."""
        return _float(self._balls[-1])

    def cdf_values(self) -> Floats:
        """Return floats [q + 1]: P(Lambda <= j/q) at index j."""
        return np.cumsum(self.probabilities)

    def split_values(self) -> Floats:
        """Return floats [q + 1]: the split probability by distance, summed from `probabilities`, not read off g."""
        widths = np.arange(self.q + 1)
        rates = self.probabilities / np.maximum(widths, 1)
        beyond = np.append(np.cumsum(rates[:0:-1])[::-1], 0.0)
        split: Floats = self.cdf_values() + widths * beyond
        return split

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent widths in levels, 1..q, or `QuantizedLaw.INFINITE`.

        >>> law = QuantizedLaw(Profile.from_expr("sqrt(z)/2"), 255)
        >>> law.sample(np.random.default_rng(0), 1000).min() >= 1
        np.True_
        """
        bounds = self.cdf_values()
        if self.infinite == 0:  # rounding must not leave room above the last width that occurs
            bounds[np.flatnonzero(self.probabilities)[-1] :] = 1.0
        widths = np.searchsorted(bounds, rng.random(size), side="right").astype(np.int64)
        widths[widths > self.q] = self.INFINITE
        return widths

    def rows(self) -> list[tuple[str, float]]:
        """Return (widths in levels, probability), widths pooled as 1, 2, 3-4, 5-8, ..., q, inf; the probabilities add
        up to 1.

        >>> [width for width, _ in QuantizedLaw(Profile.from_expr("sqrt(z)"), 16).rows()]
        ['1', '2', '3-4', '5-8', '9-15', '16', 'inf']
        """
        rows, first = [], 1
        while first < self.q:
            last = min(max(first, 2 * first - 2), self.q - 1)
            name = f"{first}" if first == last else f"{first}-{last}"
            rows.append((name, float(self.probabilities[first : last + 1].sum())))
            first = last + 1
        rows.append((f"{self.q}", float(self.probabilities[self.q])))
        return [*rows, ("inf", self.infinite)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. Exact text is a fraction for a table, a combination of the g(k/q) for a
        formula."""

        def text(width: int) -> str:
            number = self.probability(width)
            return str(number if number.fraction is None else number.fraction)

        return {
            "g": self.profile.text,
            "q": self.q,
            "probabilities": {str(j): p for j, p in enumerate(self.probabilities.tolist()) if p},
            "infinite": self.infinite,
            "exact": {str(j): text(j) for j in np.flatnonzero(self.probabilities).tolist()},
            "infinite_exact": text(self.INFINITE),
        }

    def to_json(self) -> str:
        """Return the widths (in levels) that occur, with their probabilities as floats and as exact text."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        lines = [f"Lambda on {self.q + 1} levels, q = {self.q}", f"{'width (levels)':>16}  probability"]
        return "\n".join([*lines, *(f"{width:>16}  {p:.6g}" for width, p in self.rows())])

    def __repr__(self) -> str:
        return f"QuantizedLaw({self.profile!r}, q={self.q})"

    def _check(self, value: int, name: str, least: int) -> None:
        if not least <= value <= self.q:
            raise ECMError(f"{name} {value}: in levels it is one of {least}..{self.q}")


def _add(total: dict[int, int], terms: Iterable[tuple[int, int]], factor: int) -> None:
    for k, c in terms:
        value = total.get(k, 0) + factor * c
        if value:
            total[k] = value
        else:
            total.pop(k, None)


def _float(value: flint.arb | Fraction) -> float:
    if isinstance(value, Fraction):
        return float(value)
    return 0.0 if value.contains(0) else float(value.mid())
