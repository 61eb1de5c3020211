"""A progress bar with the time left, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, label: str, show: bool) -> Iterator[Callable[[int], None]]:
    """Yields `advance(steps)`; draws on the terminal only if `show`.

    >>> with progress_bar(10, "votes", show=False) as advance:
    ...     advance(10)
    """
    if not show:
        yield lambda steps: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn()) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)
