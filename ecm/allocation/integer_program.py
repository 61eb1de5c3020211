"""The allocation as a mixed-integer program in slope form, solved by CBC or HiGHS through python-mip."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from ecm.allocation.caps import Splits, Tube
from ecm.errors import AllocationError

SOLVERS = {"CBC": "CBC", "HIGHS": "HiGHS"}
_TOLERANCE = 1e-9
_ROUNDING = 1e-4  # in outcomes: how far a solver's claim may be from what its rounded answer really reaches


@attrs.frozen
class Answer:
    """What a solver returned, unchecked: slopes n_1..n_q, its objective and lower bound in outcomes (B eps)."""

    slopes: tuple[float, ...]
    objective: float
    bound: float
    proved: bool


def solve(tube: Tube, solver: str, seconds: float) -> Splits:
    """Return N(0..q) of the solver's answer, rounded to integers and checked against the caps exactly, and what is
    proved.

    Raises AllocationError if the answer is not a sound allocation, if it does not reach the eps that the solver claims,
    or if nothing was found in time. "Proved optimal" is the solver's word, to its own tolerances.
    """
    name = SOLVERS.get(str(solver).upper())
    if name is None:
        raise AllocationError(f"solver = {solver!r}: write one of {', '.join(map(repr, SOLVERS))}")
    if not seconds > 0:
        raise AllocationError(f"seconds = {seconds}: give the solver a positive time")
    answer = run(tube, solver.upper(), seconds)
    slopes = np.rint(np.asarray(answer.slopes, dtype=np.float64))
    if len(slopes) != tube.q or not bool((np.abs(slopes) <= tube.budget).all()):
        raise AllocationError(f"{name} returned {len(slopes)} slopes, not {tube.q} slopes in 0..{tube.budget}")
    n = np.concatenate([[0], np.cumsum(slopes.astype(np.int64))])
    steps = np.diff(n)
    wrong = np.flatnonzero((n[1:] > tube.caps[1:]) | (steps < np.append(steps[1:], 0)))
    if len(wrong):
        k = int(wrong[0]) + 1
        raise AllocationError(
            f"{name} returned a wrong answer: at k = {k} N = {n[k]}, cap = {tube.caps[k]}, slope = {steps[k - 1]}, "
            f"next slope = {np.append(steps, 0)[k]} (slopes may not rise); write method='exact' or another solver"
        )
    reached = tube.gap(n, tube.worst(n)) * tube.budget
    if not abs(reached - answer.objective) <= _ROUNDING:  # so that nan is refused, too
        raise AllocationError(
            f"{name} claims eps = {answer.objective / tube.budget:.8g}, but its weights reach "
            f"{reached / tube.budget:.8g}; write method='exact' or another solver"
        )
    if answer.proved:
        return Splits(n, f"proved optimal by {name}", proved=True)
    return Splits(n, f"gap {(reached - answer.bound) / reached:.2%} left by {name} after {seconds:g} s")


def run(tube: Tube, solver: str, seconds: float) -> Answer:
    """Minimise e = B eps over integers n_1 >= ... >= n_q >= 0 and N(k) = N(k-1) + n_k with B g - e <= N <= floor(B g).

    Three entries per row; the form in the weights themselves has q of them and is far harder for the same solvers.
    """
    import mip

    model = mip.Model(sense=mip.MINIMIZE, solver_name=solver)
    model.verbose = 0
    model.threads = 1
    model.max_mip_gap = model.max_mip_gap_abs = _TOLERANCE
    model.infeas_tol = model.integer_tol = _TOLERANCE
    caps = tube.caps.tolist()
    target = (tube.scaled / float(1 << tube.bits)).tolist()
    e = model.add_var(name="e", obj=1.0, lb=0.0)
    previous: Any = None
    before: Any = 0
    slopes = []
    for k in range(1, tube.q + 1):
        slope = model.add_var(name=f"n{k}", var_type=mip.INTEGER, lb=0, ub=caps[k] // k)
        total = model.add_var(name=f"N{k}", lb=0, ub=caps[k])
        model.add_constr(total - before - slope == 0)
        model.add_constr(total + e >= target[k])
        if previous is not None:
            model.add_constr(previous - slope >= 0)
        previous, before = slope, total
        slopes.append(slope)
    status = model.optimize(max_seconds=seconds)
    if model.num_solutions == 0:
        raise AllocationError(f"{SOLVERS[solver]} found nothing in {seconds:g} s ({status.name}); allow more seconds")
    return Answer(
        tuple(float(slope.x) for slope in slopes),
        float(model.objective_value),
        float(model.objective_bound),
        status == mip.OptimizationStatus.OPTIMAL,
    )
