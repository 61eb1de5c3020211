"""Roots of fractions, rounded down to a double by an exact comparison."""

from __future__ import annotations

import math
from fractions import Fraction


def root_below(base: Fraction, exponent: Fraction, *, strict: bool) -> float:
    """Return the largest double f >= 0 with f <= base**exponent, or f < base**exponent if `strict` (0.0 if base is 0).

    >>> root_below(Fraction(9), Fraction(1, 2), strict=False), root_below(Fraction(2), Fraction(2), strict=True)
    (3.0, 3.9999999999999996)
    """
    if base <= 0:
        return 0.0

    def fits(value: float) -> bool:
        if math.isinf(value):
            return False
        left, right = Fraction(value) ** exponent.denominator, base**exponent.numerator
        return left < right if strict else left <= right

    try:
        guess = math.pow(base, exponent)
    except OverflowError:
        guess = math.nextafter(math.inf, 0)
    while not fits(guess):
        guess = math.nextafter(guess, 0)
    while fits(up := math.nextafter(guess, math.inf)):
        guess = up
    return guess
