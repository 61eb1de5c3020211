"""Verification of a user's own metric, floor by floor: this file holds the checks of the `ecm` floor and the runner.

A check of this floor never repeats the computation that it judges: caps are judged by exact comparisons, designs by
counting separated pairs outcome by outcome, laws by the derivatives of the formula. Other floors add their checks
through the entry point group `ecm.checks`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from importlib.metadata import entry_points

import attrs
import numpy as np
import sympy
from flint import arb

from ecm.allocation import Allocation, Outcomes, check_size
from ecm.design import Design
from ecm.elementwise import ECM
from ecm.errors import ECMError
from ecm.formula import Z, as_ball, ball_of, derivative, precision, sign, size
from ecm.metric import Profile
from ecm.proof import Piece
from ecm.verification.report import Check, Counterexample, Evidence, Finding, How, Report, run_checks

__all__ = ["CHECKS", "Check", "Counterexample", "Evidence", "Finding", "Report", "Setting", "all_checks", "verify"]


@attrs.frozen(slots=False)
class Setting:
    """What a run verifies: the metric on the levels 0..q with a budget of outcomes, and how much it may sample.

    `examples` is the number of Hypothesis examples a sampled property gets; `quick` leaves out the slow solvers.

    >>> setting = Setting(ECM.l1(2), q=4, budget=8)
    >>> setting.design.budget, [part.eps for part in setting.allocations]
    (8, [0.0])
    """

    metric: ECM
    q: int
    budget: int
    examples: int = 200
    seed: int = 0
    quick: bool = False

    @cached_property
    def profiles(self) -> tuple[tuple[str, Profile], ...]:
        """The components that are not zero, with a name for messages."""
        named = [(f"component {i} " if self.metric.groups else "", p) for i, p in enumerate(self.metric.components)]
        return tuple((name, p) for name, p in named if not p.is_zero)

    @cached_property
    def allocations(self) -> tuple[Allocation, ...]:
        """The periodic allocation of every component that is not zero."""
        return tuple(ECM((p,)).allocate(self.budget, self.q) for _, p in self.profiles)

    @cached_property
    def design(self) -> Design:
        """The default design of the metric."""
        return self.metric.design(self.budget, self.q, seed=self.seed)


# ---- the metric ----------------------------------------------------------------------------------------------------


def _conditions(setting: Setting) -> Evidence:
    methods = []
    for _, profile in setting.profiles:
        again = Profile.from_dict(profile.to_dict())  # proves from the text, with nothing carried over
        methods += [f"{c.condition}: {c.method}" for c in again.proof]
    how: How = "rigorous bounds" if any(method.endswith("interval bounds") for method in methods) else "symbolic proof"
    return Evidence(how, len(methods), "; ".join(dict.fromkeys(methods)))


def _grid_conditions(setting: Setting) -> Evidence:
    cases, q = 0, setting.q
    for name, profile in setting.profiles:
        g = [profile.exact(k, q) for k in range(q + 1)]
        if sign(g[0]) != 0:
            raise Counterexample(f"{name}g(0) = {g[0]}")
        if sign(g[q] - 1) > 0:
            raise Counterexample(f"{name}g(1) = {g[q]} > 1")
        for k in range(1, q + 1):
            if sign(g[k] - g[k - 1]) < 0:
                raise Counterexample(f"{name}g({k}/{q}) = {g[k]} < g({k - 1}/{q}) = {g[k - 1]}")
        for k in range(1, q):
            if sign(g[k - 1] + g[k + 1] - 2 * g[k]) > 0:
                raise Counterexample(f"{name}2 g({k}/{q}) < g({k - 1}/{q}) + g({k + 1}/{q})")
        cases += 2 * q + 1
    return Evidence("exhaustive", cases, "exact signs of all first and second differences")


def _triangle(setting: Setting) -> Evidence:
    cases, q = 0, setting.q
    if q > 4095:
        return Evidence("not checked", 0, f"{q * q // 4:,} pairs of distances; implied by concavity and g(0) = 0")
    for name, profile in setting.profiles:
        low = profile.floors(1 << 40, q)
        for a in range(1, q // 2 + 1):
            b = np.arange(a, q - a + 1)
            cases += len(b)
            close = b[low[a] + low[b] <= low[a + b]]  # floors lie within 1 of the truth, so the others are settled
            for c in close.tolist():
                if sign(profile.exact(a, q) + profile.exact(c, q) - profile.exact(a + c, q)) < 0:
                    raise Counterexample(f"{name}g({a + c}/{q}) > g({a}/{q}) + g({c}/{q})")
    return Evidence("exhaustive", cases, "g(a+b) <= g(a) + g(b) on the grid; symmetry since d reads |x - y|")


# ---- the laws of Lambda --------------------------------------------------------------------------------------------


def _continuous(setting: Setting) -> Evidence:
    pieces = numeric = 0
    for name, profile in setting.profiles:
        if profile.grid is not None:
            return Evidence("not checked", 0, "g is known on a grid only, where Lambda has no continuous law")
        law = ECM((profile,)).law()
        found = {density.lower: density.formula for density in law.densities}
        for piece in profile.pieces():
            pieces += 1
            formula = found.pop(piece.left.number, sympy.Integer(0)).doit()
            if not _vanishes(formula + Z * derivative(derivative(piece.expr))):
                numeric += 1
                _same_values(formula, piece, f"{name}the density {formula}")
        if found:
            raise Counterexample(f"{name}densities {found} stand where g has no smooth piece")
        mass = sympy.Add(*(d.mass for d in law.densities), *(a.mass for a in law.atoms))
        if not _vanishes(mass - 1):
            numeric += 1
            if not abs((mass - 1).evalf(50)) <= 1e-9:
                raise Counterexample(f"{name}the law of Lambda has total mass {mass.evalf(20)}")
    if numeric:
        return Evidence(
            "numeric", pieces, f"{numeric} of the identities to 1e-9, at 15 points a piece; else symbolically"
        )
    return Evidence("symbolic proof", pieces, "density = -z g'' on every smooth piece, total mass = 1")


_MOST_PARTS = 120  # of an identity that sympy is asked to show; it knows no time limit


def _vanishes(difference: sympy.Expr) -> bool:
    """Return whether sympy shows that the expression is 0 (False: not shown)."""
    return size(difference) <= _MOST_PARTS and bool(sympy.simplify(difference) == 0)


def _same_values(formula: sympy.Expr, piece: Piece, what: str) -> None:
    """The formula in sympy's arithmetic against -z g'' in ball arithmetic, at 15 points of the piece."""
    left, right = Fraction(float(piece.left)), Fraction(float(piece.right))
    second = derivative(derivative(piece.expr))
    with precision(256):
        for i in range(1, 16):
            x = left + (right - left) * Fraction(i, 16) ** 3
            true = -as_ball(x) * ball_of(second, as_ball(x))
            value = formula.evalf(30, subs=dict.fromkeys(formula.free_symbols, x))
            if not value.is_real or not abs(arb(str(value)) - true) <= (1 + abs(true)) * 1e-9:
                raise Counterexample(
                    f"{what} is {value} at z = {float(x):.8g}, where -z g'' = {true.str(8, radius=False)}"
                )


def _split_by_definition(setting: Setting) -> Evidence:
    if any(profile.grid is not None for _, profile in setting.profiles):
        return Evidence("not checked", 0, "g is known on a grid only, where Lambda has no continuous law")
    points = [k / 64 for k in range(65)] + [2.0**-k for k in range(7, 21)]
    for name, profile in setting.profiles:
        law = ECM((profile,)).law()
        near = float(law.cdf(1e-140)) - float(law.start)
        if near > 1e-8:
            return Evidence(
                "not checked", 0, f"{name}P(0 < Lambda < 1e-140) = {near:.2g} is out of a quadrature's reach"
            )
        for z in points:
            value, g = law.integrated_split(z), float(profile(z))
            if abs(value - g) > 1e-7:
                raise Counterexample(f"{name}split({z}) = {value} by quadrature, g({z}) = {g}")
    cases = len(points) * len(setting.profiles)
    return Evidence("numeric", cases, "quadrature of the density and the atoms agrees with g to 1e-7")


def _quantized(setting: Setting) -> Evidence:
    cases, q = 0, setting.q
    for name, profile in setting.profiles:
        law = ECM((profile,)).quantized(q)
        for k, split in enumerate(law.splits()):
            expected = ((k, Fraction(1)),) if k else ()
            if split.constant or split.terms != expected:
                raise Counterexample(f"{name}split({k}/{q}) = {split}")
        finite, infinite = law.cdf(q), law.probability(law.INFINITE)
        opposite = tuple((k, -c) for k, c in infinite.terms)
        if finite.constant + infinite.constant != 1 or finite.terms != opposite:
            raise Counterexample(f"{name}the probabilities add up to {finite} + {infinite}")
        cases += q + 2
    return Evidence("exhaustive", cases, "split(k/q) = g(k/q) and total = 1 as identities in the values of g")


# ---- allocations and designs ---------------------------------------------------------------------------------------


def _floors(setting: Setting) -> Evidence:
    cases, q, budget = 0, setting.q, setting.budget
    for name, profile in setting.profiles:
        for k, cap in enumerate(profile.floors(budget, q).tolist()):
            if not profile.at_least(k, q, Fraction(cap, budget)):
                raise Counterexample(f"{name}floor(B g({k}/{q})) = {cap} is too large for B = {budget}")
            if profile.at_least(k, q, Fraction(cap + 1, budget)):
                raise Counterexample(f"{name}floor(B g({k}/{q})) = {cap} is too small for B = {budget}")
            cases += 1
    return Evidence("exhaustive", cases, "caps of every distance against exact comparisons")


def _allocation(setting: Setting) -> Evidence:
    cases, q, budget = 0, setting.q, setting.budget
    for (name, profile), allocation in zip(setting.profiles, setting.allocations, strict=True):
        weights = allocation.weights
        if any(w < 0 or not 1 <= j <= q for j, w in weights.items()) or sum(j * w for j, w in weights.items()) > budget:
            raise Counterexample(f"{name}weights {weights} do not fit q = {q}, B = {budget}")
        for k in range(q + 1):
            n = sum(w * min(j, k) for j, w in weights.items())
            if n != allocation.N[k]:
                raise Counterexample(f"{name}N({k}) = {n}, the allocation says {allocation.N[k]}")
            if not profile.at_least(k, q, Fraction(n, budget)):
                raise Counterexample(f"{name}N({k}) = {n} > B g({k}/{q}), B = {budget}, weights {weights}")
        cases += q + 1
    eps = max((allocation.eps for allocation in setting.allocations), default=0.0)
    return Evidence("exhaustive", cases, f"N(k) <= B g(k/q) at every distance; eps = {eps:.5f}")


def _optimality(setting: Setting) -> Evidence:
    if setting.quick:
        return Evidence("not checked", 0, "left out of a quick run")
    for (name, profile), exact in zip(setting.profiles, setting.allocations, strict=True):
        if not exact.proved:
            return Evidence("not checked", 0, f"the exact program: {exact.optimality}")
        try:
            other = ECM((profile,)).allocate(setting.budget, setting.q, method="mip", solver="HIGHS", seconds=20)
        except ECMError as error:
            return Evidence("not checked", 0, f"the solver did not finish: {error}")
        if not other.proved:
            return Evidence("not checked", 0, f"the solver: {other.optimality}")
        if abs(other.eps - exact.eps) * setting.budget > 1e-4:
            raise Counterexample(f"{name}exact program eps = {exact.eps}, MILP eps = {other.eps}")
    return Evidence("exact check", len(setting.profiles), "the exact program and HiGHS prove the same eps")


def separated_pairs(outcomes: Outcomes) -> np.ndarray:
    """Return c(x, y) for all levels x, y, counted outcome by outcome: levels differ iff a divider stands between
    them."""
    q = outcomes.q
    count = np.zeros((q + 1, q + 1), dtype=np.int64)
    for row in outcomes.rows():
        bins = np.zeros(q + 1, dtype=np.int64)
        bins[row] = 1
        bins = np.cumsum(bins)
        count += bins[:, None] != bins[None, :]
    return count


def _pairs(setting: Setting, outcomes: tuple[Outcomes, ...]) -> int:
    q, budget, cases = setting.q, setting.budget, 0
    for profile, part in zip(setting.metric.components, outcomes, strict=True):
        if (part.q, part.budget) != (q, budget):
            raise Counterexample(f"the design has q = {part.q}, B = {part.budget}, not q = {q}, B = {budget}")
        count = separated_pairs(part)
        for k in range(q + 1):
            diagonal = np.diagonal(count, k)
            x = int(diagonal.argmax())
            if not profile.at_least(k, q, Fraction(int(diagonal[x]), budget)):
                raise Counterexample(f"c({x}, {x + k}) = {diagonal[x]} > B g({k}/{q}), B = {budget}")
            if (diagonal.max(), diagonal.min()) != (part.most[k], part.least[k]):
                raise Counterexample(f"at distance {k} the design reports {part.least[k]}..{part.most[k]} splits")
        cases += q * (q + 1) // 2
    return cases


def _aperiodic(setting: Setting) -> Evidence:
    if setting.q > 4095:
        return Evidence("not checked", 0, f"q = {setting.q} has too many pairs for a second count")
    cases = _pairs(setting, setting.design.outcomes)
    return Evidence(
        "exhaustive", cases, f"all pairs of levels, {setting.design.kind}; eps = {setting.design.eps_max:.5f}"
    )


def _periodic(setting: Setting) -> Evidence:
    if setting.q > 4095:
        return Evidence("not checked", 0, f"q = {setting.q} has too many pairs for a second count")
    parts = iter(setting.allocations)
    outcomes = tuple(
        Outcomes.from_rows([], setting.q, setting.budget) if p.is_zero else next(parts).outcomes()
        for p in setting.metric.components
    )
    return Evidence("exhaustive", _pairs(setting, outcomes), "all pairs of levels, periodic outcomes of the allocation")


CHECKS: tuple[Check[Setting], ...] = (
    Check("metric", "g(0) = 0, increasing, concave, g <= 1, proven from the text", _conditions),
    Check("metric", "the same conditions at every k/q", _grid_conditions),
    Check("metric", "triangle inequality", _triangle),
    Check("law", "the density is -z g'' and the law of Lambda has mass 1", _continuous),
    Check("law", "P(split) = g by its definition", _split_by_definition),
    Check("law", "the quantized law splits with probability g(k/q)", _quantized),
    Check("allocation", "the caps are floor(B g(k/q))", _floors),
    Check("allocation", "the allocation never exceeds B g", _allocation),
    Check("allocation", "the allocation is optimal", _optimality),
    Check("design", "the design never splits a pair more often than B g", _aperiodic),
    Check("design", "the periodic design never splits a pair more often than B g", _periodic),
)


def all_checks() -> Iterator[Check[Setting]]:
    """Yield the checks of this floor, then those that installed packages add through `ecm.checks`.

    >>> next(all_checks()).claim
    'g(0) = 0, increasing, concave, g <= 1, proven from the text'
    """
    yield from CHECKS
    for point in sorted(entry_points(group="ecm.checks"), key=lambda p: p.name):
        yield from point.load()


def verify(
    metric: ECM | str,
    q: int = 255,
    budget: int | None = None,
    *,
    examples: int | None = None,
    seed: int = 0,
    minutes: float | None = None,
    quick: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Go through every layer for this metric and say, property by property, how it was established.

    >>> report = verify("z**0.5/2", q=8, budget=60, quick=True, examples=5)
    >>> report.passed
    True
    """
    from ecm.design import default_budget

    declared = ECM.from_expr(metric) if isinstance(metric, str) else metric
    count = examples if examples is not None else (20 if quick else 200)
    budget, q = check_size(budget if budget is not None else default_budget(declared, q), q)
    setting = Setting(declared, q, budget, count, seed, quick)
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    findings = tuple(run_checks(all_checks(), setting, deadline, progress))
    settings = {"q": setting.q, "budget": setting.budget, "examples": count, "seed": seed, "quick": quick}
    return Report(str(declared), settings, findings)
