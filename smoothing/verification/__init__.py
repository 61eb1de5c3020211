"""Verification: the checks of the `smoothing` floor, brute force on small spaces, and strategies for tests."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.verification.brute_force import BruteForce
    from smoothing.verification.checks import CHECKS

__all__ = ["CHECKS", "BruteForce"]

__getattr__ = lazy(
    __name__,
    {
        "brute_force": "BruteForce",
        "checks": "CHECKS",
    },
)
