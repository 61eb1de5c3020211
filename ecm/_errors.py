"""The package's own exceptions. Every one says what was given, which condition fails and what to write instead."""

from __future__ import annotations


class ECMError(ValueError):
    """Base of every error this package raises on purpose."""


class ExpressionError(ECMError):
    """The text is not a formula this package reads. `position` is the offset of the offending character."""

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        self.text = text
        self.position = position
        self.message = message
        if position is not None and text:
            start, place = max(0, position - 30), f"  at position {position}: "
            excerpt = text[start : position + 30].replace("\n", " ")
            message = f"{message}\n{place}{excerpt}\n{' ' * (len(place) + position - start)}^"
        super().__init__(message)


class NotAnECM(ECMError):
    """The function is not the g of an ECM. `condition` names what fails, `witness` shows where."""

    def __init__(self, message: str, condition: str, witness: str) -> None:
        self.condition = condition
        self.witness = witness
        super().__init__(message)


class Undecided(ECMError):
    """A condition could be neither proved nor refuted within the limits. Nothing is accepted on that ground."""


class AllocationError(ECMError):
    """Weights that do not form a sound allocation, or a solver's answer that fails the exact check."""


class DesignError(ECMError):
    """Outcomes that do not form a sound design for the metric."""


class Undefined(ECMError):
    """A formula has no real value at some point: a root or logarithm of a negative number, a division by zero."""
