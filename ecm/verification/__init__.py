"""Verification: the checks of the `ecm` floor, their report, and tools for users' own tests."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from ecm.verification.checks import Setting, all_checks, separated_pairs, verify
    from ecm.verification.report import Check, Counterexample, Evidence, Finding, Report

__all__ = [
    "Check",
    "Counterexample",
    "Evidence",
    "Finding",
    "Report",
    "Setting",
    "all_checks",
    "separated_pairs",
    "verify",
]

__getattr__ = lazy(
    __name__,
    {
        "checks": "Setting all_checks separated_pairs verify",
        "report": "Check Counterexample Evidence Finding Report",
    },
)
