"""How far a long task is, and the time it has left, on stderr: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

_FIRST, _LATER = 10.0, 60.0  # seconds until a log gets its first line, and the next one


class ProgressBar:
    """Shows how much of `total` is done, and the time left at the mean speed since it was made.

    `done` counts what an earlier session did. Without `show` all of it is silent; without `log` it speaks on a terminal
    only. With `after`, a bar appears so many seconds later, and goes when the task has ended.

    >>> with ProgressBar(10, "votes", show=False) as advance:
    ...     advance(10)
    """

    def __init__(
        self, total: int, label: str, show: bool = True, *, done: int = 0, log: bool = True, after: float = 0.0
    ) -> None:
        self.total, self.label, self.done = total, label, done
        self._first, self._after = done, after
        self._began = self._told = time.monotonic()
        self._console: Any = None
        self._bar: Any = None
        if show and (log or sys.stderr.isatty()):
            self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        self._console = console = Console(stderr=True)
        if console.is_terminal or console.is_jupyter:
            self._bar = Progress(  # in a narrow window the bar gets shorter, and the numbers stay whole
                TextColumn("{task.description}", table_column=Column(no_wrap=True)),
                BarColumn(bar_width=None, table_column=Column(ratio=1)),
                MofNCompleteColumn(table_column=Column(no_wrap=True)),
                TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True)),
                console=console,
                expand=True,
                transient=self._after > 0,
            )
            self._task = self._bar.add_task(self.label, total=self.total, completed=self.done, status="")

    def __enter__(self) -> Self:
        if self._bar is not None and not self._after:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, steps: int) -> None:
        """So much more is done."""
        self.at(self.done + steps)

    def at(self, done: int, status: str = "") -> None:
        """So much is done in all; `status` is what else there is to say."""
        self.done = done
        if self._console is None:
            return
        now = time.monotonic()
        left = timedelta(seconds=round((now - self._began) / max(done - self._first, 1) * (self.total - done)))
        said = f"{status}, {left} left" if status else f"{left} left"
        if self._bar is not None:
            if self._after and now - self._began > self._after:
                self._bar.start()
            self._bar.update(self._task, completed=done, status=said)
        elif now - self._told > (_FIRST if self._told == self._began else _LATER):
            self._told = now
            self.say(f"{self.label}: {done} of {self.total}, {said}")

    def say(self, line: str) -> None:
        """A line of its own, above the bar."""
        if self._console is not None:
            self._console.print(line, highlight=False, soft_wrap=True)
