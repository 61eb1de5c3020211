"""A time limit that loops ask, so that nothing hangs."""

from __future__ import annotations

import time

from ecm.errors import Undecided


class Clock:
    """Runs for `seconds`; `check` raises Undecided afterwards."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    def check(self, doing: str) -> None:
        if time.monotonic() > self.end:
            raise Undecided(f"{doing} was not finished within {self.seconds:g} s")
