"""`certify.json`: what a certification run was asked for, what the columns of its table mean, and the accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from smoothing import Header
from smoothing.certificates import RUNOFF_METHODS
from zoo.certification.certification import ALL_METHODS, methods_up_to
from zoo.certification.table import MEANING
from zoo.certification.unit import Unit
from zoo.data import Dataset
from zoo.errors import ModelError
from zoo.files import write_json
from zoo.folder import ABOUT, read_description
from zoo.models import Model

FORMAT = "ecm-certification-1"
_ENTRIES = (
    *("model", "weights", "scheme", "tolerance", "certificate", "radii"),
    *("data.name", "data.test_digest", "data.test_images"),
    *("card.model.name", "card.data.name", "card.data.digest"),
)
_IDENTITY = ("weights", "scheme", "data", "tolerance", "certificate")


def about_run(
    model: Model, data: Dataset, header: Header, certificate: str, radii: Sequence[Fraction]
) -> dict[str, Any]:
    """Return what `certify.json` says before the run has counted anything; `summary` is added at its end."""
    methods = methods_up_to(certificate)
    return {
        "format": FORMAT,
        "model": model.name,
        "weights": header.model,
        "scheme": header.scheme,
        "data": {"name": data.name, "test_digest": header.data, "test_images": len(data.test)},
        "tolerance": header.tolerance,
        "rule": "runoff" if certificate in RUNOFF_METHODS else "plurality",
        "certificate": certificate,
        "radius": Unit.under(model.scheme).name,
        "radii": [str(r) for r in radii],
        "columns": {name: text for name, text in MEANING.items() if name in methods or name not in ALL_METHODS},
        "card": {part: value for part, value in model.card.items() if part != "certification"},
    }


def same_run(folder: Path, about: dict[str, Any]) -> bool:
    """Return whether the table in the folder has rows of this very run: weights, scheme, data, tolerance and
    certificate."""
    before = read_about(folder) if (folder / ABOUT).exists() else {}
    return all(before.get(key) == about[key] for key in _IDENTITY)


def read_about(folder: Path) -> dict[str, Any]:
    """Return `certify.json` of a folder, or an error that says what to do."""
    missing = f"holds no certification: {ABOUT} is missing; run `ecm certify {folder}`"
    about = read_description(folder / ABOUT, FORMAT, missing=missing, again="delete it and certify again")
    for path in _ENTRIES:
        part: Any = about
        for key in path.split("."):
            part = part.get(key) if isinstance(part, dict) else None
        if part is None:
            raise ModelError(f"{folder / ABOUT} is damaged, it lacks the entry {path}: delete it and certify again")
    return about


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Put `certify.json` in place in one step."""
    write_json(folder / ABOUT, about)
