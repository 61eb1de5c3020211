"""One process or many: which part of each batch is ours, and on which device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import torch
from torch import Tensor
from torch import distributed as dist

from zoo.errors import TrainingError


def choose_device(device: str | torch.device | None = None, local_rank: int = 0) -> torch.device:
    """Return the device asked for, or a GPU when there is one, else the CPU.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda", local_rank)
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise TrainingError(f"device {device!r} is unknown; write 'cpu', 'cuda' or 'cuda:1'") from error
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index = local_rank if chosen.index is None else chosen.index
        if index >= count:
            raise TrainingError(
                f"device {str(device)!r} was asked for, but torch {torch.__version__} sees {count} CUDA devices here; "
                "leave the device out, or write 'cpu'"
            )
        return torch.device("cuda", index)
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise TrainingError("device 'mps' was asked for, but this machine has none; leave the device out")
    return chosen


@attrs.frozen
class Workers:
    """This process among `world` equal ones; rank 0 writes. Rank r computes the images r, r + world, ... of a batch."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """Return our part of something that has one entry per image of the whole batch."""
        return batch[self.rank :: self.world]

    def total(self, *counts: float) -> list[float]:
        """Return sums over all processes."""
        if self.world == 1:
            return list(counts)
        sums = torch.tensor(counts, dtype=torch.float64, device="cpu" if self.device.type == "cpu" else self.device)
        dist.all_reduce(sums)
        return [float(value) for value in sums]

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


@contextmanager
def workers(device: str | torch.device | None = None) -> Iterator[Workers]:
    """The processes that torchrun started (gloo on CPUs, nccl on GPUs), or this one alone."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or "RANK" not in os.environ:
        yield Workers(choose_device(device))
        return
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    ours = not dist.is_initialized()
    if ours:
        if chosen.type == "cuda":
            torch.cuda.set_device(chosen)
        dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Workers(chosen, dist.get_rank(), dist.get_world_size())
    finally:
        if ours:
            dist.destroy_process_group()
