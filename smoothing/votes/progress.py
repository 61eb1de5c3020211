"""A progress bar with the time left, or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress_bar(total: int, label: str, show: bool) -> Iterator[Callable[[int], None]]:
    """Yields `advance(steps)`; speaks on stderr, only if `show`: a bar on a terminal, a line now and then elsewhere.

    >>> with progress_bar(10, "votes", show=False) as advance:
    ...     advance(10)
    """
    if not show:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield _lines(total, label, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


def _lines(total: int, label: str, console: Console) -> Callable[[int], None]:
    """For a log: a line after ten seconds, then every minute."""
    began = told = time.monotonic()
    done = 0

    def advance(steps: int) -> None:
        nonlocal told, done
        done += steps
        now = time.monotonic()
        if now - told > (10 if told == began else 60):
            told = now
            left = timedelta(seconds=round((now - began) / done * (total - done)))
            console.print(f"{label}: {done} of {total}, {left} left", highlight=False, soft_wrap=True)

    return advance
