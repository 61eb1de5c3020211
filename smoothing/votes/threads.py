"""Doing independent pieces of work on several threads, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")


def in_order(work: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yield `map(work, jobs)`, computed by `threads` threads of one processor each; at most two pieces per thread are
    ahead.

    PyTorch's own threads share the work of one operation and wait for each other after each; threads with a batch
    each do not wait, and what runs between two operations is shared as well.

    >>> list(in_order(lambda job: job * job, range(5), threads=2))
    [0, 1, 4, 9, 16]
    """
    if threads <= 1:
        yield from map(work, jobs)
        return
    waiting = iter(jobs)
    inside = torch.get_num_threads()
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        ahead: deque[Future[Result]] = deque(pool.submit(work, job) for job in islice(waiting, 2 * threads))
        try:
            while ahead:
                result = ahead.popleft().result()
                ahead.extend(pool.submit(work, job) for job in islice(waiting, 1))
                yield result
        finally:
            for future in ahead:
                future.cancel()
            torch.set_num_threads(inside)  # a worker's setting is the default of threads that start later
