"""Forward passes a certificate at equal eps, and what the designs cost: `python benchmarks/bench_designs.py`.

Everything in one run, one thread, CPU time, no cache. Three tables:
- eps_max and time of both efforts against the propagation bound and the optimal periodic design of the same budget;
- the smallest budget for an eps: aperiodic as found, periodic as proved, and the paper's setting; `ratio` is how many
  times fewer forward passes a certificate then takes;
- on small grids, how often the search meets the solver's proved optimum.
`--q 64` runs the same on a smaller grid.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ECM_CACHE"] = ""  # a cached design costs nothing and would say nothing

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from ecm import ECM
from ecm._bound import least_gap
from ecm._budget import budget_bound, smallest_budget
from ecm._construct import construct
from ecm._design_milp import optimal_outcomes
from ecm._greedy import worst_gap

T = TypeVar("T")
ROOTS = ("z**0.5", "z**(1/3)")
PAPER = (1000, 0.02)  # budget a unit of alpha, and eps, of the published allocations for ROOTS


def cpu(action: Callable[[], T]) -> tuple[T, float]:
    """The answer and its CPU seconds."""
    start = time.process_time()
    answer = action()
    return answer, time.process_time() - start


def accuracy(texts: tuple[str, ...], budgets: tuple[int, ...], q: int) -> None:
    """eps_max and seconds of both efforts, one row a metric and budget."""
    print(f"eps_max at q = {q}   (x B: in outcomes)")
    print("         g     B   bound    fast   x B     s thorough   x B     s periodic")
    for text in texts:
        metric = ECM.from_expr(text)
        for budget in budgets:
            bound = least_gap(metric.floors(budget, q)[0], budget * metric.components[0].values(q)) / budget
            fast, fast_time = cpu(lambda m=metric, b=budget: m.design(b, q).eps_max)
            thorough, thorough_time = cpu(lambda m=metric, b=budget: m.design(b, q, effort="thorough").eps_max)
            periodic = metric.allocate(budget, q).eps
            print(
                f"{text:>10} {budget:>5} {bound:7.4f} {fast:7.4f} {fast * budget:5.2f} {fast_time:5.2f} "
                f"{thorough:8.4f} {thorough * budget:5.2f} {thorough_time:5.2f} {periodic:8.4f}",
                flush=True,
            )


def passes(texts: tuple[str, ...], wanted: tuple[float, ...], q: int) -> None:
    """The smallest budgets for an eps, one row a metric and eps."""
    print(f"\nforward passes a certificate (times alpha) at equal eps, q = {q}")
    print(f"{'g':>10} {'eps':>6} {'bound':>6} {'aperiodic':>9} {'periodic':>8} {'ratio':>6}")
    for text in texts:
        metric = ECM.from_expr(text)
        for epsilon in wanted:
            least = budget_bound(metric, epsilon, q)
            found = smallest_budget(metric, epsilon, q)
            periodic = smallest_budget(metric, epsilon, q, kind="periodic")
            paper = (
                f"   paper: {PAPER[0]}, ratio {PAPER[0] / found:.1f}" if epsilon == PAPER[1] and text in ROOTS else ""
            )
            print(
                f"{text:>10} {epsilon:6.3f} {least:6} {found:9} {periodic:8} {periodic / found:6.1f}{paper}", flush=True
            )


def optimality() -> None:
    """How far the fast search is from the proved optimum for q <= 12."""
    texts = ("z**0.5", "z**(1/3)", "z**0.8", "log(1+z)", "1-exp(-3*z)", "Min(3*z, 1)", "Min(2*z, (z+1)/2)")
    print("\nsmall grids: worst gap of the fast search against the solver's optimum and the propagation bound")
    print(f"{'q':>3} {'cases':>6} {'search = optimum':>17} {'largest excess':>15} {'bound = optimum':>16}")
    for q in (4, 6, 8, 10, 12):
        cases = same = tight = 0
        excess = 0.0
        for text in texts:
            metric = ECM.from_expr(text)
            for budget in (7, 10, 16, 23, 32, 50):
                caps, target = metric.floors(budget, q)[0], budget * metric.components[0].values(q)
                best = optimal_outcomes(caps, target, seconds=20)
                optimum = worst_gap(best.outcomes, target)
                found = worst_gap(construct(caps, target), target)
                cases += best.proved
                same += best.proved and found <= optimum + 1e-5
                tight += best.proved and least_gap(caps, target) >= optimum - 1e-5
                excess = max(excess, found - optimum)
        print(f"{q:>3} {cases:>6} {same:>17} {excess:>15.3f} {tight:>16}", flush=True)


def main() -> None:
    """All three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--q", type=int, default=255)
    q = parser.parse_args().q
    accuracy(ROOTS, (32, 50, 64, 100, 128, 200, 400), q)
    passes((*ROOTS, "log(1+z)"), (0.05, 0.02, 0.01), q)
    optimality()


if __name__ == "__main__":
    main()
