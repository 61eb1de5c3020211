"""What a command is about to do and how long it will take, said before anything slow is imported."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from ecm.spelling import closest, spelled
from zoo.cli.options import fitting, speaks
from zoo.errors import DataError, ModelError, SettingError
from zoo.folder import TABLE
from zoo.models import PRETRAINED, find_model, model_folders, read_card
from zoo.names import DATASET_NAMES, MODEL_NAMES, TABLE_NAMES, known_size

_IMAGES = {"digits": 1438}  # training images of a data set that is not a large one


def announce(text: str) -> None:
    """Print a sentence on stderr at once, in the leading process only."""
    if speaks():
        typer.echo(fitting(text), err=True)


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
    """Refuse an unknown data set or network before torch is loaded; if torch is loaded already, leave it to `train`."""
    if "torch" in sys.modules:
        return
    if not Path(dataset).is_dir() and spelled(dataset, DATASET_NAMES) not in DATASET_NAMES:
        raise DataError(
            f"{dataset!r} is neither a data set ({', '.join(DATASET_NAMES)}) nor a folder of images"
            f"{_hint(dataset, DATASET_NAMES)}"
        )
    of_sklearn = spelled(dataset, DATASET_NAMES) in TABLE_NAMES  # its classifiers are looked up by `train`
    if model is not None and not of_sklearn and spelled(model, MODEL_NAMES) not in MODEL_NAMES:
        raise ModelError(f"model {model!r} is unknown{_hint(model, MODEL_NAMES)}. Known: {', '.join(MODEL_NAMES)}")


def check_start(start: str, model: str | None) -> None:
    """Refuse a model to start from that does not exist, or that has another network, before torch is loaded."""
    network = read_card(find_model(start)).get("model", {}).get("name")
    if model is not None and spelled(model, MODEL_NAMES) != network:
        raise ModelError(
            f"--start {start}: its network is {network!r}, not {spelled(model, MODEL_NAMES)!r}; leave out --model"
        )


def check_model(name: str) -> None:
    """Refuse a model that does not exist before torch is loaded."""
    read_card(find_model(name))


def levels_of(dataset: str, root: Path | None) -> int:
    """Return q of a data set, without loading it if it is known by name."""
    known = known_size(dataset)
    if known is not None:
        return known[1]
    from zoo.data import load_data

    return load_data(dataset, root).q


def check_formulas(count: int, dataset: str) -> None:
    """Refuse several formulas unless there is one per channel (or column) of a known data set."""
    known = known_size(dataset)
    if count > 1 and known is not None and count != known[0]:
        raise SettingError(
            f"{count} formulas were given, but the first axis of {dataset} (channels or columns) has length "
            f"{known[0]}; write one formula for all features, or {known[0]} formulas"
        )


def _hint(name: str, known: tuple[str, ...]) -> str:
    close = closest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def training_cost(dataset: str, epochs: int | None, preset: str | None) -> str:
    """Return how long a training by this preset will take: an epoch takes as long as it did for a packaged model of the
    same data and network, with or without teachers. None is for a training with changes, which no model tells about."""
    from zoo.training import preset as find_preset
    from zoo.training import seconds_of

    name = spelled(dataset, DATASET_NAMES)
    for folder in model_folders(PRETRAINED) if preset is not None else ():
        with suppress(ModelError, KeyError, TypeError, ZeroDivisionError):
            card = read_card(folder)
            training, data = card["training"], card["data"]
            chosen = find_preset(str(preset), _IMAGES.get(name, 50_000), tuple(data["shape"]))
            alike = card["model"]["name"] == chosen.model and ("teacher" in training) == (chosen.teachers > 0)
            if data["name"] == name and alike:
                passes = chosen.recipe.epochs if epochs is None else epochs
                each = seconds_of(training) / training["epochs"]
                before = f", after {chosen.teachers} teachers" if chosen.teachers else ""
                return (
                    f"about {duration(each * passes)} on one CPU core ({passes} epochs, at the speed of "
                    f"{folder.name}){before}"
                )
    return "the remaining time is shown after the first steps"


def certification_cost(folder: Path, limit: int | None) -> str:
    """Return what certifying a model costs: forward passes, and the time if images were certified before."""
    card = read_card(folder)
    samples = int(card["coupling"]["samples"])
    before = _seconds_per_image(folder)
    images = limit or card.get("certification", {}).get("of")
    things = "rows" if "table" in card.get("data", {}) else "images"
    which = f"{'all' if limit is None else limit} test {things}"
    count = f", {images * samples:,} forward passes" if images else ""
    took = ""
    if before and images:
        took = (
            f"; about {duration(before * images)} at the {before:.2g} s per {things[:-1]} that this model took before"
        )
    return f"{which}, {samples} votes each{count}{took}. Recorded votes are not cast again"


def attack_cost(folder: Path, limit: int, budget: float) -> str:
    """Return what an attack with `budget` votes per image costs at most: forward passes, and the time if known."""
    samples = int(read_card(folder)["coupling"]["samples"])
    before = _seconds_per_image(folder)
    took = (
        f"; at most about {duration(before * budget * limit)} at this model's {before:.2g} s per vote" if before else ""
    )
    return f"{limit} test images, at most {budget * samples * limit:,.0f} forward passes{took}"


def _seconds_per_image(folder: Path) -> float | None:
    """Return the mean time per row of `certify.tsv`."""
    found: list[float] = []
    with suppress(OSError, ValueError, IndexError):
        for line in (folder / TABLE).read_text().splitlines()[1:]:
            hours, minutes, seconds = line.split("\t")[5].split(":")
            found.append(3600 * int(hours) + 60 * int(minutes) + float(seconds))
    return sum(found) / len(found) if found else None


def recipe_changes(preset: str, epochs: int | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the settings after checking the preset and the name, type and range of each setting."""
    from zoo.training import preset as find_preset

    find_preset(preset, 50_000, (3, 32, 32)).recipe.changed(
        changes if epochs is None else {**changes, "epochs": epochs}
    )
    return changes
