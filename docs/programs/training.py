"""What `docs/training.md` says: what was tried to raise base accuracy, as `docs/records/recipe.json` lists it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.programs.records import RECORDS, recipe
from docs.programs.text import percent, rendered, table


def page(records: Path = RECORDS) -> str:
    """The markdown."""
    return rendered("training.jinja", {"recipe": _tried(recipe(records))})


def _tried(tried: list[dict[str, Any]]) -> str:
    """One row for each entry of `recipe.json`; what was not measured stays empty."""
    keys = ("what", "epochs", "lr", "base_accuracy", "images", "core_minutes", "note")
    rows = []
    for row in tried:
        cells = {key: row.get(key) for key in keys}
        base = cells["base_accuracy"]
        cells["base_accuracy"] = None if base is None else percent(base if base <= 1 else base / 100)
        rows.append(["" if cell is None else str(cell) for cell in cells.values()])
    head = ["what", "epochs", "learning rate", "base accuracy (%)", "images", "core minutes", "note"]
    return table(head, rows) if rows else ""
