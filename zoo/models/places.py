"""Where models lie, and their cards: what can be known of a model without loading it. Nothing slow is imported here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ecm.spelling import closest, spelled
from zoo.errors import ModelError
from zoo.folder import CARD, OLD_WEIGHTS, WEIGHTS, read_description

FORMAT = "ecm-model-1"
AGAIN = "train again with --no-resume"  # resume=False: without it a folder that holds a card is left as it is
PRETRAINED = Path(__file__).parent.parent / "pretrained"
RUNS = Path("runs")


def find_model(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a model: a path, a name in `runs`, or the name of a model that comes with the package.

    >>> find_model("Digits_L0.5_A4").name
    'digits-l0.5-a4'
    """
    if not isinstance(name, str | os.PathLike):
        raise ModelError(f"a model of type {type(name).__name__}: give its folder or its name")
    known = [folder.name for folder in model_folders(RUNS, PRETRAINED)]
    for one in dict.fromkeys((str(name), spelled(str(name), known))):
        for folder in (Path(one), RUNS / one, PRETRAINED / one):
            if (folder / CARD).exists():
                return folder
    for folder in (Path(name), RUNS / name):
        if folder.is_dir():
            raise ModelError(
                f"{folder} holds no finished model: {CARD} is missing. If its training was stopped, run the same train "
                "again"
            )
    close = closest(str(name), known)
    hint = f"did you mean {close!r}?" if close else f"known names: {', '.join(known) or 'none yet'}"
    raise ModelError(f"{str(name)!r} is neither the folder of a model nor a known name; {hint}")


def model_folders(*roots: Path) -> Iterator[Path]:
    """Yield the folders of finished models: a root that is one, or those that lie directly in it."""
    for root in roots:
        if (root / CARD).exists():
            yield root
        elif root.is_dir():
            yield from sorted(folder for folder in root.iterdir() if (folder / CARD).exists())


def read_card(path: Path) -> dict[str, Any]:
    """Return the card of a model's folder, or raise an error that says why this is no such folder."""
    missing = f"holds no model: {CARD} is missing; name a folder that `ecm train` made"
    return read_description(path / CARD, FORMAT, missing=missing, again=f"restore it, or {AGAIN}")


def weights_path(folder: Path) -> Path:
    """Return the file of the weights in a folder: folders of earlier versions have another name for it.

    >>> weights_path(Path("runs") / "none").name
    'model.safetensors'
    """
    old = folder / OLD_WEIGHTS
    return old if old.exists() and not (folder / WEIGHTS).exists() else folder / WEIGHTS
