"""What a command is about to do and how long it will take, said before anything slow is imported."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from zoo.cli.options import speaks
from zoo.errors import DataError, ModelError
from zoo.models import PRETRAINED, model_folders, read_card
from zoo.names import DATASET_NAMES, MODEL_NAMES, closest, spelled


def announce(text: str) -> None:
    """Say a sentence on stderr, at once, in the leading process only."""
    if speaks():
        typer.echo(text, err=True)


def duration(seconds: float) -> str:
    """Return a length of time as people say it.

    >>> duration(0.4), duration(42), duration(150), duration(9000)
    ('a second', '40 seconds', '2 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds" if seconds < 10 else f"{round(seconds, -1):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def check_names(dataset: str, model: str | None) -> None:
    """Refuse an unknown data set or network before torch is loaded; where it is loaded already nothing is gained."""
    if "torch" in sys.modules:
        return
    if not Path(dataset).is_dir() and spelled(dataset, DATASET_NAMES) not in DATASET_NAMES:
        raise DataError(
            f"{dataset!r} is neither a data set ({', '.join(DATASET_NAMES)}) nor a folder of images"
            f"{_hint(dataset, DATASET_NAMES)}"
        )
    if model is not None and spelled(model, MODEL_NAMES) not in MODEL_NAMES:
        raise ModelError(f"model {model!r} is unknown{_hint(model, MODEL_NAMES)}. Known: {', '.join(MODEL_NAMES)}")


def _hint(name: str, known: tuple[str, ...]) -> str:
    close = closest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def training_cost(dataset: str, epochs: int | None, usual: bool) -> str:
    """Say how long a training will take: as long as a packaged model of the same data took, if it is the usual one."""
    name = spelled(dataset, DATASET_NAMES)
    for folder in model_folders(PRETRAINED) if usual else ():
        with suppress(ModelError, KeyError, TypeError, ZeroDivisionError):
            card = read_card(folder)
            training = card["training"]
            if card["data"]["name"] == name and training["preset"] == "fast":
                passes = training["epochs"] if epochs is None else epochs
                each = training["seconds_of_last_session"] / training["epochs"]
                return (
                    f"about {duration(each * passes)} on one CPU core ({passes} epochs, at the speed that "
                    f"{folder.name} had)"
                )
    return "the time left is shown after the first steps"


def certification_cost(folder: Path, limit: int | None) -> str:
    """Say what certifying a model costs: forward passes, and the time that an image took when it was done before."""
    card = read_card(folder)
    samples = int(card["coupling"]["samples"])
    before = _seconds_per_image(folder)
    images = limit or card.get("certification", {}).get("of")
    which = "all test images" if limit is None else f"{limit} test images"
    count = f", {images * samples:,} forward passes" if images else ""
    took = ""
    if before and images:
        took = f"; about {duration(before * images)} at the {before:.2g} s per image that this model took before"
    return f"{which}, {samples} votes each{count}{took}. Votes that are recorded already are not cast again"


def _seconds_per_image(folder: Path) -> float | None:
    """The mean time of the rows of `certify.tsv`, without those whose votes were there already."""
    found: list[float] = []
    with suppress(OSError, ValueError, IndexError):
        for line in (folder / "certify.tsv").read_text().splitlines()[1:]:
            hours, minutes, seconds = line.split("\t")[5].split(":")
            found.append(3600 * int(hours) + 60 * int(minutes) + float(seconds))
    return sum(found) / len(found) if found else None


def recipe_changes(preset: str, epochs: int | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the settings after checking their names, kinds and ranges, and the name of the preset."""
    from zoo.training import preset as find_preset

    find_preset(preset, 50_000, (3, 32, 32)).recipe.changed(
        changes if epochs is None else {**changes, "epochs": epochs}
    )
    return changes
