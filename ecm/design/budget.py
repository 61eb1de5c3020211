"""How many outcomes are worth their forward passes: good budgets, and the smallest one for an eps."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from ecm.allocation import LARGEST_BUDGET, whole
from ecm.design.design import Kind
from ecm.design.greedy_start import worst_gap
from ecm.design.lower_bound import feasible, least_gap
from ecm.design.search import LARGEST_SEARCH, Effort, construct
from ecm.errors import DesignError
from ecm.number import exact

if TYPE_CHECKING:
    from ecm.elementwise import ECM

PER_ALPHA = 128
LOSS = 1 / 8
DENSE = 8  # dividers a gap
TIE = 1e-9  # B g(1/q) counts as whole this close below a whole number; the exact caps decide later


def _first_slopes(metric: ECM, q: int) -> list[float]:
    """Return g(1/q) of every component that is not zero."""
    return [float(p.values(q)[1]) for p in metric.components if not p.is_zero]


def _a_little_above(metric: ECM, budget: int, q: int) -> int:
    """Return the first of budget, and a few outcomes more, whose lower bound is near the least of them.

    At B = m/g(1/q) exactly, a strictly concave g leaves no room at two levels, three levels, ...; a few outcomes above
    it does. From 8 dividers a gap on, and on grids too large for the bound, the budget stays as it is.
    """
    if q > LARGEST_SEARCH or budget * min(_first_slopes(metric, q)) >= DENSE:
        return budget
    alpha = 1 / max(float(p.values(q)[-1]) for p in metric.components)
    choices = sorted({budget + ceil(extra * alpha - TIE) for extra in (0, 1, 2, 4, 8, 16)})
    gaps = []
    for choice in choices:
        floors = zip(metric.components, metric.floors(choice, q), strict=True)
        gaps.append(max(least_gap(caps, choice * profile.values(q)) for profile, caps in floors))
    return next(choice for choice, gap in zip(choices, gaps, strict=True) if gap <= 1.25 * min(gaps) + TIE)


def propose_budgets(metric: ECM, q: int = 255, limit: int | None = None) -> tuple[int, ...]:
    """Return budgets that waste little: a little above the smallest B with B g(1/q) >= m, for m = 1, 2, ..., up to
    `limit`.

    At most floor(B g(1/q)) dividers may share a gap, and c(x, y) <= (y - x) floor(B g(1/q)). Below m/g(1/q) outcomes
    the last of m dividers is missing everywhere, so where g(1/q) is small (z, log1p) only budgets a little above a
    multiple of 1/g(1/q) are good. With several components the smallest g(1/q) counts. Default limit: four times
    `default_budget`.

    >>> from ecm import ECM
    >>> propose_budgets(ECM.from_expr("z"), limit=800)
    (255, 510, 765)
    >>> propose_budgets(ECM.from_expr("log(1+z)"), q=63, limit=200)
    (66, 130, 194)
    """
    slopes = _first_slopes(metric, q)
    if not slopes:
        return (1,)
    most = 4 * default_budget(metric, q) if limit is None else limit
    steps = range(1, floor(most * min(slopes) + TIE) + 1)
    found = {_a_little_above(metric, ceil(m / min(slopes) - TIE), q) for m in steps}
    return tuple(sorted(budget for budget in found if budget <= most))


def default_budget(metric: ECM, q: int = 255) -> int:
    """Return B = 128 alpha, alpha = 1/g(1) of the largest component, or the next budget that loses little at one level.

    "Little": floor(B g(1/q)) >= 7/8 B g(1/q) for every component. If g is one step (l0), B = alpha is exact; if it is
    linear, B = q alpha is.

    >>> from ecm import ECM
    >>> [default_budget(ECM.from_expr(text)) for text in ("z**0.5/18", "z/18", "sign(z)/18", "log(1+z)")]
    [2304, 4590, 18, 262]
    """
    slopes = np.array(_first_slopes(metric, q))
    if not len(slopes):
        return 1
    tops = [float(p.values(q)[-1]) for p in metric.components if not p.is_zero]
    if slopes.min() <= 2 / LARGEST_BUDGET:
        raise DesignError(
            f"g(1/{q}) = {slopes.min():.3g}: fewer than {LARGEST_BUDGET} outcomes show nothing; scale g up"
        )
    ratios = [top / slope for top, slope in zip(tops, slopes, strict=True)]  # 1: one step; q: linear
    exact_at = 1 if max(ratios) < 1 + TIE else q if min(ratios) > q - TIE else PER_ALPHA
    first = ceil(min(exact_at, PER_ALPHA) / max(tops) - TIE)
    last = first + ceil(2 / float(slopes.min()))
    # a loss falls only where B g(1/q) passes a whole number: there, and at the first budget, the least one is found
    passes = [np.ceil((np.arange(floor(first * s), floor(last * s) + 2) - TIE) / s) for s in slopes.tolist()]
    near = np.concatenate([[first], *(p + step for p in passes for step in (-1, 0, 1))]).astype(np.int64)
    budgets = np.unique(near[(near >= first) & (near <= last)])[:, None]
    losses = (1 - np.floor(budgets * slopes + TIE) / (budgets * slopes)).max(axis=1)
    good = np.flatnonzero(losses <= LOSS)
    return _a_little_above(metric, int(budgets[good[0] if len(good) else int(losses.argmin()), 0]), q)


def _reaches_periodic(metric: ECM, budget: int, wanted: Fraction, q: int) -> bool:
    from ecm.allocation import Tube, climb

    tubes = [Tube.of(profile, budget, q) for profile in metric.components]
    return all(climb(tube.least(wanted), tube.caps) is not None for tube in tubes)


def may_reach(metric: ECM, budget: int, epsilon: float, q: int) -> bool:
    """Return False if provably no design of `budget` outcomes comes within epsilon of every g."""
    for profile, caps in zip(metric.components, metric.floors(budget, q), strict=True):
        target = budget * profile.values(q)
        if not feasible(caps, np.ceil(target - budget * epsilon - 1e-9).astype(np.int64)):
            return False
    return True


def smallest_budget(
    metric: ECM,
    epsilon: float | Fraction | str,
    q: int = 255,
    *,
    kind: Kind = "aperiodic",
    seed: int = 0,
    effort: Effort = "fast",
    limit: int | None = None,
) -> int:
    """Return the smallest budget whose design of that kind has eps_max <= epsilon.

    "periodic": proved; every smaller budget misses epsilon. "aperiodic": found, not proved; make_design with this
    seed and effort reaches epsilon at the answer. Smaller budgets were tried, ruled out by `may_reach`,
    or passed over because the construction would have had to be 4 % better there than at a budget just below. Larger
    budgets may miss epsilon again: eps is not monotone in B.

    >>> from ecm import ECM
    >>> metric = ECM.from_expr("z**0.5")
    >>> smallest_budget(metric, 0.1, q=64), smallest_budget(metric, 0.1, q=64, kind="periodic")
    (22, 74)
    """
    wanted, q = exact(epsilon, "epsilon"), whole(q)
    if kind not in ("aperiodic", "periodic"):
        raise DesignError(f"kind = {kind!r}: write 'aperiodic' or 'periodic'")
    if wanted < 0 or (wanted == 0 and limit is None):
        raise DesignError(f"epsilon = {epsilon}: write a positive number, or 0 with a limit=")
    most = limit if limit is not None else ceil((q * q + q) / (2 * wanted))
    if kind == "periodic":
        from ecm.allocation import smallest_periodic_budget

        budget = max(smallest_periodic_budget(profile, wanted, q, limit=most) for profile in metric.components)
        while budget <= most and not _reaches_periodic(metric, budget, wanted, q):
            budget += 1
    else:
        budget = 1
        while budget <= most and not may_reach(metric, budget, float(wanted), q):
            budget += 1
        while budget <= most:
            worst = (
                worst_found(metric, budget, q, seed, effort) if may_reach(metric, budget, float(wanted), q) else None
            )
            if worst is not None and worst <= budget * float(wanted) + 1e-9:
                return budget
            # where the caps allow it the worst gap is about 2.6 outcomes whatever B is: go where that is enough
            ahead = 0.96 * worst / float(wanted) if worst is not None and worst < 4 and wanted else 0
            budget = max(budget + 1, floor(ahead))
    if budget > most:
        raise DesignError(f"no budget up to {most} reached epsilon = {epsilon} at q = {q}: raise limit= or epsilon")
    return budget


def worst_found(metric: ECM, budget: int, q: int, seed: int, effort: Effort) -> float:
    """Return the worst gap over all components, in outcomes, of the aperiodic design."""
    worst = 0.0
    for profile, caps in zip(metric.components, metric.floors(budget, q), strict=True):
        target = budget * profile.values(q)
        worst = max(worst, worst_gap(construct(caps, target, seed, effort), target))
    return worst
