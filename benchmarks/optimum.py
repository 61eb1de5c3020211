"""What no design can beat: the optimum that a solver finds on a small grid, and a lower bound on budgets."""

from __future__ import annotations

from itertools import count
from typing import Any

import attrs
import numpy as np

from ecm import ECM
from ecm.allocation import Outcomes
from ecm.arrays import Floats, Ints
from ecm.design.blocks import outcomes_of
from ecm.design.budget import may_reach
from ecm.errors import DesignError


@attrs.frozen
class Optimum:
    """The outcomes a solver found, whether it calls them optimal, and its lower bound on the worst gap (outcomes)."""

    outcomes: Outcomes
    proved: bool
    bound: float


def optimal_outcomes(caps: Ints, target: Floats, *, solver: str = "HIGHS", seconds: float = 60.0) -> Optimum:
    """Return outcomes with the smallest max of target[k] - c(x, x+k) under c <= caps; for q <= 12 or so.

    A mixed-integer program over Monge matrices: integers F(x, y) = n - c(x, y), n = caps[q], whose mixed differences
    (the blocks) are all >= 0. The solver's answer is rounded and rebuilt as outcomes; its caps are checked in integers
    here, "optimal" is the solver's word.

    >>> import numpy as np
    >>> best = optimal_outcomes(np.array([0, 1, 2]), np.array([0.0, 1.5, 2.5]))
    >>> best.outcomes.least.tolist(), best.proved
    ([0, 1, 2], True)
    """
    import mip

    q, n = len(caps) - 1, int(caps[-1])
    model = mip.Model(sense=mip.MINIMIZE, solver_name=solver)
    model.verbose = 0
    model.threads = 1
    model.max_mip_gap = model.max_mip_gap_abs = 1e-6
    gap = model.add_var(obj=1.0, lb=0.0)
    together: dict[tuple[int, int], Any] = {}
    for x in range(q + 1):
        together[x, x] = n
        for y in range(x + 1, q + 1):
            together[x, y] = model.add_var(var_type=mip.INTEGER, lb=n - int(caps[y - x]), ub=n)
            model.add_constr(gap - together[x, y] >= float(target[y - x]) - n)
    blocks: dict[tuple[int, int], Any] = {}
    for s in range(q + 1):
        for t in range(s + 1, q + 2):
            block = together[s, t - 1]
            block = block - together.get((s - 1, t - 1), 0)
            block = block - together.get((s, t), 0)
            block = block + together.get((s - 1, t), 0)
            blocks[s, t] = model.add_var(lb=0.0)
            model.add_constr(blocks[s, t] - block == 0)
    status = model.optimize(max_seconds=seconds)
    if model.num_solutions == 0:
        raise DesignError(f"{solver} found nothing in {seconds:g} s ({status.name}): allow more seconds or a smaller q")
    counts = np.zeros((q + 2, q + 2), dtype=np.int32)
    for place, block in blocks.items():
        counts[place] = round(block.x)
    found = outcomes_of(counts, n)
    if bool((found.most > caps).any()):
        raise DesignError(f"{solver} returned outcomes above the caps: use another solver")
    return Optimum(found, status == mip.OptimizationStatus.OPTIMAL, float(model.objective_bound))


def budget_bound(metric: ECM, epsilon: float, q: int = 255, limit: int | None = None) -> int:
    """Return the smallest B that the propagation bound does not rule out: no design of fewer outcomes has eps_max <=
    epsilon.

    >>> budget_bound(ECM.from_expr("z"), 0.0, limit=300)
    255
    """
    for budget in count(1):
        if limit is not None and budget > limit:
            raise DesignError(f"no budget up to {limit} can reach epsilon = {epsilon} at q = {q}: raise one of them")
        if may_reach(metric, budget, epsilon, q):
            return budget
    raise AssertionError
