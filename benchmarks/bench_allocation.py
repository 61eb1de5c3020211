"""Allocation methods against each other, all measured in one run: `python benchmarks/bench_allocation.py`.

Times are medians of wall time; `ratio` is the time divided by that of the exact program on the same problem.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable

import mip

from ecm._allocation import Allocation, allocate
from ecm._errors import AllocationError
from ecm._frontier import smallest_budget
from ecm._profile import Profile
from ecm._tube import Tube

DENSE_SECONDS = 30


def dense(profile: Profile, budget: int, q: int, solver: str) -> Allocation:
    """The program in the weights themselves, q entries a row (the form of the paper), with a time limit."""
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
    status = model.optimize(max_seconds=DENSE_SECONDS)
    if model.num_solutions == 0:
        raise AllocationError(f"nothing found in {DENSE_SECONDS} s")
    found = {j: round(weight.x) for j, weight in enumerate(weights, start=1)}
    return Allocation(profile, found, q, budget, method=f"dense {solver}", optimality=status.name.lower())


def timed(name: str, action: Callable[[], Allocation | int], repeats: int = 1, base: float | None = None) -> float:
    """Run, print one row, return the median time in seconds."""
    times, text = [], ""
    for _ in range(repeats):
        start = time.perf_counter()
        try:
            result = action()
            text = f"eps {result.eps:.4g}  {result.optimality}" if isinstance(result, Allocation) else f"B = {result}"
        except AllocationError as error:
            text = str(error)
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    ratio = "" if base is None else f"{median / base:8.3g}"
    print(f"{name:<44} {1000 * median:10.1f} ms {ratio:>8}  {text}", flush=True)
    return median


def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':<44} {'median':>13} {'ratio':>8}")
    for text in ("z**(1/2)", "z**(1/3)"):
        g = Profile.from_expr(text)
        base = timed(f"{text} q=255 B=1000 exact", lambda g=g: allocate(g, 1000), 20)
        timed(f"{text} q=255 B=1000 slopes", lambda g=g: allocate(g, 1000, method="slopes"), 20, base)
        timed(f"{text} q=255 B=1000 floor", lambda g=g: allocate(g, 1000, method="floor"), 20, base)
        for solver in ("HIGHS", "CBC"):
            slope = lambda g=g, s=solver: allocate(g, 1000, method="mip", solver=s, seconds=300)  # noqa: E731
            timed(f"{text} q=255 B=1000 mip {solver}", slope, 1, base)
    half, part = Profile.from_expr("z**(1/2)"), Profile.from_expr("z**(1/2)/18")
    base = timed("z**(1/2) q=255 B=1000 exact", lambda: allocate(half, 1000), 20)
    for solver in ("HIGHS", "CBC"):
        timed(f"z**(1/2) q=255 B=1000 dense mip {solver}", lambda s=solver: dense(half, 1000, 255, s), 1, base)
    timed("z**(1/2)/18 q=255 B=18000 exact", lambda: allocate(part, 18_000), 20, base)
    timed("z**(1/2) q=255 B=100000 exact", lambda: allocate(half, 100_000), 5, base)
    timed("z**(1/2) q=4095 B=16000 exact", lambda: allocate(half, 16_000, 4095), 3, base)
    timed("z**(1/2) q=65535 B=262144 slopes", lambda: allocate(half, 262_144, 65_535, method="slopes"), 3, base)
    timed("z**(1/2) q=65535 B=10**9 slopes", lambda: allocate(half, 10**9, 65_535, method="slopes"), 3, base)
    timed("z**(1/2) q=255 smallest budget for .02", lambda: smallest_budget(half, "0.02"), 3, base)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
