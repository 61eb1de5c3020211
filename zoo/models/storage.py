"""The files of a model's folder: weights, scheme and card, and whether a model in memory is the one they hold."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from smoothing.scheme import Scheme
from zoo.errors import ModelError
from zoo.files import load_tensors, save_tensors, write_atomically, write_json
from zoo.folder import CARD, CONFIG, OLD_WEIGHTS, README, SCHEME, WEIGHTS
from zoo.models.card import describe
from zoo.models.hub_card import config_text, readme_text
from zoo.models.places import AGAIN, FORMAT, read_card, weights_path
from zoo.models.precision import compact, expanded

if TYPE_CHECKING:
    from zoo.models.model import Model


def require_unchanged(model: Model) -> None:
    """The network in memory is that of the folder: its votes are filed under the sha256 of the weights there."""
    if not is_unchanged(model):
        raise ModelError(
            f"{model.path} holds other weights than this model has in memory: load it again, or give the changed model "
            "(another precision is a change, too) a folder of its own: kept = model.save(folder)"
        )


def is_unchanged(model: Model) -> bool:
    """Return whether the network in memory has the weights, and the precision, that the model's folder holds."""
    saved, _ = load_tensors(weights_path(model.path), advice=f"restore it, or {AGAIN}")
    saved = expanded(saved)
    now = {name: value.cpu() for name, value in model.base.state_dict().items()}
    types = {name: (now[name].dtype, value.dtype) for name, value in expanded(compact(model.base)).items()}
    return (
        saved.keys() == now.keys()
        and all(
            value.dtype in types[name] and torch.equal(value.to(types[name][0]), now[name])
            for name, value in saved.items()
        )
        and file_sha256(weights_path(model.path)) == model.card["weights"]
    )


def write_files(path: Path, base: nn.Module, scheme: Scheme, card: dict[str, Any]) -> dict[str, Any]:
    """Write weights, scheme and card into the folder, the card last, and return the card: a folder with one is
    complete."""
    write_atomically(path / SCHEME, scheme.to_json().encode())
    save_tensors(path / WEIGHTS, compact(base), {"scheme": scheme.fingerprint, "model": card["model"]})
    (path / OLD_WEIGHTS).unlink(missing_ok=True)
    return write_card(path, scheme, card)


def write_card(path: Path, scheme: Scheme, card: dict[str, Any]) -> dict[str, Any]:
    """Return the card with what belongs to every card added: format, metric, law, design, coupling, fingerprints,
    versions."""
    full = {
        "format": FORMAT,
        "metric": json.loads(scheme.metric.to_json()),
        "scheme": scheme.fingerprint,
        **describe(scheme),
        "weights": file_sha256(weights_path(path)),
        "versions": versions(),
        **card,
    }
    put_card(path, full)
    return full


def put_card(path: Path, card: dict[str, Any]) -> None:
    """Write a card, and what is made from it for the Hub: `config.json` and `README.md`. The card comes last."""
    write_atomically(path / CONFIG, config_text(card).encode())
    write_atomically(path / README, readme_text(card).encode())
    write_json(path / CARD, card)


def update_card(model: Model, **parts: Any) -> Model:
    """Return the model with these parts of its card replaced, on disk (in one step) and in the object returned."""
    card = {**read_card(model.path), **parts}
    put_card(model.path, card)
    return model.with_card(card)


def read_scheme(folder: Path) -> Scheme:
    """Return the scheme of a folder, its design and metric proven again, or an error that says what to do."""
    try:
        return Scheme.from_json((folder / SCHEME).read_text())
    except FileNotFoundError as error:
        raise ModelError(f"{folder} is not complete: {SCHEME} is missing; restore it, or {AGAIN}") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder / SCHEME} is damaged ({error}); restore it, or {AGAIN}") from error


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of the packages that a number may depend on."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("ecm", "numpy", "safetensors")}
    return {"python": platform.python_version(), "torch": str(torch.__version__), **packages}
