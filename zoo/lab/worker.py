"""A process that computes for the page: the page stays quick, and what takes too long is ended for good.

One process computes one thing at a time, so the library's working precision, which its threads would share, is safe.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import ParamSpec, TypeVar, cast

from ecm.errors import ECMError

P = ParamSpec("P")
T = TypeVar("T")

_START = 300.0  # seconds to import everything on a busy machine


class TooSlow(ECMError):
    """A computation did not finish in its time; its process was ended."""


class Failed(ECMError):
    """A computation raised, or its process died."""


class Stopped(Failed):
    """A computation was interrupted for the sake of another."""


class Worker:
    """Runs functions of importable modules in a process of its own, one after the other, each within its time.

    >>> worker = Worker("math")
    >>> import math
    >>> asyncio.run(worker(10, math.sqrt, 2.25))
    1.5
    >>> worker.close()
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._lock = asyncio.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._computing = self._interrupted = False

    async def __call__(self, seconds: float, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """function(*args, **kwargs), or TooSlow after `seconds` of it, or Failed with the text of its error."""
        async with self._lock:
            ok, answer = await asyncio.to_thread(self._exchange, seconds, (function, args, kwargs))
        if not ok:
            raise Failed(str(answer))
        return cast(T, answer)

    async def warm(self) -> None:
        """Start the process now, so that the first question does not wait for its imports."""
        async with self._lock:
            with suppress(ECMError):  # whoever asks first is told
                await asyncio.to_thread(self._ready)

    def close(self) -> None:
        """End the process; the next call would start another."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None  # first: a thread that waits for an answer may close as well
        if process is not None and pipe is not None:
            process.kill()
            process.join()
            pipe.close()

    def interrupt(self) -> None:
        """End what is being computed, if anything is; whoever waits for it gets Stopped."""
        if self._computing and self._process is not None:
            self._interrupted = True
            self._process.kill()

    def _exchange(self, seconds: float, question: object) -> tuple[bool, object]:
        pipe = self._ready()
        self._computing, self._interrupted = True, False
        try:
            pipe.send(question)
            if pipe.poll(seconds):
                answer: tuple[bool, object] = pipe.recv()
                return answer
        except (EOFError, OSError):
            self.close()
            if self._interrupted:
                raise Stopped("made way for something newer") from None
            raise Failed("the computing process ended unexpectedly; it may have run out of memory") from None
        finally:
            self._computing = False
        self.close()
        raise TooSlow(f"stopped after {seconds:g} s")

    def _ready(self) -> Connection:
        """Return the pipe to a process that is up."""
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self.close()
            context = get_context("spawn")
            ours, theirs = context.Pipe()
            self._process = context.Process(target=_compute, args=(theirs, self._modules), daemon=True)
            self._pipe = ours
            self._process.start()
            theirs.close()
            try:
                up = ours.poll(_START) and ours.recv()
            except (EOFError, OSError):
                up = False
            if not up:
                self.close()
                raise Failed("the computing process did not start")
        return self._pipe


def _compute(pipe: Connection, modules: tuple[str, ...]) -> None:
    """The life of the process: answer until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the pipe
    for module in modules:
        import_module(module)
    try:
        pipe.send(True)
        while True:
            function, args, kwargs = pipe.recv()
            try:
                answer = (True, function(*args, **kwargs))
            except Exception as error:
                answer = (False, str(error) or type(error).__name__)
            pipe.send(answer)
    except (EOFError, OSError):
        return
