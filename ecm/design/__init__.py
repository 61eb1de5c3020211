"""Designs: B outcomes per component, the search for them, and how large a budget should be."""

from ecm.design.budget import default_budget, propose_budgets, smallest_budget
from ecm.design.design import Design, Kind, make_design
from ecm.design.frontiers import frontier, plot_frontier
from ecm.design.search import construct

__all__ = [
    "Design",
    "Kind",
    "construct",
    "default_budget",
    "frontier",
    "make_design",
    "plot_frontier",
    "propose_budgets",
    "smallest_budget",
]
