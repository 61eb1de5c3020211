"""Pure-Python work under a time limit: sympy may take forever, and a library call may not."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class _Late(BaseException):
    """Raised inside the worker; not an Exception, so that a broad `except Exception` within sympy does not eat it."""


def within(seconds: float, work: Callable[[], T], otherwise: T) -> T:
    """The result of `work()`, or `otherwise` if it takes longer than `seconds` or fails.

    The work runs in a thread that is interrupted between two bytecodes, so it must be pure Python; results are never
    partial. Use it where the answer only makes things nicer, since `otherwise` must be right as well.

    >>> within(5, lambda: 6 * 7, 0)
    42
    >>> within(5, lambda: 1 // 0, 0)
    0
    """
    found: list[T] = []

    def run() -> None:
        try:
            found.append(work())
        except (Exception, _Late):
            return

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    while worker.is_alive() and worker.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident), ctypes.py_object(_Late))
        worker.join(0.05)
    return found[0] if found else otherwise
