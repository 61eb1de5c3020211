"""Numbers a user writes, taken exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from ecm.errors import ECMError

Exact = int | float | str | Decimal | Fraction

_DIGITS = 12


def exact(value: Exact, name: str = "value") -> Fraction:
    """Return the number a person meant: 0.5 and "1/2" are 1/2; a float that needs more than 12 digits is refused.

    >>> exact(0.9), exact("1/3"), exact(18)
    (Fraction(9, 10), Fraction(1, 3), Fraction(18, 1))
    >>> exact(1 / 3, "p")
    Traceback (most recent call last):
        ...
    ecm.errors.ECMError: p = 0.3333333333333333 is a rounded float...
    """
    if isinstance(value, bool):
        raise ECMError(f"{name} = {value!r} is not a number")
    if isinstance(value, Rational):
        number = Fraction(value.numerator, value.denominator)
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > 3_300:
            raise ECMError(f"{name} is a number of more than 990 digits; write a shorter one")
        return number
    text = value if isinstance(value, str) else str(value)
    if len(text) > 200:
        raise ECMError(f"{name} has {len(text)} characters; numbers of up to 200 characters are read")
    exponent = text.lower().partition("e")[2]
    try:
        if exponent and abs(int(exponent)) > 1000:
            raise ECMError(f"{name} = {text} is out of range")
        number = Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ECMError(f"{name} = {value!r} is not a finite number; write 3, 0.5 or '1/3'") from error
    digits = text.lower().partition("e")[0].replace(".", "").lstrip("-0")
    if isinstance(value, float) and len(digits) > _DIGITS:
        near = number.limit_denominator(1000)
        raise ECMError(
            f"{name} = {value!r} is a rounded float, and no formula is meant to hold such a number; "
            f"write it exactly, as '{near}' or Fraction({near.numerator}, {near.denominator})"
        )
    return number
