"""sympy under a time limit: late work ends where nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType

from ecm.formula.deadline import within


def _numbers() -> Iterator[int]:
    yield from range(3)


def _of_sympy(function: object) -> FunctionType:
    """The same code as if it stood in sympy."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, {"__name__": "sympy.made", "range": range})


def test_a_generator_that_is_given_up_is_left_alone() -> None:
    """Python would drop an exception there, and stop watching the clock; the next call of a function ends the work."""
    numbers, call = _of_sympy(_numbers), _of_sympy(lambda: None)

    def given_up() -> str:
        steps = numbers()
        next(steps)
        del steps
        return "done"

    assert within(-1.0, given_up, "late") == "done"
    assert within(-1.0, lambda: (given_up(), call()), ("late",)) == ("late",)
