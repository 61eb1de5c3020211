"""Truncated power series as lists of coefficients (flint fmpq or arb; exact zeros stay exact)."""

from __future__ import annotations

from typing import Any

from flint import fmpq

Series = list[Any]


def multiply(a: Series, b: Series) -> Series:
    """The product, as long as both factors."""
    return [sum((a[i] * b[k - i] for i in range(1, k + 1)), a[0] * b[k]) for k in range(min(len(a), len(b)))]


def integrate(slope: Series, start: Any) -> Series:
    """The series with that derivative and that constant term."""
    return [start, *(c / (k + 1) for k, c in enumerate(slope))]


def differentiate(a: Series) -> Series:
    """The derivative, one coefficient shorter."""
    return [c * k for k, c in enumerate(a)][1:]


def power(u: Series, exponent: Any, start: Any) -> Series:
    """u**exponent for u[0] != 0, from start = u[0]**exponent: u y' = exponent u' y."""
    y = [start]
    for k in range(1, len(u)):
        total = sum((u[i] * y[k - i] * (exponent * i - (k - i)) for i in range(1, k + 1)), fmpq(0))
        y.append(total / (u[0] * k))
    return y


def linear(u: Series, start: Any) -> Series:
    """exp(u) from start = exp(u[0]): y' = u' y."""
    y = [start]
    for k in range(1, len(u)):
        y.append(sum((u[i] * y[k - i] * i for i in range(1, k + 1)), fmpq(0)) / k)
    return y
