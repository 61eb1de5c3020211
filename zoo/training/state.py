"""The state of a run on disk: saved as a whole, restored as a whole, and refused where it belongs to another run."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor

from ecm.files import remove_parts
from smoothing import Record
from smoothing.scheme import Noise
from zoo.data import Dataset
from zoo.distributed import Workers
from zoo.errors import CheckpointError, TrainingError
from zoo.files import alone, load_tensors, save_tensors
from zoo.folder import ABOUT, CARD, CHECKPOINT, TABLE, VOTES
from zoo.models import Base
from zoo.training.identity import REPLACE, Identity
from zoo.training.optimizer import Average
from zoo.training.recipe import Recipe
from zoo.training.teachers import Teachers


@attrs.frozen
class Run:
    """All that one training run needs."""

    base: Base
    noise: Noise
    data: Dataset
    recipe: Recipe
    seed: int
    folder: Path
    workers: Workers
    identity: Identity
    teachers: Teachers | None = None
    progress: bool = True
    checkpoint_seconds: float = 60.0


@contextmanager
def prepared(folder: Path, resume: bool) -> Iterator[None]:
    """The folder of a run, for this process alone; without `resume` what an earlier run left in it is removed, its
    certification too: votes of other weights are of no use to a new model."""
    with ExitStack() as held:
        try:
            held.enter_context(alone(folder))
            remove_parts(folder)
            voted = Record.exists(folder / VOTES)
            if resume and voted:
                raise CheckpointError(
                    f"{folder} holds the certification of another model: choose another out, or {REPLACE} deletes it"
                )
            if not resume:
                for name in (CHECKPOINT, CARD, ABOUT, TABLE):
                    (folder / name).unlink(missing_ok=True)
                if voted:
                    shutil.rmtree(folder / VOTES)
        except OSError as error:
            raise TrainingError(
                f"the run folder {folder} cannot be used: {error.strerror}; choose another `out`"
            ) from error
        yield


@contextmanager
def prepared_by_leader(here: Workers, folder: Path, resume: bool) -> Iterator[None]:
    """Prepare the folder of a run that several processes share: the leading one does it while the others wait."""
    with ExitStack() as held:
        here.wait()  # nobody may see what the leader is about to write
        if here.leads:
            held.enter_context(prepared(folder, resume))
        here.wait()
        yield


def save(
    run: Run, step: int, sums: Tensor, optimizer: torch.optim.Optimizer, average: Average, *, seconds: float
) -> None:
    """The whole state of the run, if it is sound; `seconds` is what it took so far."""
    tensors = {f"base.{name}": value for name, value in run.base.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in average.state.items()} if average.decay else {}
    for name, parameter in run.base.named_parameters():
        momentum = optimizer.state.get(parameter, {}).get("momentum_buffer")
        if momentum is not None:
            tensors[f"momentum.{name}"] = momentum
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise TrainingError(diverged(run, step))
    facts = {"step": step, "sums": sums.tolist(), "seconds": seconds, "run": attrs.asdict(run.identity)}
    save_tensors(run.folder / CHECKPOINT, tensors, facts)


def restore(run: Run, optimizer: torch.optim.Optimizer, average: Average) -> tuple[int, Tensor, float]:
    """Return the step to go on with, the sums of the epoch so far, and the seconds of the run so far; all else is put
    in its place."""
    sums = torch.zeros(3, device=run.workers.device)
    if not (run.folder / CHECKPOINT).exists():
        return 0, sums, 0.0
    tensors, facts = load_tensors(run.folder / CHECKPOINT)
    run.identity.require(run.folder, facts["run"])
    parts: dict[str, dict[str, Tensor]] = {"base": {}, "average": {}, "momentum": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = value
    try:
        run.base.load_state_dict(parts["base"])
    except RuntimeError as error:
        raise CheckpointError(
            f"{run.folder / CHECKPOINT} is of another network ({str(error).splitlines()[-1].strip()}): pass the "
            f"network of that run, choose another out, or {REPLACE} to replace it"
        ) from error
    for name, value in parts["average"].items():
        average.state[name].copy_(value)
    for name, parameter in run.base.named_parameters():
        if name in parts["momentum"]:
            optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(parts["momentum"][name])
    spent = float(facts.get("seconds", 0.0))  # which earlier versions did not keep
    return int(facts["step"]), sums + torch.tensor(facts["sums"], device=sums.device), spent


def diverged(run: Run, step: int) -> str:
    kept = (
        "its last good state is kept in " + str(run.folder)
        if (run.folder / CHECKPOINT).exists()
        else "nothing was saved"
    )
    return (
        f"the loss became NaN or infinite at step {step} (lr {run.recipe.lr}); the run is stopped, {kept}. "
        f"Start again with a smaller lr, a longer warmup or a smaller clip, and {REPLACE}"
    )


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM, to finish a step and save before the run ends; a second one is not caught."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: Any) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
