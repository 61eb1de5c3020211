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

    Between two steps an input that is no longer the newest is dropped. Once a run has taken `patience` seconds and
    something newer is asked for, before or then, `stop` is called, which should make the step that is under way end.
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
        self._hurry: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self, wanted: T) -> None:
        """Make this the newest question; older ones are dropped."""
        self._wanted = wanted
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        elif self._hurry is None and self._patience < float("inf"):
            left = self._patience - (time.monotonic() - self._began)
            self._hurry = loop.call_later(max(0.0, left), self._make_way)

    def is_newest(self, wanted: T) -> bool:
        """Return whether nothing newer was asked for."""
        return self._wanted is wanted

    def close(self) -> None:
        """Want nothing any more."""
        self._wanted = None

    def _make_way(self) -> None:
        self._hurry, self._began = None, time.monotonic()
        self._stop()

    def _calm(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    async def _run(self) -> None:
        served: T | None = None
        while self._wanted is not None and self._wanted is not served:
            await asyncio.sleep(self._pause)
            self._calm()
            served, self._began = self._wanted, time.monotonic()
            if served is None:
                return
            async with aclosing(self._steps(served)) as steps:
                async for _ in steps:
                    if self._wanted is not served:
                        break
            self._calm()
