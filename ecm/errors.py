"""The package's own exceptions. Every one says what was given, which condition fails and what to write instead."""

from __future__ import annotations

from fractions import Fraction

import attrs


class ECMError(ValueError):
    """Base of every error this package raises on purpose.

    >>> from ecm import ECM, ECMError
    >>> try:
    ...     ECM.lp("1/2", alpha=-18)
    ... except ECMError as error:
    ...     print(error)
    alpha = -18: the metric is z**p/alpha, write a positive alpha
    """


class ExpressionError(ECMError):
    """The text is not a formula this package reads. `position` is the offset of the offending character.

    >>> from ecm import ECM
    >>> ECM.from_expr("z**0.5 + y")
    Traceback (most recent call last):
        ...
    ecm.errors.ExpressionError: ...
    """

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        self.text = text
        self.position = position
        self.message = message
        if position is not None and text:
            start, place = max(0, position - 30), f"  at position {position}: "
            excerpt = text[start : position + 30].replace("\n", " ")
            message = f"{message}\n{place}{excerpt}\n{' ' * (len(place) + position - start)}^"
        super().__init__(message)


@attrs.frozen
class Witness:
    """The exact numbers at which a condition fails: distances z, or places k in a table.

    >>> print(Witness((Fraction(0), Fraction(1, 4), Fraction(1, 2))))
    z = 0, 1/4, 1/2
    """

    points: tuple[Fraction, ...]
    name: str = "z"

    def __str__(self) -> str:
        return f"{self.name} = {', '.join(map(str, self.points))}"


class NotAnECM(ECMError):
    """The function is not the g of an ECM. `condition` names what fails, and the points of `witness` show it.

    >>> from ecm import ECM, NotAnECM
    >>> try:
    ...     ECM.from_expr("z**2")
    ... except NotAnECM as error:
    ...     print(error.condition, "fails at", error.witness)
    concave fails at z = 0, 1/4, 1/2
    """

    def __init__(self, message: str, condition: str, witness: Witness) -> None:
        self.condition = condition
        self.witness = witness
        super().__init__(message)


class Undecided(ECMError):
    """A condition could be neither proved nor refuted within the limits. Nothing is accepted on that ground.

    >>> from ecm import ECM
    >>> ECM.from_expr("z**0.3137*log1p(z**0.6173)**0.3/3", seconds=1)
    Traceback (most recent call last):
        ...
    ecm.errors.Undecided: ...'concave' is open...grid=255...
    """


class AllocationError(ECMError):
    """Weights that do not form a sound allocation, or a solver's answer that fails the exact check.

    >>> from ecm import ECM, verify_allocation
    >>> verify_allocation(ECM.l1(1).profile, {1: 5}, budget=4, q=2)
    Traceback (most recent call last):
        ...
    ecm.errors.AllocationError: ...
    """


class DesignError(ECMError):
    """Outcomes that do not form a sound design for the metric.

    >>> from ecm import ECM, Design
    >>> Design.from_rows(ECM.l1(2), [[1], [1], [2]], q=2, budget=4)
    Traceback (most recent call last):
        ...
    ecm.errors.DesignError: ...
    """


class Undefined(ECMError):
    """A formula has no real value at some point: a root or logarithm of a negative number, a division by zero."""
