"""All models that are known, as a table, read from their cards. Nothing slow is imported here."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ecm.errors import ECMError
from zoo.errors import ModelError
from zoo.folder import CARD
from zoo.models.places import AGAIN, PRETRAINED, RUNS, model_folders, read_card, weights_path

if TYPE_CHECKING:
    from pandas import DataFrame


@attrs.frozen
class Listing:
    """A model as its card describes it; accuracies are None until they are measured.

    `votes` is the number of forward passes per image, `size` that of the file of the weights in bytes, and `certified`
    has a pair (radius, accuracy) for each radius of the card's table, in `unit`.

    >>> one = Listing.of(PRETRAINED / "digits-l0.5-a4")
    >>> one.name, one.metric, one.budget, one.certified_at
    ('digits-l0.5-a4', 'z**(1/2)/4', 512, '62.4% at 2')
    """

    name: str
    path: Path
    data: str
    metric: str
    budget: int
    base_accuracy: float | None
    smoothed_accuracy: float | None
    images: int | None
    votes: int
    size: int
    unit: str | None = None
    method: str | None = None
    certified: tuple[tuple[str, float], ...] = ()

    @property
    def certified_at(self) -> str:
        """The largest radius of the table with at least half of the smoothed accuracy, and the accuracy there."""
        half = (self.smoothed_accuracy or 0.0) / 2
        held = [(Fraction(radius), share) for radius, share in self.certified if share >= half]
        return f"{100 * held[-1][1]:.1f}% at {float(held[-1][0]):g}" if held else ""

    @classmethod
    def of(cls, folder: Path) -> Listing:
        """Read from the card alone; nothing is loaded."""
        card = read_card(folder)
        found = card.get("certification")
        weights = weights_path(folder)
        try:
            measured = found or {"base_accuracy": card.get("accuracy", {}).get("base", {}).get("value")}
            method = measured.get("certificate")
            return cls(
                folder.name,
                folder,
                card["data"]["name"],
                ", ".join(part["g"] for part in card["law"]),
                card["design"]["budget"],
                measured.get("base_accuracy"),
                measured.get("smoothed_accuracy"),
                measured.get("images"),
                card["coupling"]["samples"],
                weights.stat().st_size if weights.exists() else 0,
                measured.get("radius_unit"),
                method,
                tuple((row["radius"], row[method]) for row in measured.get("certified_accuracy", ())),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{folder / CARD} lacks the entry {error}: restore the card, or {AGAIN}") from error

    def row(self) -> dict[str, Any]:
        """Return the model as a row of a table."""
        return {
            "name": self.name,
            "data": self.data,
            "g(z)": self.metric,
            "votes": self.votes,
            "images": self.images,
            "base": self.base_accuracy,
            "smoothed": self.smoothed_accuracy,
            "certified": self.certified_at,
            "radius": self.unit,
            "size": f"{self.size / 1e6:.1f} MB",
        }


class Listings(list[Listing]):
    """The models that were found: a list that prints as a table, here, in a notebook and as a pandas frame.

    >>> print(list_models(PRETRAINED)[:0])
    No models.
    """

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return Listings(found) if isinstance(key, slice) else found

    def table(self) -> list[list[str]]:
        """Return the cells of the table as text, its head first."""
        rows = [model.row() for model in self]
        return [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)] if rows else []

    def __repr__(self) -> str:
        rows = self.table()
        if not rows:
            return "No models."
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        from zoo.frames import html_table

        rows = self.table()
        return html_table(rows[0], rows[1:]) if rows else "<p>No models.</p>"

    def to_pandas(self) -> DataFrame:
        """Return one row per model; accuracies are shares, nan until measured."""
        from zoo.frames import frame

        rows = [model.row() for model in self]
        return frame(rows, list(rows[0]) if rows else ["name"])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.1%}" if isinstance(value, float) else str(value)


def list_models(*folders: str | os.PathLike[str]) -> Listings:
    """Return the models in these `folders` (each a model or a folder of models), as a list that prints as a table; by
    default those that come with the package and those in `runs`. A folder that is damaged is an error only when it is
    named itself.

    >>> "digits-l0.5-a4" in repr(list_models())
    True
    """
    roots = [Path(folder) for folder in folders] or [PRETRAINED, RUNS]
    for root in roots:
        if folders and not root.is_dir():
            raise ModelError(f"{root} is not a folder: name one that holds models, or none for all that are known")
    found = Listings()
    for folder in model_folders(*roots):
        try:
            found.append(Listing.of(folder))
        except ECMError:
            if folder in roots:
                raise
    return found
