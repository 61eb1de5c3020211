"""B g on the grid as integers: the caps floor(B g(k/q)) and the order of the fractional parts, both exact."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, nextafter
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import flint
import numpy as np

from ecm.arrays import Ints
from ecm.errors import AllocationError
from ecm.number import Exact, exact

if TYPE_CHECKING:
    from ecm.metric import Profile


_TIE_BITS = 512  # two fractional parts that agree to this many bits are taken as equal


class Splits(NamedTuple):
    """N(0..q) as a method found them, what is known of how good they are, and whether they are proved optimal."""

    n: Ints
    optimality: str
    proved: bool = False


@attrs.frozen(eq=False, slots=False)
class Tube:
    """Where N(k), k = 0..q, may lie, for the budget B and any eps, without a float.

    Write `B g(k/q) = caps[k] + f_k` with `0 <= f_k < 1` and let `ranks[k]` be the place of f_k among the `size`
    distinct fractional parts. The gap `B g(k/q) - N(k) = caps[k] - N(k) + f_k` then has the same order as the
    integer key `(caps[k] - N(k)) * size + ranks[k]`, so that eps is searched over integers:
    all gaps are <= that of the key e iff `N(k) >= caps[k] - (e - ranks[k]) // size`.

    `scaled[k] = floor(2**bits B g(k/q))`; fractional parts that agree to all `bits` are told apart by ball arithmetic.
    """

    profile: Profile
    budget: int
    bits: int
    scaled: Ints

    @classmethod
    def of(cls, profile: Profile, budget: int, q: int) -> Tube:
        """Return the tube under `budget * g` on the grid k/q."""
        budget, q = check_size(budget, q)
        bits = 61 - budget.bit_length()
        return cls(profile, budget, bits, np.asarray(profile.floors(budget << bits, q), dtype=np.int64))

    @property
    def q(self) -> int:
        return len(self.scaled) - 1

    @cached_property
    def caps(self) -> Ints:
        """floor(B g(k/q))."""
        return self.scaled >> self.bits

    @cached_property
    def ranks(self) -> Ints:
        """The places of the fractional parts of B g(k/q) among the distinct ones, from 0."""
        return _ranks(self.profile, self.budget, self.caps, self.scaled - (self.caps << self.bits))

    @cached_property
    def size(self) -> int:
        """How many distinct fractional parts there are."""
        return int(self.ranks.max()) + 1

    def key(self, n: Ints) -> int:
        """Return the key of the largest gap of N = `n`."""
        return int(((self.caps - n) * self.size + self.ranks).max())

    def worst(self, n: Ints) -> int:
        """Return the first k with the largest gap."""
        return int(((self.caps - n) * self.size + self.ranks).argmax())

    def gap(self, n: Ints, k: int) -> float:
        """Return g(k/q) - N(k)/B as a float, correct to about 2**-53 relative or 2**-bits/B, without cancellation."""
        return float(Fraction(int(self.scaled[k]) - (int(n[k]) << self.bits), self.budget << self.bits))

    def lower(self, key: int) -> Ints:
        """Return the least N(k) >= 0 whose gap has at most this key; it also never falls, since N does not."""
        return np.maximum.accumulate(np.maximum(self.caps - (key - self.ranks) // self.size, 0))

    def least(self, epsilon: Fraction) -> Ints:
        """Return the least N(k) >= 0 with g(k/q) - N(k)/B <= epsilon, where an excess below 2**-60 counts as none."""
        if epsilon < 0:
            raise AllocationError(f"epsilon = {epsilon} is negative; eps = 0 is already an exact allocation")
        slack = int(min(epsilon, Fraction(1)) * (self.budget << self.bits))
        return np.maximum.accumulate(np.maximum(-((slack - self.scaled) >> self.bits), 0))


def as_epsilon(value: Exact) -> Fraction:
    """Return epsilon as a fraction. A float stands for all numbers that round to it, so `epsilon=other.eps` is met by
    `other`.

    >>> as_epsilon("0.02"), as_epsilon(0.02) > Fraction(2, 100) > as_epsilon(0.02) * (1 - Fraction(1, 10**15))
    (Fraction(1, 50), True)
    """
    if isinstance(value, float) and 0 < value < inf:
        return Fraction(nextafter(value, inf))
    return exact(value, "epsilon")


def check_size(budget: int, q: int) -> tuple[int, int]:
    """Return `budget` and `q` as Python integers, if every sum over them stays inside int64."""
    try:
        budget, q = index(budget), index(q)
    except TypeError as error:
        raise AllocationError(f"budget = {budget!r}, q = {q!r}: both must be integers") from error
    if budget < 1 or q < 1:
        raise AllocationError(f"budget = {budget}, q = {q}: both must be at least 1")
    if budget * (q + 2) >= 1 << 60:
        raise AllocationError(f"budget = {budget}, q = {q}: budget * q must stay below 2**60; use a smaller budget")
    return budget, q


def _ranks(profile: Profile, budget: int, caps: Ints, fractions: Ints) -> Ints:
    """Return dense ranks of the fractional parts f_k, which are known as fractions[k] = floor(2**bits f_k).

    Different floors decide at once. Equal ones are nearly always equal numbers (rational g); ball arithmetic separates
    the others, and what still overlaps at 512 bits counts as equal. This is about which eps is reported as smallest,
    never about soundness.
    """
    q = len(caps) - 1
    order = np.argsort(fractions, kind="stable")
    step = np.diff(fractions[order], prepend=-1) > 0
    starts = np.flatnonzero(step)
    ends = np.append(starts[1:], q + 1)
    with flint.ctx.workprec(_TIE_BITS):
        for start, end in zip(starts, ends, strict=True):
            if end - start > 1:
                group = ((_part(profile, budget, k, q, int(caps[k])), k) for k in order[start:end].tolist())
                parts = sorted(group, key=_middle)
                order[start:end] = [k for _, k in parts]
                step[start + 1 : end] = [bool(a < b) for (a, _), (b, _) in pairwise(parts)]
    ranks = np.empty(q + 1, dtype=np.int64)
    ranks[order] = np.cumsum(step) - 1
    return ranks


def _part(profile: Profile, budget: int, k: int, q: int, cap: int) -> Any:
    """Return the fractional part of B g(k/q): a Fraction for a table, otherwise a ball."""
    return profile.number(k, q) * budget - cap


def _middle(part: tuple[Any, int]) -> Any:
    return part[0] if isinstance(part[0], Fraction) else part[0].mid()
