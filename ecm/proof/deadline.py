"""A time limit that loops ask, so that nothing hangs."""

from __future__ import annotations

import time

from ecm.errors import Undecided


class Deadline:
    """Runs for `seconds`; `check` raises Undecided afterwards.

    >>> Deadline(60).check("the proof")
    >>> Deadline(-1).check("the proof")
    Traceback (most recent call last):
        ...
    ecm.errors.Undecided: the proof was not finished within -1 s
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._end

    def check(self, doing: str) -> None:
        """Raises Undecided if the time is over; `doing` says what was not finished."""
        if self.passed:
            raise Undecided(f"{doing} was not finished within {self.seconds:g} s")
