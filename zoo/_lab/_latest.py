"""The newest input wins: work on older ones ends at its next pause, or is stopped where it takes long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Runs `steps(wanted)`, an asynchronous generator, for the newest thing asked for.

    Between two steps an input that is no longer the newest is dropped. If a run has taken `patience` seconds when
    something newer is asked for, `stop` is called, which should make the step that is under way end.
    `pause` seconds are waited before a run begins, so that a control that is being dragged does not start many.
    """

    def __init__(
        self,
        steps: Callable[[T], AsyncGenerator[None]],
        *,
        pause: float = 0.0,
        patience: float = float("inf"),
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._steps, self._pause, self._patience, self._stop = steps, pause, patience, stop
        self._wanted: T | None = None
        self._began = 0.0
        self._task: asyncio.Task[None] | None = None

    def ask(self, wanted: T) -> None:
        """From now on this is the newest."""
        self._wanted = wanted
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        elif time.monotonic() - self._began > self._patience:
            self._began = time.monotonic()
            self._stop()

    def is_newest(self, wanted: T) -> bool:
        """Whether nothing newer was asked for."""
        return self._wanted is wanted

    def close(self) -> None:
        """Want nothing any more."""
        self._wanted = None

    async def _run(self) -> None:
        served: T | None = None
        while self._wanted is not None and self._wanted is not served:
            await asyncio.sleep(self._pause)
            served, self._began = self._wanted, time.monotonic()
            if served is None:
                return
            async with aclosing(self._steps(served)) as steps:
                async for _ in steps:
                    if self._wanted is not served:
                        break
