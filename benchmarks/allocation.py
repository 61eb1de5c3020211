"""The exact allocation of a budget against the integer program: two solvers, two forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mip

from benchmarks._measure import child, interleaved, once
from benchmarks._text import duration, joined, short, table
from ecm import ECM
from ecm.allocation import Allocation, Tube, allocate
from ecm.errors import AllocationError
from ecm.metric import Profile

SLOPE_SECONDS, DENSE_SECONDS = 120, 30
SOLVERS = ("HIGHS", "CBC")
Made = Callable[[], Allocation]


def dense(profile: Profile, budget: int, q: int, solver: str, seconds: float) -> Allocation:
    """The program in the weights themselves, q entries per row (the form of the paper), with a time limit."""
    tube = Tube.of(profile, budget, q)
    model = mip.Model(sense=mip.MINIMIZE, solver_name=solver)
    model.verbose = 0
    model.threads = 1
    e = model.add_var(obj=1.0, lb=0.0)
    caps = tube.caps.tolist()
    weights = [model.add_var(var_type=mip.INTEGER, lb=0, ub=caps[j] // j) for j in range(1, q + 1)]
    for k in range(1, q + 1):
        split = mip.xsum(min(j, k) * weight for j, weight in enumerate(weights, start=1))
        model.add_constr(split <= caps[k])
        model.add_constr(split + e >= int(tube.scaled[k]) / (1 << tube.bits))
    status = model.optimize(max_seconds=seconds)
    if model.num_solutions == 0:
        raise AllocationError(f"nothing found in {seconds} s")
    found = {j: round(weight.x) for j, weight in enumerate(weights, start=1)}
    return Allocation(profile, found, q, budget, method=f"dense {solver}", optimality=status.name.lower())


def measure(quick: bool) -> dict[str, Any]:
    """The exact program many times, a solver once: it takes seconds, not milliseconds."""
    q, budget, rounds = (32, 60, 2) if quick else (255, 1000, 15)
    solved = []
    for text in ("z**(1/2)",) if quick else ("z**(1/2)", "z**(1/3)"):
        g = Profile.from_expr(text)
        exact = interleaved({"exact": partial(allocate, g, budget, q)}, rounds)["exact"]
        one = {"g": text, "q": q, "budget": budget, "eps": allocate(g, budget, q).eps}
        solved.append(one | {"method": "exact", "seconds": exact.median, "ratio": 1.0, "optimal": True})
        makes: dict[str, Made] = {}
        for solver in SOLVERS:
            slopes = partial(allocate, g, budget, q, method="mip", solver=solver, seconds=SLOPE_SECONDS)
            makes[f"{solver}, slopes"] = slopes
        for solver in SOLVERS if text == "z**(1/2)" else ():
            makes[f"{solver}, dense"] = partial(dense, g, budget, q, solver, 2 if quick else DENSE_SECONDS)
        for method, make in makes.items():
            solved.append(one | {"method": method} | _solver(make, exact.median))
    sizes = [("z**(1/2)", 255, 1000, "exact"), ("z**(1/2)/18", 255, 18_000, "exact")]
    if not quick:
        sizes += [
            ("z**(1/2)", 255, 100_000, "exact"),
            ("z**(1/2)", 4095, 16_000, "exact"),
            ("z**(1/2)", 65_535, 262_144, "slopes"),
            ("z**(1/2)", 65_535, 10**9, "slopes"),
        ]
    grown = []
    for size in sizes[: 1 if quick else None]:
        made, peak = child("benchmarks.allocation", "one_size", *size)
        grown.append(made | {"peak_mb": peak})
    return {"solved": solved, "grown": grown}


def _solver(make: Made, exact: float) -> dict[str, Any]:
    made, seconds = once(lambda: _unless_nothing(make))
    taken = {"seconds": seconds, "ratio": seconds / exact}
    if made is None:
        return taken | {"optimal": False, "eps": None}
    return taken | {"optimal": made.optimality.startswith(("optimal", "proved")), "eps": made.eps}


def _unless_nothing(make: Made) -> Allocation | None:
    try:
        return make()
    except AllocationError:  # the limit was reached with nothing in hand
        return None


def one_size(text: str, q: int, budget: int, method: Any) -> dict[str, Any]:
    """One allocation in a process of its own, for its peak memory."""
    metric = ECM.from_expr(text)
    found = interleaved({"one": lambda: metric.allocate(budget, q, method=method)}, 3)["one"]
    eps = metric.allocate(budget, q, method=method).eps
    return {"g": text, "q": q, "budget": budget, "method": method, "seconds": found.facts(), "eps": eps}


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    solved, grown = found["solved"], found["grown"]
    exact = {row["g"]: row["eps"] for row in solved if row["method"] == "exact"}
    agree = all(row["eps"] == exact[row["g"]] for row in solved if row["optimal"])
    rows = [
        (
            f"`{row['g']}`, {row['method']}",
            duration(row["seconds"]),
            short(row["ratio"]),
            f"{row['eps']:.4f}" if row["eps"] is not None else "nothing found",
            "yes" if row["optimal"] else "no",
        )
        for row in solved
    ]
    sizes = [
        (
            f"`{row['g']}`, q = {row['q']}, B = {row['budget']:,}, {row['method']}",
            duration(row["seconds"]["median"]),
            f"{row['eps']:.2g}",
            f"{row['peak_mb']:.0f} MB",
        )
        for row in grown
    ]
    return joined(
        f"""The widths of Lambda for a budget, q = {solved[0]["q"]}, B = {solved[0]["budget"]}: the exact program of
        this package against the integer program of the paper, given to HiGHS and to CBC through python-mip, one thread.
        *Dense* is the form with the weights as unknowns, *slopes* our sparse form of the same program. The exact
        program is a median, a solver runs once and is stopped after {DENSE_SECONDS} s (dense) or {SLOPE_SECONDS} s
        (slopes). Where a solver proves its optimum, it is the eps of the exact program:
        {"yes, always" if agree else "**no**"}.""",
        table(("g, method", "time", "against exact", "eps", "proved optimal"), rows),
        "Larger problems, each in a process of its own; *slopes* without a solver is a rounding that takes no search.",
        table(("problem", "median", "eps", "peak memory"), sizes),
    )
