"""Integer allocations: how often each bin width stands in a list of B outcomes, never splitting more than g allows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np

from ecm.allocation.caps import Splits, Tube, as_epsilon, check_size
from ecm.allocation.outcomes import Outcomes
from ecm.arrays import Ints
from ecm.errors import AllocationError
from ecm.jsontext import JsonForm
from ecm.number import Exact

if TYPE_CHECKING:
    from ecm.metric import Profile

Method = Literal["exact", "mip", "floor", "slopes"]
Weights = Mapping[int, int] | Iterable[tuple[int, int]]
FORMAT = "ecm-allocation/1"
_FORM = JsonForm("an allocation", (FORMAT,), AllocationError, "pass what Allocation.to_json wrote")


def verify_allocation(profile: Profile, weights: Weights, q: int, budget: int) -> Ints:
    """Return N(k) = sum_j w_j min(j, k), k = 0..q, if the weights are sound for `profile`; raises AllocationError
    otherwise.

    `weights[j]` counts how often the full set of j offsets of the width j/q stands in a list of `budget` outcomes,
    wherever they were found. Sound means sum_j j w_j <= B and N(k) <= B g(k/q) for every k, decided in integers.

    >>> from ecm.metric import Profile
    >>> verify_allocation(Profile.from_expr("sqrt(z)"), {1: 1, 4: 1}, q=4, budget=5)
    array([0, 2, 3, 4, 5])
    >>> verify_allocation(Profile.from_expr("sqrt(z)"), {1: 3}, q=4, budget=5)
    Traceback (most recent call last):
        ...
    ecm.errors.AllocationError: N(1) = 3 exceeds floor(B g(1/4)) = 2 (B = 5): the weights split...
    """
    budget, q = check_size(budget, q)
    pairs = _pairs(weights)
    outside = [j for j, _ in pairs if not 1 <= j <= q]
    if outside:
        raise AllocationError(f"width {outside[0]} is outside 1..q = {q}; an infinite width is the rest of the budget")
    used = sum(j * w for j, w in pairs)
    if used > budget:
        raise AllocationError(
            f"the widths need sum_j j w_j = {used} outcomes, more than the budget of {budget}; lower a weight"
        )
    count = np.zeros(q + 1, dtype=np.int64)
    for j, w in pairs:
        count[j] = w
    slopes = np.cumsum(count[:0:-1])[::-1]
    n = np.concatenate([[0], np.cumsum(slopes)])
    caps = profile.floors(budget, q)
    over = np.flatnonzero(n > caps)
    if len(over):
        k = int(over[0])
        raise AllocationError(
            f"N({k}) = {n[k]} exceeds floor(B g({k}/{q})) = {caps[k]} (B = {budget}): the weights split levels {k} "
            f"apart too often; lower a weight (width 1 counts at every distance)"
        )
    return n


def _pairs(weights: Weights) -> tuple[tuple[int, int], ...]:
    """Return (width, count) by width, counts of 0 left out."""
    try:
        items = weights.items() if isinstance(weights, Mapping) else weights
        pairs = sorted((index(j), index(w)) for j, w in items)
    except (TypeError, ValueError) as error:
        raise AllocationError(f"weights map integer widths to integer counts: {error}") from error
    if len({j for j, _ in pairs}) < len(pairs):
        raise AllocationError("a width occurs twice in the weights; add its counts")
    negative = [(j, w) for j, w in pairs if w < 0]
    if negative:
        raise AllocationError(f"weight {negative[0][1]} at width {negative[0][0]}: counts are >= 0")
    return tuple((j, w) for j, w in pairs if w)


@attrs.frozen(repr=False, slots=False)
class Allocation:
    """Weights of the bin widths in a list of `budget` outcomes for one g; verified when made, so none is unsound.

    Widths are in levels (1..q). `method` says how the weights were found, `optimality` how good they are known to be,
    and `proved` whether no others have a smaller eps. These are remarks of whoever made the object, while soundness and
    eps are computed from the weights.

    >>> from ecm.metric import Profile
    >>> print(Allocation(Profile.from_expr("sqrt(z)"), {1: 1, 4: 1}, q=4, budget=6))
    z**(1/2), q = 4, B = 6
    width  count  outcomes  share
        1      1         1  0.1667
        4      1         4  0.6667
      inf      1         1  0.1667
    eps = g(2/4) - 3/6 = 0.207107 (given; not known to be optimal)
    """

    profile: Profile
    _weights: tuple[tuple[int, int], ...] = attrs.field(converter=_pairs)
    q: int
    budget: int
    method: str = attrs.field(default="given", kw_only=True)
    optimality: str = attrs.field(default="not known to be optimal", kw_only=True)
    proved: bool = attrs.field(default=False, kw_only=True)
    N: Ints = attrs.field(init=False, eq=False)
    """N(k) = B split(k/q), k = 0..q."""

    def __attrs_post_init__(self) -> None:
        n = verify_allocation(self.profile, self._weights, self.q, self.budget)
        n.setflags(write=False)
        object.__setattr__(self, "N", n)

    @classmethod
    def from_splits(cls, profile: Profile, found: Splits, budget: int, method: str) -> Allocation:
        """Return the allocation with these N(0..q); its weights are w_j = (N(j) - N(j-1)) - (N(j+1) - N(j))."""
        weights = -np.diff(np.append(np.diff(found.n), 0))
        pairs = [(int(j) + 1, int(weights[j])) for j in np.flatnonzero(weights)]
        q, text, proved = len(found.n) - 1, found.optimality, found.proved
        return cls(profile, pairs, q, budget, method=method, optimality=text, proved=proved)

    @property
    def weights(self) -> dict[int, int]:
        """Width in levels -> how often its full set of offsets stands in the list."""
        return dict(self._weights)

    @property
    def infinite(self) -> int:
        """Number of outcomes with Lambda = inf: the rest of the budget."""
        return self.budget - sum(j * w for j, w in self._weights)

    @cached_property
    def _tube(self) -> Tube:
        return Tube.of(self.profile, self.budget, self.q)

    @property
    def worst(self) -> int:
        """The distance k (levels) with the largest gap: eps = g(worst/q) - N[worst]/B exactly."""
        return self._tube.worst(self.N)

    @property
    def eps(self) -> float:
        """max_k g(k/q) - N(k)/B, the largest loss of split probability, as a float."""
        return self._tube.gap(self.N, self.worst)

    def within(self, epsilon: Exact) -> bool:
        """Return whether eps <= `epsilon`, decided in integers; a difference below 2**-60 counts as none."""
        return bool((self._tube.least(as_epsilon(epsilon)) <= self.N).all())

    def outcomes(self) -> Outcomes:
        """Return the list of outcomes: widths ascending, each with all its offsets, infinite ones last."""
        return Outcomes.from_weights(self.weights, self.q, self.budget)

    def to_json(self) -> str:
        """Return a canonical JSON text with the profile in it."""
        data = {
            "format": FORMAT,
            "profile": self.profile.to_dict(),
            "q": self.q,
            "budget": self.budget,
            "weights": [list(pair) for pair in self._weights],
            "method": self.method,
            "optimality": self.optimality,
            "proved": self.proved,
        }
        return json.dumps(data, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Allocation:
        """Return the allocation of a JSON text; the metric is proven and the weights are verified again.

        >>> from ecm.metric import Profile
        >>> allocation = allocate(Profile.from_expr("sqrt(z)"), 100, q=16)
        >>> Allocation.from_json(allocation.to_json()) == allocation
        True
        """
        from ecm.metric import Profile

        with _FORM.reading(text) as data:
            profile, weights = data["profile"], [(j, w) for j, w in data["weights"]]
            q, budget = index(data["q"]), index(data["budget"])
            method, optimality = str(data["method"]), str(data["optimality"])
            proved = bool(data.get("proved", False))  # older texts do not say
        g = Profile.from_dict(profile)
        return cls(g, weights, q, budget, method=method, optimality=optimality, proved=proved)

    def __str__(self) -> str:
        rows = [(str(j), w, j * w) for j, w in self._weights] + [("inf", self.infinite, self.infinite)]
        lines = [f"{j:>5}  {w:>5}  {total:>8}  {total / self.budget:.4f}" for j, w, total in rows]
        k = self.worst
        eps = f"eps = g({k}/{self.q}) - {self.N[k]}/{self.budget} = {self.eps:.6g}"
        return "\n".join(
            [
                f"{self.profile.text}, q = {self.q}, B = {self.budget}",
                "width  count  outcomes  share",
                *lines,
                f"{eps} ({self.method}; {self.optimality})",
            ]
        )

    def __repr__(self) -> str:
        return (
            f"Allocation({self.profile!r}, {self.weights}, q={self.q}, budget={self.budget}, "
            f"method={self.method!r}, optimality={self.optimality!r})"
        )


def allocate(
    profile: Profile,
    budget: int,
    q: int = 255,
    epsilon: Exact | None = None,
    method: Method = "exact",
    *,
    solver: str = "HIGHS",
    seconds: float = 60.0,
) -> Allocation:
    """Return the allocation of `budget` outcomes with the smallest eps = max_k g(k/q) - N(k)/B, on the levels 0..q.

    - "exact": the dynamic program over concave integer sequences; proves the optimum, and among the optima takes the
      one with the largest sum of N(k), that is the smallest mean gap. With `epsilon`: the smallest mean gap of all
      allocations with eps <= epsilon.
    - "mip": the same problem given to CBC or HiGHS (`solver`) for at most `seconds`, the answer verified.
    - "floor": the real solution rounded down; eps < (q^2 + q)/(2B).
    - "slopes": its slopes rounded and clipped; any q in O(q), close to the optimum, no proof.

    With `epsilon`, an allocation that exceeds it raises AllocationError with the smallest eps that the method knows.

    >>> from ecm.metric import Profile
    >>> allocation = allocate(Profile.from_expr("sqrt(z)"), 1000)
    >>> round(allocation.eps, 4), allocation.optimality
    (0.0172, 'proved optimal by the exact program; the largest sum of N(k) of all optima')
    >>> allocate(Profile.from_expr("sqrt(z)"), 1000, epsilon=0.01)
    Traceback (most recent call last):
        ...
    ecm.errors.AllocationError: epsilon = 0.01 is out of reach with a budget of 1000...the smallest possible eps is...
    """
    tube = Tube.of(profile, budget, q)
    least = None if epsilon is None else tube.least(as_epsilon(epsilon))
    if method == "exact":
        found = _exact(tube, least)
    elif method == "mip":
        from ecm.allocation.integer_program import solve

        found = solve(tube, solver, seconds)
    elif method == "floor":
        from ecm.allocation.rounding import floor_weights

        found = Splits(floor_weights(tube), "feasible, within (q^2 + q)/(2B)")
    elif method == "slopes":
        from ecm.allocation.rounding import rounded_slopes

        found = Splits(rounded_slopes(tube), "feasible, not proved optimal")
    else:
        raise AllocationError(f"method = {method!r}: write 'exact', 'mip', 'floor' or 'slopes'")
    allocation = Allocation.from_splits(profile, found, tube.budget, method)
    if least is not None and bool((found.n < least).any()):
        known = "the smallest possible eps is" if found.proved else f"method {method!r} reaches only"
        raise AllocationError(
            f"epsilon = {epsilon} is out of reach with a budget of {budget} at q = {q}: {known} {allocation.eps:.8g} "
            "(a larger budget need not help at once; see smallest_budget)"
        )
    return allocation


def _exact(tube: Tube, least: Ints | None) -> Splits:
    """Return the optimum (`least` None or out of reach), or the smallest mean gap of all N >= `least`."""
    from ecm.allocation.dynamic_program import densest, least_key, sequence
    from ecm.allocation.rounding import rounded_slopes

    if least is not None:
        found = sequence(least, tube.caps)
        if found is not None:
            best = densest(least, tube.caps)
            if best is None:
                return Splits(found, "within epsilon; the largest sum of N(k) not searched (too many states)")
            return Splits(best, "within epsilon; the largest sum of N(k)")
    key, found = least_key(tube, rounded_slopes(tube))
    best = densest(tube.lower(key), tube.caps)
    text = "proved optimal by the exact program; "
    if best is None:
        return Splits(found, text + "the sum of N(k) not maximised (too many states)", proved=True)
    return Splits(best, text + "the largest sum of N(k) of all optima", proved=True)
