"""Where a run takes place: its folder, held by one process, and the device of its network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ecm.files import remove_parts
from zoo.distributed import Workers
from zoo.errors import CertifyError, ModelError
from zoo.files import alone
from zoo.folder import CARD
from zoo.models import PRETRAINED, RUNS, Model


def run_folder(model: Model, out: str | os.PathLike[str] | None) -> Path:
    """Return where the run is kept: a model that comes with the package stays as it is, and another model's folder
    too."""
    usual = RUNS / model.name if model.path.parent == PRETRAINED else model.path
    return usual if out is None else Path(out)


def is_home(folder: Path, model: Model) -> bool:
    """Return whether the run is kept in the folder of its model; the folder of another model is refused."""
    home = folder.resolve() == model.path.resolve()
    if not home and (folder / CARD).exists():
        raise ModelError(f"{folder} is the folder of another model, which would be spoilt: choose another out")
    return home


@contextmanager
def held_by_leader(here: Workers, folder: Path) -> Iterator[None]:
    """The folder for this run alone: the leading process takes it while the others wait."""
    with ExitStack() as held:
        if here.leads:
            held.enter_context(alone(folder))
            remove_parts(folder)
        here.wait()
        yield


@contextmanager
def moved_to(model: Model, here: Workers) -> Iterator[None]:
    """The network on the process's device, and back where it was afterwards."""
    before = model.device
    model.base.to(here.device)
    try:
        yield
    finally:
        model.base.to(before)


@contextmanager
def kept_on_disk(folder: Path) -> Iterator[None]:
    """A full disk or a missing permission, said in one sentence; what was finished is kept."""
    try:
        yield
    except OSError as error:
        raise CertifyError(
            f"{error.filename or folder} could not be written: {error.strerror or error}. Finished images are kept; "
            "free some space or choose another folder (out=...), then run the same command again to resume"
        ) from error
