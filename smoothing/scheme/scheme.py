"""A scheme: everything that fixes the smoothed function, in one frozen object with a fingerprint."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cached_property
from operator import index
from typing import Any, Literal, get_args

import attrs
import numpy as np
from numpy.typing import ArrayLike

from ecm import ECM
from ecm.allocation import Outcomes
from ecm.arrays import Ints, Shorts
from ecm.design import Design
from ecm.jsontext import JsonForm
from ecm.number import Exact, exact
from smoothing.errors import SchemeError
from smoothing.scheme.facts import facts_of, fingerprint_of
from smoothing.scheme.lattice import Grid, Lattice, class_count, find_lattice

Coupling = Literal["spread", "independent", "permutation", "global"]
Order = Literal["graded", "interleaved", "published"]
Representation = Literal["upper_lower", "center", "center_center", "center_error"]

# The second word of the seeds of the streams that are not the offsets (whose plain seed is a published convention).
_ORDER_STREAM, _PERMUTATION_STREAM = 1, 2
LARGEST_LIST = 1 << 22  # samples: as many evaluations of the base for every image
LARGEST_INPUT = 1 << 22  # features: every one has an offset of its own
FORMAT = "ecm-scheme-2"
_FORM = JsonForm("a scheme", (FORMAT,), SchemeError, "pass what Scheme.to_json wrote")


def _sizes(shape: Iterable[int]) -> tuple[int, ...]:
    try:
        return tuple(index(n) for n in shape)
    except TypeError as error:
        raise SchemeError(f"shape {shape!r}: write the shape of one input, e.g. (3, 32, 32) or (12,)") from error


def _one_of(literal: Any) -> Any:
    def check(_: object, attribute: Any, value: object) -> None:
        if value not in get_args(literal):
            raise SchemeError(f"{attribute.name} = {value!r} is unknown; write one of {', '.join(get_args(literal))}")

    return check


@attrs.frozen(slots=False)
class Scheme:
    """A scheme of noise: which outcome each feature uses at each sample, and how the network sees the result.

    A *sample* t is one evaluation of the base classifier, t = 0..`samples`-1; with `weights` None every sample counts
    once and there are B = `design.budget` of them. A *site* is what owns an offset: a feature, or with `pixel` all
    features that share every index but the first (the channels of a pixel). Features are numbered in C,H,W order.

    - `spread` (the default): the feature at site i uses entry `(t + offset_i) mod B` of its component's list of
      outcomes. Offsets and list are chosen so that the features shown at a sample form a lattice over the input
      (`lattice(component)`): each sample is a regular view of all of it.
    - `independent`: the same, with `offset = numpy.random.RandomState(seed).randint(B, size=sites)`, a stream that
      NumPy has frozen; this is the published choice.
    - `permutation`: entry `pi_i(t)`, with an independent seeded permutation a site.
    - `global`: one width (Lambda) for all features. A sample is a (width j, phase s), its weight the allocation's w_j,
      and site i uses phase `(s + offset_i) mod j`; one more sample, without dividers, carries the rest of B.

    `order` is how a list is arranged: `published` as the design has it (widths ascending), `interleaved` by a seeded
    shuffle, for every component its own, and `graded` (spread only, and its default) with the outcomes of most dividers
    first. Independent offsets are better interleaved: the samples that a feature touches are then scattered.

    Whatever the choice, every feature sees every outcome of its list exactly once over all samples (global: with the
    same total weight), and that is all the guarantee needs: changing x_i to y_i touches c(x_i, y_i) samples of B.

    >>> scheme = Scheme.l1(2, shape=(3,), q=4)
    >>> scheme
    Scheme(spread graded, B=8, q=4, shape=(3,), upper_lower, seed=0)
    >>> sorted(scheme.outcome(1, range(8)).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    >>> Scheme.from_json(scheme.to_json()) == scheme
    True
    """

    design: Design = attrs.field(repr=False)
    shape: tuple[int, ...] = attrs.field(converter=_sizes)
    coupling: Coupling = attrs.field(default="spread", validator=_one_of(Coupling), kw_only=True)
    order: Order = attrs.field(validator=_one_of(Order), kw_only=True)
    seed: int = attrs.field(default=0, kw_only=True)
    pixel: bool = attrs.field(default=False, kw_only=True)
    representation: Representation = attrs.field(default="upper_lower", validator=_one_of(Representation), kw_only=True)

    @order.default
    def _usual_order(self) -> Order:
        return "graded" if self.coupling == "spread" else "interleaved"

    def __attrs_post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1:
            raise SchemeError(f"shape {self.shape}: write the shape of one input, e.g. (3, 32, 32) or (12,)")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            raise SchemeError(f"seed = {self.seed!r}: seeds are integers in 0..2**32-1")
        if not isinstance(self.pixel, bool):
            raise SchemeError(f"pixel = {self.pixel!r}: write True (channels share offsets) or False")
        if self.coupling != "global" and self.total > LARGEST_LIST:
            raise SchemeError(
                f"B = {self.total}: each of {self.total} samples is one evaluation of the base, and lists of up to "
                f"{LARGEST_LIST} are kept; take a smaller budget"
            )
        if self.order == ("published" if self.coupling == "spread" else "graded"):
            raise SchemeError(
                f"order {self.order!r} does not go with the coupling {self.coupling!r}: a spread coupling is 'graded' "
                "or 'interleaved', the others are 'interleaved' or 'published'"
            )
        if self.pixel and len(self.shape) < 2:
            raise SchemeError(f"pixel=True shares offsets over the first axis, but shape {self.shape} has only one")
        if self.pixel and len(self.design.outcomes) > 1:
            raise SchemeError(
                "pixel=True with a metric of several components: the channels of a pixel would not share outcomes, "
                "and the cost g(1) a pixel would be false; use one component for all channels"
            )
        if self.coupling == "global" and (self.design.weights is None or len(self.design.outcomes) > 1):
            raise SchemeError(
                "a global Lambda needs a periodic design of one component: metric.design(kind='periodic')"
            )
        if self.features > LARGEST_INPUT:
            raise SchemeError(f"shape {self.shape}: an input has {self.features} features, at most {LARGEST_INPUT} fit")
        self.metric.component_of(self.shape)  # refuses a shape that the metric's groups do not fit

    @classmethod
    def l1(cls, alpha: Exact, shape: tuple[int, ...], q: int = 255, **choices: Any) -> Scheme:
        """Return the scheme of d = ||x - y||_1 / alpha, with a fixed Lambda; `choices` are its other fields.

        For alpha >= 1 these are width 1 with all its q offsets, and B - q outcomes without a divider, B = alpha*q; for
        alpha < 1 (where g = Min(z/alpha, 1)) width alpha with all its B = alpha*q offsets. If alpha*q is not an
        integer, B is the next one above it: two levels k apart are then split by k/B, rounded down from k/(alpha*q).

        >>> [Scheme.l1(alpha, shape=(3,), q=5).total for alpha in (2, "3/2", "1/2")]
        [10, 8, 3]
        """
        scale = exact(alpha, "alpha")
        if scale <= 0:
            raise SchemeError(f"alpha = {alpha}: the metric is z/alpha, write a positive alpha")
        budget = math.ceil(scale * q)
        return cls(Design.from_weights(ECM.l1(scale), {min(q, budget): 1}, q, budget), shape, **choices)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its JSON: whatever a pickle holds, no scheme is made whose design was not verified."""
        return Scheme.from_json, (self.to_json(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Scheme:
        """Nothing of a scheme can change, so it is its own copy."""
        return self

    @property
    def metric(self) -> ECM:
        """The metric d in which the smoothed shares are 1-Lipschitz."""
        return self.design.metric

    @property
    def q(self) -> int:
        """Levels are 0..q."""
        return self.design.q

    @property
    def total(self) -> int:
        """B: the sum of the samples' weights."""
        return self.design.budget

    @property
    def features(self) -> int:
        """Number of features of an input."""
        return math.prod(self.shape)

    @property
    def sites(self) -> int:
        """Number of offsets (or permutations): one per feature, or one per pixel."""
        return self.features // self.shape[0] if self.pixel else self.features

    @cached_property
    def component(self) -> Ints:
        """Component of the metric that each feature belongs to, [features]."""
        return _fixed(self.metric.component_of(self.shape))

    @cached_property
    def site(self) -> Ints:
        """Site of each feature, [features]."""
        return _fixed(np.arange(self.features) % self.sites)

    @property
    def cyclic(self) -> bool:
        """Whether the feature at site i uses entry `(t + offset_i) mod B` of its component's list at sample t."""
        return self.coupling in ("spread", "independent")

    @cached_property
    def _lattices(self) -> tuple[Lattice, ...]:
        grid = Grid.of(self.shape, self.pixel)
        return tuple(find_lattice(grid, *class_count(self.total, outcomes.finite)) for outcomes in self.design.outcomes)

    def lattice(self, component: int = 0) -> Lattice:
        """Return how the features of a component are shown in turn by the spread coupling.

        >>> from ecm import ECM
        >>> Scheme(ECM.l0(18).design(18), (3, 32, 32)).lattice()
        Lattice(classes=18, width=1, steps=(1, 5), channel=8, distance=18, across=4)
        """
        if self.coupling != "spread":
            raise SchemeError(f"the coupling is {self.coupling!r}: only a spread coupling has a lattice")
        return self._lattices[component]

    @cached_property
    def offsets(self) -> Ints:
        """Offset of each site in 0..B-1, [sites] (unused by `permutation`)."""
        if self.coupling == "spread":
            grid, component = Grid.of(self.shape, self.pixel), self.component[: self.sites]
            each = np.stack([lattice.offsets(grid, self.total) for lattice in self._lattices])
            return _fixed(each[component, np.arange(self.sites)])
        return _fixed(np.random.RandomState(self.seed).randint(self.total, size=self.sites, dtype=np.int64))

    @cached_property
    def shown(self) -> Ints:
        """Number of features that have a divider at each sample, [samples] (of a cyclic coupling)."""
        total = np.zeros(self.total)
        for component, outcomes in enumerate(self.design.outcomes):
            # At sample t a feature uses position t + offset of the list: the sums over all features are a correlation.
            finite = np.fft.rfft(self.lists[component] < outcomes.finite)
            features = self.offsets[self.site[self.component == component]]
            used = np.fft.rfft(np.bincount(features, minlength=self.total))
            total += np.fft.irfft(finite * used.conj(), self.total)
        return _fixed(total.round())

    @cached_property
    def lists(self) -> Ints:
        """The arranged lists of outcomes: entry [component, position] is an outcome id in 0..B-1, and ids from the
        component's `finite` on have no divider. [components, B]."""
        if self.coupling == "spread":
            return _fixed(np.stack([self._spread_list(c) for c in range(len(self.design.outcomes))]))
        return _fixed(np.stack([self._arranged(self.total, c) for c in range(len(self.design.outcomes))]))

    def _spread_list(self, component: int) -> Ints:
        """Return the list: entry K*j + s, s < width, is finite while outcomes remain; all others have no divider."""
        outcomes, lattice = self.design.outcomes[component], self._lattices[component]
        slots = lattice.slots(self.total)
        dividers = np.zeros(len(slots), dtype=np.int64)
        dividers[: outcomes.finite] = outcomes.dividers
        found = np.full(self.total, -1, dtype=np.int64)
        graded = self.order == "graded"
        found[slots] = np.argsort(-dividers, kind="stable") if graded else self._arranged(len(slots), component)
        found[found < 0] = np.arange(len(slots), self.total)
        return found

    @cached_property
    def combs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Width (levels), phase, first outcome of the width, and weight of every sample of the `global` coupling."""
        assert self.design.weights is not None
        allocation = {j: w for j, w in sorted(self.design.weights[0].items()) if w}
        columns, first = [], 0
        for j, w in allocation.items():
            columns.append(np.stack([np.full(j, j), np.arange(j), np.full(j, first), np.full(j, w)]))
            first += j * w
        if first < self.total:
            columns.append(np.array([[1], [0], [first], [self.total - first]]))
        table = np.concatenate(columns, axis=1).astype(np.int64)
        width, phase, start, weight = (_fixed(row) for row in table[:, self._arranged(table.shape[1], 0)])
        return width, phase, start, weight

    @property
    def samples(self) -> int:
        """T: how many evaluations of the base classifier make up the smoothed one."""
        return len(self.combs[0]) if self.coupling == "global" else self.total

    @property
    def weights(self) -> Ints | None:
        """Integer weight of every sample, summing to `total`; None if all are 1."""
        return self.combs[3] if self.coupling == "global" else None

    def _arranged(self, length: int, component: int) -> Ints:
        if self.order == "published":
            return np.arange(length, dtype=np.int64)
        return np.random.RandomState([self.seed, _ORDER_STREAM, component]).permutation(length).astype(np.int64)

    def permutation(self, site: int) -> Ints:
        """Return the positions pi_site(0..B-1) of the `permutation` coupling."""
        stream = np.random.RandomState([self.seed, _PERMUTATION_STREAM, site])
        return stream.permutation(self.total).astype(np.int64)

    def outcome(self, features: ArrayLike, samples: ArrayLike) -> Ints:
        """Id of the outcome that `features` use at `samples` (the two broadcast) in the list of their component.

        Ids 0..finite-1 are the rows of `design.outcomes[component]`; any id >= finite has no divider.
        """
        feature, sample = np.asarray(features, dtype=np.int64), np.asarray(samples, dtype=np.int64)
        site, component = self.site[feature], self.component[feature]
        if self.coupling == "global":
            width, phase, start, _ = self.combs
            return np.asarray(start[sample] + (phase[sample] + self.offsets[site]) % width[sample], dtype=np.int64)
        if self.cyclic:
            return np.asarray(self.lists[component, (sample + self.offsets[site]) % self.total], dtype=np.int64)
        site, component, sample = np.broadcast_arrays(site, component, sample)
        position = np.empty(site.shape, dtype=np.int64)
        distinct, inverse = np.unique(site, return_inverse=True)
        by_site = np.split(np.argsort(inverse, axis=None, kind="stable"), np.cumsum(np.bincount(inverse.ravel()))[:-1])
        for i, where in zip(distinct, by_site, strict=True):
            position.flat[where] = self.permutation(int(i))[sample.flat[where]]
        return np.asarray(self.lists[component, position], dtype=np.int64)

    def rows(self, component: int = 0) -> tuple[Shorts, Shorts]:
        """Return lookup rows `level -> (lower, upper)` in half-steps, [finite + 1, q + 1] each; the last row is (0,
        2q).

        >>> lower, upper = Scheme.l1(1, shape=(1,), q=2).rows()
        >>> lower.tolist(), upper.tolist()
        ([[0, 1, 1], [0, 0, 3], [0, 0, 0]], [[1, 4, 4], [3, 3, 4], [4, 4, 4]])
        """
        return lookup_rows(self.design.outcomes[component])

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over everything that fixes the smoothed function of a base classifier and its certificates: the
        facts that the checker is given (see `smoothing.scheme_facts`), from which it computes the same."""
        return fingerprint_of(facts_of(self))

    def _choices(self) -> dict[str, Any]:
        return attrs.asdict(self, filter=lambda a, _: a.name != "design") | {"shape": list(self.shape)}

    def to_json(self) -> str:
        """Return the scheme with its whole design, as JSON text."""
        design = json.loads(self.design.to_json())
        return json.dumps({"format": FORMAT, **self._choices(), "design": design, "fingerprint": self.fingerprint})

    @classmethod
    def from_json(cls, text: str) -> Scheme:
        """Read `to_json`; the design is verified anew and the stored fingerprint must agree."""
        with _FORM.reading(text) as fields:
            fingerprint = fields.pop("fingerprint")
            del fields["format"]
            scheme = cls(design=Design.from_json(json.dumps(fields.pop("design"))), **fields)
        if scheme.fingerprint != fingerprint:
            raise SchemeError(
                f"the stored fingerprint is {fingerprint}, the scheme's is {scheme.fingerprint}: not the same"
            )
        return scheme

    def __repr__(self) -> str:
        pixel = " pixel" if self.pixel else ""
        return (
            f"Scheme({self.coupling}{pixel} {self.order}, B={self.total}, q={self.q}, shape={self.shape}, "
            f"{self.representation}, seed={self.seed})"
        )


def lookup_rows(outcomes: Outcomes) -> tuple[Shorts, Shorts]:
    """Return `level -> (lower, upper)` of every finite outcome and, last, of the one without dividers. Half-steps:
    level v is 2v, the divider in gap e stands at 2e-1, the ends are 0 and 2q."""
    q, rows = outcomes.q, outcomes.finite
    lower = np.zeros((rows + 1, q + 1), dtype=np.int32)
    upper = np.full((rows + 1, q + 1), 2 * q, dtype=np.int32)
    row = np.repeat(np.arange(rows), np.diff(outcomes.starts))
    lower[row, outcomes.gaps] = 2 * outcomes.gaps - 1
    upper[row, outcomes.gaps - 1] = 2 * outcomes.gaps - 1
    np.maximum.accumulate(lower, axis=1, out=lower)
    upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
    return lower, np.ascontiguousarray(upper)


def _fixed(array: ArrayLike) -> Ints:
    """Return a read-only int64 copy: a frozen object must not hand out its insides for writing."""
    fixed = np.array(array, dtype=np.int64)
    fixed.setflags(write=False)
    return fixed
