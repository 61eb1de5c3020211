"""Elementwise-concave metrics declared as formulas, and everything that follows from them exactly.

The data flows one way: a formula becomes a `Profile` (g, proven), profiles make an `ECM` (the metric), which gives the
`Law` of Lambda, its `QuantizedLaw`, integer `Allocation`s and outcome `Design`s. `verify` checks all of it again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecm._errors import AllocationError, DesignError, ECMError, ExpressionError, NotAnECM, Undecided
from ecm._metric import ECM

if TYPE_CHECKING:
    from ecm._allocation import Allocation, allocate, verify_allocation
    from ecm._budget import default_budget, propose_budgets, smallest_budget
    from ecm._design import Design, make_design
    from ecm._frontier import frontier, plot_frontier
    from ecm._law import Law
    from ecm._outcomes import Outcomes
    from ecm._profile import Profile
    from ecm._quantized import QuantizedLaw
    from ecm.verification import Report, verify

_LAZY = {
    "Allocation": "_allocation",
    "allocate": "_allocation",
    "verify_allocation": "_allocation",
    "default_budget": "_budget",
    "frontier": "_frontier",
    "plot_frontier": "_frontier",
    "propose_budgets": "_budget",
    "smallest_budget": "_budget",
    "Design": "_design",
    "make_design": "_design",
    "Law": "_law",
    "Outcomes": "_outcomes",
    "Profile": "_profile",
    "QuantizedLaw": "_quantized",
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
