"""The metric a user declares: d(x, y) = sum_i g_i(|x_i - y_i|), every g_i a proven concave profile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from ecm.allocation import Allocation, allocate
from ecm.design import Design, Effort, Kind, make_design, smallest_budget
from ecm.errors import ECMError
from ecm.jsontext import JsonForm
from ecm.metric import Profile
from ecm.number import Exact, exact
from ecm.proof import Proof

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecm.law import Law, QuantizedLaw

FORMAT = "ecm-metric/1"
_FORM = JsonForm("a metric", (FORMAT,), ECMError, "pass what ECM.to_json wrote")


def _components(given: Any) -> tuple[Profile, ...]:
    """Return what ECM(...) was given: profiles, formulas, or one of either."""
    if isinstance(given, Profile | str | sympy.Basic):
        given = (given,)
    if not isinstance(given, Iterable):
        raise ECMError(f"ECM({given!r}): give a formula such as 'z**0.5/18', or profiles")
    return tuple(part if isinstance(part, Profile) else Profile.from_expr(part) for part in given)


@attrs.frozen(repr=False)
class ECM:
    """An elementwise-concave metric on [0,1]^n, or on the grid {0, 1/q, ..., 1}^n.

    `components` are the different functions g; `groups` says which feature uses which: `groups[a]` is the component of
    every feature whose index along the first feature axis is a (the channel of a C,H,W image, the column of a table).
    An empty `groups` means one component for all features. A component may be zero: such features may change freely
    and are never shown to the classifier, and d is then a pseudometric.

    >>> metric = ECM.from_expr("z**0.5/18")
    >>> metric == ECM.lp("1/2", 18) == ECM("z**0.5/18")
    True
    >>> metric.expr
    sqrt(z)/18
    >>> metric.distance([0.0, 0.25], [1.0, 0.5])
    0.0833...
    """

    components: tuple[Profile, ...] = attrs.field(converter=_components)
    groups: tuple[int, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not self.components:
            raise ECMError("a metric needs at least one component; write ECM.from_expr('z') for the l1 distance")
        if not self.groups and len(self.components) > 1:
            raise ECMError(
                f"{len(self.components)} components without groups: say which index along the first feature axis uses "
                "which component, as in ECM.grouped([red, green, blue])"
            )
        if self.groups and sorted(set(self.groups)) != list(range(len(self.components))):
            raise ECMError(
                f"groups {self.groups} must name each of the components 0..{len(self.components) - 1} at least once"
            )

    # ---- declare ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_expr(cls, expression: str | sympy.Expr, *, grid: int | None = None, seconds: float = 10.0) -> ECM:
        """Return the metric with g given as a formula in z, proven to be an ECM; the text is parsed, never evaluated.

        `grid=q` proves the conditions only at the points k/q, which is all the quantized method needs.
        `seconds` bounds the time of the proof.

        >>> ECM.from_expr("Min(3*z, 1)/18")
        ECM.from_expr('Min(3*z, 1)/18')
        >>> ECM.from_expr("z**2")
        Traceback (most recent call last):
            ...
        ecm.errors.NotAnECM: ...
        """
        return cls((Profile.from_expr(expression, grid=grid, seconds=seconds),))

    @classmethod
    def lp(cls, p: Exact, alpha: Exact = 1) -> ECM:
        """Return the metric with g = z**p/alpha, 0 < p <= 1: the l_p^p distance over alpha (g is capped at 1).

        >>> ECM.lp("1/3", 6)
        ECM.from_expr('z**(1/3)/6')
        """
        power, scale = exact(p, "p"), exact(alpha, "alpha")
        if not 0 < power <= 1:
            raise ECMError(f"p = {power}: z**p is concave on [0,1] only for 0 < p <= 1; use ECM.l0(alpha) for p = 0")
        if scale <= 0:
            raise ECMError(f"alpha = {scale}: the metric is z**p/alpha, write a positive alpha")
        if scale < 1:
            return cls.from_expr(f"Min(z**({power})/({scale}), 1)")
        return cls.from_expr(f"z**({power})/({scale})")

    @classmethod
    def l1(cls, alpha: Exact = 1) -> ECM:
        """Return the metric with g = z/alpha: the l1 distance over alpha (g is capped at 1).

        >>> ECM.l1(18)
        ECM.from_expr('z/18')
        """
        return cls.lp(1, alpha)

    @classmethod
    def l0(cls, alpha: Exact = 1) -> ECM:
        """Return the metric with g = sign(z)/alpha: the number of changed features over alpha.

        >>> ECM.l0(25)
        ECM.from_expr('sign(z)/25')
        """
        scale = exact(alpha, "alpha")
        if scale < 1:
            raise ECMError(f"alpha = {scale}: g = sign(z)/alpha exceeds 1 unless alpha >= 1; write alpha = 1 or more")
        return cls.from_expr(f"sign(z)/({scale})")

    @classmethod
    def log1p(cls, c: Exact, alpha: Exact = 1) -> ECM:
        """Return the metric with g = log(1 + c*z)/(alpha*log(1 + c)), c > 0, which has g(1) = 1/alpha.

        >>> ECM.log1p(5, 18).distance([0.0], [1.0])
        0.0555...
        """
        slope, scale = exact(c, "c"), exact(alpha, "alpha")
        if slope <= 0 or scale < 1:
            raise ECMError(f"c = {slope}, alpha = {scale}: log1p needs c > 0 and alpha >= 1")
        return cls.from_expr(f"log(1 + ({slope})*z)/log({1 + slope})/({scale})")

    @classmethod
    def from_values(cls, values: Iterable[Exact]) -> ECM:
        """Return the metric known only on the grid: values[k] = g(k/q), k = 0..q, taken exactly.

        >>> ECM.from_values(["0", "1/2", "3/4", "7/8", "7/8"]).quantized(4).infinite
        0.125
        """
        return cls((Profile.from_values(values),))

    @classmethod
    def grouped(cls, metrics: Sequence[ECM | str], groups: Sequence[int] | None = None) -> ECM:
        """Return a metric with its own g per group of features, each given as a metric or a formula.

        `groups[a]` is the group of index a along the first feature axis; by default index a has group a.

        >>> rgb = ECM.grouped([ECM.lp("1/2", 18), "0", ECM.l1(18)])
        >>> rgb.component_of((3, 1, 2)).tolist()
        [0, 0, 1, 1, 2, 2]
        """
        given = [cls.from_expr(metric) if isinstance(metric, str) else metric for metric in metrics]
        if wrong := [metric for metric in given if not isinstance(metric, ECM)]:
            raise ECMError(f"grouped() got {wrong[0]!r}: give metrics, or formulas such as 'z**0.5/18'")
        try:
            chosen = tuple(range(len(given))) if groups is None else tuple(index(a) for a in groups)
        except TypeError as error:
            raise ECMError(f"groups {groups!r} are not places of metrics, integers from 0: {error}") from error
        if any(not 0 <= a < len(given) for a in chosen):
            raise ECMError(f"groups {chosen} name a metric outside 0..{len(given) - 1}")
        if any(metric.groups for metric in given):
            raise ECMError("grouped() takes metrics of one component each; pick one with metric[i]")
        components: list[Profile] = []
        places = []
        for a in chosen:
            profile = given[a].components[0]
            if profile not in components:
                components.append(profile)
            places.append(components.index(profile))
        return cls(tuple(components), tuple(places))

    # ---- algebra that keeps concavity ------------------------------------------------------------------------------

    def _map(self, change: str, *args: Any) -> ECM:
        return attrs.evolve(self, components=tuple(getattr(profile, change)(*args) for profile in self.components))

    def _zip(self, change: str, other: ECM) -> ECM:
        if self.groups != other.groups:
            raise ECMError(
                f"metrics with different groups do not combine: {self.groups} and {other.groups}; group both alike"
            )
        pairs = zip(self.components, other.components, strict=True)
        return attrs.evolve(self, components=tuple(getattr(a, change)(b) for a, b in pairs))

    def __mul__(self, factor: Exact) -> ECM:
        """Return c * d for c >= 0; raises NotAnECM if it exceeds 1 (use `.capped()` on a formula instead)."""
        return self._map("scaled", exact(factor, "factor"))

    __rmul__ = __mul__

    def __truediv__(self, alpha: Exact) -> ECM:
        """Return d / alpha.

        >>> ECM.from_expr("sqrt(z)") / 18
        ECM.from_expr('z**(1/2)/18')
        """
        scale = exact(alpha, "alpha")
        if scale <= 0:
            raise ECMError(f"metric / {scale}: divide by a positive number")
        return self._map("scaled", 1 / scale)

    def __add__(self, other: ECM) -> ECM:
        """Return g + h, where the sum stays at most 1."""
        return self._zip("plus", other)

    @staticmethod
    def minimum(first: ECM, second: ECM) -> ECM:
        """Return the metric with Min(g, h), concave since both are."""
        return first._zip("minimum", second)

    def capped(self) -> ECM:
        """Return the metric with Min(g, 1): the same Lipschitz property for functions with values in [0, 1]."""
        return self._map("capped")

    # ---- look ------------------------------------------------------------------------------------------------------

    def __getitem__(self, component: int) -> ECM:
        """Return the metric of one component alone."""
        return ECM((self.components[component],))

    @property
    def profile(self) -> Profile:
        """The single g, where there is one."""
        if len(self.components) > 1:
            raise ECMError(
                f"this metric has {len(self.components)} components; take one of them, as in metric[0].allocate(...)"
            )
        return self.components[0]

    @property
    def expr(self) -> sympy.Expr:
        """g as a sympy expression in z, where there is one component and it is a formula.

        >>> ECM.from_expr("Min(3*z, 1)/18").expr
        Min(1, 3*z)/18
        """
        return self.profile.expr

    @property
    def proof(self) -> Proof:
        """How each condition was established, component by component."""
        if len(self.components) == 1:
            return self.components[0].proof
        return Proof(
            tuple(
                attrs.evolve(condition, condition=f"g_{i}: {condition.condition}")
                for i, profile in enumerate(self.components)
                for condition in profile.proof.conditions
            )
        )

    @property
    def grid(self) -> int | None:
        """None if every g is known on all of [0,1]; otherwise the q of the grid on which it is."""
        grids = {profile.grid for profile in self.components if profile.grid is not None}
        if len(grids) > 1:
            raise ECMError(f"the components are known on different grids: q = {sorted(grids)}")
        return next(iter(grids), None)

    def component_of(self, shape: Sequence[int]) -> NDArray[np.int64]:
        """Return the component of each feature of that shape, flattened in C order."""
        sizes = tuple(int(n) for n in shape)
        if not self.groups:
            return np.zeros(prod(sizes), dtype=np.int64)
        if not sizes or sizes[0] != len(self.groups):
            raise ECMError(
                f"features of shape {sizes} for a metric that groups {len(self.groups)} indices of the first axis: "
                f"the first axis must have length {len(self.groups)}"
            )
        return np.repeat(np.asarray(self.groups, dtype=np.int64), prod(sizes[1:]))

    def distance(self, x: ArrayLike, y: ArrayLike, q: int | None = None) -> float:
        """Return d(x, y), as a float; x and y lie in [0,1], or are levels 0..q if `q` is given."""
        a, b = np.asarray(x), np.asarray(y)
        if a.shape != b.shape:
            raise ECMError(f"x has shape {a.shape}, y has shape {b.shape}: a distance needs two points of one space")
        if q is None:
            a, b, top = a.astype(np.float64), b.astype(np.float64), 1.0
        else:
            if a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
                raise ECMError(
                    f"with q = {q}, x and y are integer levels 0..{q}; they have dtypes {a.dtype}, {b.dtype}"
                )
            a, b, top = a.astype(np.int64), b.astype(np.int64), float(q)
        both = np.concatenate([a.ravel(), b.ravel()])
        if both.size and not (both.min() >= 0 and both.max() <= top):  # also catches NaN
            raise ECMError(f"x and y must lie in 0..{top:g}; they span {both.min()}..{both.max()}")
        component = self.component_of(a.shape)
        gap = np.abs(a - b).ravel()
        if q is not None:
            return float(sum(p.values(q)[gap[component == i]].sum() for i, p in enumerate(self.components)))
        return float(sum(np.sum(p(gap[component == i])) for i, p in enumerate(self.components)))

    def power(self) -> tuple[Fraction, Fraction] | None:
        """Return (p, alpha) if every feature has g = z**p/alpha exactly, else None: then l_p radii mean something."""
        return self.components[0].power() if len(self.components) == 1 else None

    # ---- derive ----------------------------------------------------------------------------------------------------

    def law(self) -> Law:
        """Return the continuous law of Lambda with P(split at distance z) = g(z)."""
        from ecm.law import Law

        return Law.of(self.profile)

    def quantized(self, q: int = 255) -> QuantizedLaw:
        """Return the law of Lambda on the grid of width 1/q, exactly."""
        from ecm.law import QuantizedLaw

        return QuantizedLaw.of(self.profile, q)

    def floors(self, budget: int, q: int = 255) -> tuple[NDArray[np.int64], ...]:
        """Return floor(budget * g(k/q)), k = 0..q, for every component, exactly: what a sound design may not exceed."""
        return tuple(profile.floors(budget, q) for profile in self.components)

    def allocate(self, budget: int, q: int = 255, **options: Any) -> Allocation:
        """Return integer weights of the widths for a budget of outcomes; see `ecm.allocate`."""
        return allocate(self.profile, budget, q, **options)

    def design(
        self,
        budget: int,
        q: int = 255,
        kind: Kind = "aperiodic",
        seed: int = 0,
        effort: Effort = "fast",
    ) -> Design:
        """Return `budget` outcomes for every component whose splits never exceed budget * g; see `ecm.make_design`."""
        return make_design(self, budget, q, kind=kind, seed=seed, effort=effort)

    def smallest_budget(self, epsilon: float, q: int = 255, kind: Kind = "aperiodic", **options: Any) -> int:
        """Return the smallest budget whose design of that kind comes within epsilon of g; see `ecm.smallest_budget`."""
        return smallest_budget(self, epsilon, q, kind=kind, **options)

    def plot(self, q: int = 255, budget: int | None = None) -> Figure:
        """Draw g, the split probability, the laws of Lambda, the allocation and its gap in one figure."""
        from ecm.figure import plot

        return plot(self, q=q, budget=budget)

    # ---- keep ------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return a canonical JSON text; equal metrics have equal texts."""
        parts = [profile.to_dict() for profile in self.components]
        return json.dumps({"format": FORMAT, "components": parts, "groups": list(self.groups)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ECM:
        """Return the metric of a JSON text, proven again.

        >>> metric = ECM.lp("1/2", 18)
        >>> ECM.from_json(metric.to_json()) == metric
        True
        """
        with _FORM.reading(text) as data:
            parts, groups = list(data["components"]), tuple(index(a) for a in data["groups"])
        return cls(tuple(Profile.from_dict(part) for part in parts), groups)

    def _repr_latex_(self) -> str:
        return "$" + r",\quad ".join(rf"g_{{{i}}}(z) = {p.latex()}" for i, p in enumerate(self.components)) + "$"

    def latex(self) -> str:
        """Return LaTeX of g (of all components, separated by quads)."""
        return r",\quad ".join(profile.latex() for profile in self.components)

    def __str__(self) -> str:
        return " | ".join(profile.text for profile in self.components)

    def __repr__(self) -> str:
        if not self.groups:
            return f"ECM.{self.components[0].source()}"
        inner = ", ".join(f"ECM.{profile.source()}" for profile in self.components)
        return f"ECM.grouped([{inner}], groups={self.groups})"


Design.read_metric = ECM.from_json
