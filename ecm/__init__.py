"""Elementwise-concave metrics declared as formulas, and everything that follows from them exactly.

The data flows one way: a formula becomes a `Profile` (g, proven), profiles make an `ECM` (the metric), which gives the
`Law` of Lambda, its `QuantizedLaw`, integer `Allocation`s and outcome `Design`s. `verify` checks all of it again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecm.elementwise import ECM
from ecm.errors import AllocationError, DesignError, ECMError, ExpressionError, NotAnECM, Undecided

if TYPE_CHECKING:
    from ecm.allocation import Allocation, Outcomes, allocate, verify_allocation
    from ecm.design import (
        Design,
        default_budget,
        frontier,
        make_design,
        plot_frontier,
        propose_budgets,
        smallest_budget,
    )
    from ecm.law import Law, QuantizedLaw
    from ecm.metric import Profile
    from ecm.verification import Report, verify

_LAZY = {
    "Allocation": "allocation",
    "allocate": "allocation",
    "verify_allocation": "allocation",
    "default_budget": "design",
    "frontier": "design",
    "plot_frontier": "design",
    "propose_budgets": "design",
    "smallest_budget": "design",
    "Design": "design",
    "make_design": "design",
    "Law": "law",
    "Outcomes": "allocation",
    "Profile": "metric",
    "QuantizedLaw": "law",
    "Report": "verification",
    "verify": "verification",
}

__version__ = "0.1.0"
__all__ = [
    "ECM",
    "Allocation",
    "AllocationError",
    "Design",
    "DesignError",
    "ECMError",
    "ExpressionError",
    "Law",
    "NotAnECM",
    "Outcomes",
    "Profile",
    "QuantizedLaw",
    "Report",
    "Undecided",
    "allocate",
    "default_budget",
    "frontier",
    "make_design",
    "plot_frontier",
    "propose_budgets",
    "smallest_budget",
    "verify",
    "verify_allocation",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:  # sympy and numpy-heavy parts load when they are used
        return getattr(import_module(f"ecm.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'ecm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
