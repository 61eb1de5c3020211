"""The folder of a model in the conventions of the Hugging Face Hub: written, uploaded and downloaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from zoo.errors import ModelError
from zoo.files import alone, write_atomically
from zoo.folder import ABOUT, CARD, CONFIG, IMAGES, README, SCHEME, TABLE, VOTES, WEIGHTS
from zoo.models.places import find_model, read_card, weights_path
from zoo.models.storage import is_unchanged, put_card, require_unchanged, write_card, write_files

if TYPE_CHECKING:
    from zoo.models.model import Model

_RESULTS = (ABOUT, TABLE, IMAGES, VOTES)  # what follows from the weights
_FILES = ("*.json", "*.tsv", "*.md", "*.safetensors", "*.npz", f"{VOTES}/*")  # all that is read: data, never code


def save_model(model: Model, folder: Path) -> Model:
    """Write the model into a folder and return it as it is kept there; see `Model.save`."""
    home = model.path.is_dir()
    unchanged = home and is_unchanged(model)
    if home and folder.resolve() == model.path.resolve():
        if unchanged:
            return model
        raise ModelError(
            f"{folder} holds this model with other weights or another precision, and votes of those: choose another "
            "folder for the changed model"
        )
    if (folder / CARD).exists() and read_card(folder).get("weights") != model.card["weights"]:
        raise ModelError(f"{folder} holds another model: choose another folder, or delete it first")
    measured = () if unchanged else ("certification", "accuracy")
    made = ("weights", "versions", "precision", *measured)
    card = {name: part for name, part in model.card.items() if name not in made} | {"name": folder.name}
    precision = str(next((p.dtype for p in model.base.parameters()), "float32")).removeprefix("torch.")
    if precision != "float32":
        card["precision"] = precision
    with alone(folder):
        if unchanged:  # the very file: votes are filed under its sha256
            shutil.copyfile(weights_path(model.path), folder / WEIGHTS)
            write_atomically(folder / SCHEME, model.scheme.to_json().encode())
            _copy_results(model.path, folder)
            kept = model.with_card(write_card(folder, model.scheme, card))
            kept.path = folder
        else:
            written = write_files(folder, model.base, model.scheme, card)
            kept = type(model)(folder, model.base.eval(), model.scheme, written)
    kept.quantize = model.quantize
    return kept


def _copy_results(source: Path, target: Path) -> None:
    for name in _RESULTS:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        elif (source / name).exists():
            shutil.copyfile(source / name, target / name)


def download(name: str | os.PathLike[str], options: dict[str, Any]) -> str | os.PathLike[str]:
    """Return where a model lies: as it is if it is known here, else the local copy of a Hub repository."""
    try:
        return find_model(name)
    except ModelError:
        if not isinstance(name, str) or name.count("/") != 1 or Path(name).exists():
            raise
    hub = _huggingface_hub()
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(_FILES), **options))
    except (OSError, hub.errors.HfHubHTTPError, hub.errors.HFValidationError) as error:
        raise ModelError(
            f"{name!r} is no local model, and the Hub did not give it ({str(error).splitlines()[0]}): check the name, "
            "the network and, for a private repository, the token"
        ) from error


def upload(model: Model, repo_id: str, options: dict[str, Any]) -> str:
    """Upload a model's folder to a repository of the Hub, which is created if it is missing; return its address."""
    hub = _huggingface_hub()
    require_unchanged(model)
    if not all((model.path / name).exists() for name in (CONFIG, IMAGES, README)):  # a folder of an earlier version
        put_card(model.path, model.card)
    api = hub.HfApi(token=options.pop("token", None))
    try:
        made = api.create_repo(repo_id, private=options.pop("private", None), exist_ok=True)
        message = options.pop("commit_message", f"{model.name}, made by ecm")
        api.upload_folder(
            repo_id=made.repo_id,
            folder_path=model.path,
            commit_message=message,
            allow_patterns=list(_FILES),
            **options,
        )
    except (OSError, hub.errors.HfHubHTTPError, hub.errors.HFValidationError) as error:
        raise ModelError(
            f"the Hub did not take {repo_id!r} ({str(error).splitlines()[0]}): check the name, the network, the token"
        ) from error
    return str(made)


def _huggingface_hub() -> ModuleType:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ModelError("the package huggingface_hub is missing: pip install 'ecm[hub]'") from error
    return huggingface_hub
