"""Outcome designs: how many forward passes a certificate takes at equal eps, and what finding a design costs.

One thread, no cache. The eps and budgets do not depend on the machine: they are the tables of docs/designs.md.
"""

from __future__ import annotations

from typing import Any

from benchmarks._measure import once
from benchmarks._text import duration, joined, short, table
from benchmarks.optimum import budget_bound, optimal_outcomes
from ecm import ECM
from ecm.design import construct, smallest_budget
from ecm.design.greedy_start import worst_gap
from ecm.design.lower_bound import least_gap

ROOTS = ("z**0.5", "z**(1/3)")
PAPER_BUDGET, PAPER_EPS = 1000, 0.02  # a unit of alpha, for ROOTS
SMALL = ("z**0.5", "z**(1/3)", "z**0.8", "log(1+z)", "1-exp(-3*z)", "Min(3*z, 1)", "Min(2*z, (z+1)/2)")


def measure(quick: bool) -> dict[str, Any]:
    """Three tables: eps by budget, budget by eps, and the distance from the optimum on small grids."""
    if quick:
        return {
            "accuracy": [accuracy("z**0.5", 16, 12)],
            "budgets": [budgets("z**0.5", 0.2, 12)],
            "optimality": [optimality(4, SMALL[:1], (7,))],
        }
    return {
        "accuracy": [accuracy(g, b, 255) for g in ROOTS for b in (32, 50, 64, 100, 128, 200, 400)],
        "budgets": [budgets(g, e, 255) for g in (*ROOTS, "log(1+z)") for e in (0.05, 0.02, 0.01)],
        "optimality": [optimality(q, SMALL, (7, 10, 16, 23, 32, 50)) for q in (4, 6, 8, 10, 12)],
    }


def accuracy(text: str, budget: int, q: int) -> dict[str, Any]:
    """eps_max and seconds of both efforts, the propagation bound, and the best periodic design of the same budget."""
    metric = ECM.from_expr(text)
    bound = least_gap(metric.floors(budget, q)[0], budget * metric.components[0].values(q)) / budget
    fast, fast_seconds = once(lambda: metric.design(budget, q).eps_max)
    thorough, thorough_seconds = once(lambda: metric.design(budget, q, effort="thorough").eps_max)
    return {
        "g": text,
        "q": q,
        "budget": budget,
        "bound": bound,
        "fast": fast,
        "fast_seconds": fast_seconds,
        "thorough": thorough,
        "thorough_seconds": thorough_seconds,
        "periodic": metric.allocate(budget, q).eps,
    }


def budgets(text: str, epsilon: float, q: int) -> dict[str, Any]:
    """The smallest budgets for an eps: below the bound none exists, aperiodic as found, periodic as proved."""
    metric = ECM.from_expr(text)
    found, seconds = once(lambda: smallest_budget(metric, epsilon, q))
    return {
        "g": text,
        "q": q,
        "eps": epsilon,
        "bound": budget_bound(metric, epsilon, q),
        "aperiodic": found,
        "seconds": seconds,
        "periodic": smallest_budget(metric, epsilon, q, kind="periodic"),
    }


def optimality(q: int, texts: tuple[str, ...], sizes: tuple[int, ...]) -> dict[str, Any]:
    """How often the fast search and the bound meet the optimum that the solver proves."""
    cases = same = tight = 0
    excess = 0.0
    for text in texts:
        metric = ECM.from_expr(text)
        for budget in sizes:
            caps, target = metric.floors(budget, q)[0], budget * metric.components[0].values(q)
            best = optimal_outcomes(caps, target, seconds=20)
            optimum = worst_gap(best.outcomes, target)
            found = worst_gap(construct(caps, target), target)
            cases += best.proved
            same += best.proved and found <= optimum + 1e-5
            tight += best.proved and least_gap(caps, target) >= optimum - 1e-5
            excess = max(excess, found - optimum)
    return {"q": q, "cases": cases, "search": same, "bound": tight, "excess": excess}


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    passes = [
        (
            f"`{row['g']}`",
            row["eps"],
            row["bound"],
            row["aperiodic"],
            row["periodic"],
            short(row["periodic"] / row["aperiodic"]),
            short(PAPER_BUDGET / row["aperiodic"]) if row["g"] in ROOTS and row["eps"] == PAPER_EPS else "",
            duration(row["seconds"]),
        )
        for row in found["budgets"]
    ]
    made = [
        (
            f"`{row['g']}`",
            row["budget"],
            f"{row['bound']:.4f}",
            f"{row['fast']:.4f} ({row['fast'] * row['budget']:.2f})",
            duration(row["fast_seconds"]),
            f"{row['thorough']:.4f} ({row['thorough'] * row['budget']:.2f})",
            duration(row["thorough_seconds"]),
            f"{row['periodic']:.4f}",
        )
        for row in found["accuracy"]
    ]
    cases, same = (sum(row[name] for row in found["optimality"]) for name in ("cases", "search"))
    return joined(
        f"""Every outcome is one forward pass. Outcomes (times alpha) for a wanted eps: aperiodic designs as found, the
        periodic optimum as proved, and the bound below which no design exists; then how many times fewer that is than
        the periodic optimum, and than the {PAPER_BUDGET} of the paper at eps = {PAPER_EPS}. The search tries many
        budgets, without the cache.""",
        table(("g", "eps", "bound", "aperiodic", "periodic", "ratio", "paper's ratio", "search"), passes),
        "eps of a design of B outcomes (times alpha; in brackets eps B), and the time to find and verify it.",
        table(("g", "B", "bound", "fast", "time", "thorough", "time", "periodic"), made),
        f"""On grids up to q = {max(row["q"] for row in found["optimality"])} the fast search meets the optimum that a
        solver proves in {same} of {cases} cases. [Outcome designs](designs.md) explains all of this.""",
    )
