"""sympy under a time limit: it may take forever, and a library call may not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_GENERATOR
from time import monotonic
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class _Late(BaseException):
    """Not an Exception, so that a broad `except Exception` within sympy does not eat it."""


def within(seconds: float, work: Callable[[], T], otherwise: T) -> T:
    """The result of `work()`, or `otherwise` if sympy takes longer than `seconds` in it, or fails.

    The clock is read whenever a function of sympy is called, and work that is late ends there. Use it where the answer
    only makes things nicer, since `otherwise` must be right as well.

    >>> import sympy
    >>> within(5, lambda: sympy.factor("z**2 - 1"), None)
    (z - 1)*(z + 1)
    >>> within(0.01, lambda: [sympy.factor(f"z**{n} - 1") for n in range(10**6)], "too slow")
    'too slow'
    """
    end = monotonic() + seconds

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        # Only here: a callback of the garbage collector would lose the exception, and must not see it, and so would a
        # generator that is closed because nothing refers to it any more.
        if monotonic() <= end or frame.f_code.co_flags & CO_GENERATOR:
            return
        if str(frame.f_globals.get("__name__")).startswith("sympy."):
            raise _Late

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return work()
    except (Exception, _Late):
        return otherwise
    finally:
        sys.settrace(before)
