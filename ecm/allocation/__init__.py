"""Allocations: how many of B outcomes use each bin width, as integers that are checked when they are made."""

from ecm.allocation.allocation import Allocation, allocate, verify_allocation
from ecm.allocation.caps import Tube, check_size
from ecm.allocation.dynamic_program import climb
from ecm.allocation.outcomes import LARGEST_BUDGET, Outcomes, PeriodicOutcomes, whole
from ecm.allocation.periodic_budget import smallest_periodic_budget

__all__ = [
    "LARGEST_BUDGET",
    "Allocation",
    "Outcomes",
    "PeriodicOutcomes",
    "Tube",
    "allocate",
    "check_size",
    "climb",
    "smallest_periodic_budget",
    "verify_allocation",
    "whole",
]
