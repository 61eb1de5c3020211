"""Finding models and loading them: only a folder whose pieces belong together, and never any code from it."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ecm.errors import ECMError
from zoo.errors import CheckpointError, ModelError
from zoo.folder import CARD, SCHEME, VOTES
from zoo.models.model import AGAIN, Model, read_card

if TYPE_CHECKING:
    from torch import nn

    from ecm import ECM

PRETRAINED = Path(__file__).parent.parent / "pretrained"
RUNS = Path("runs")


def find_model(name: str | os.PathLike[str]) -> Path:
    """The folder of a model: a path, a name in `runs`, or the name of a model that comes with the package."""
    if not isinstance(name, str | os.PathLike):
        raise ModelError(f"a model of type {type(name).__name__}: give its folder or its name")
    for folder in (Path(name), RUNS / name, PRETRAINED / name):
        if (folder / CARD).exists():
            return folder
    for folder in (Path(name), RUNS / name):
        if folder.is_dir():
            raise ModelError(
                f"{folder} holds no finished model: {CARD} is missing. If its training was stopped, run the same train "
                "again"
            )
    known = [folder.name for folder in _folders(RUNS, PRETRAINED)]
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known names: {', '.join(known) or 'none yet'}"
    raise ModelError(f"{str(name)!r} is neither the folder of a model nor a known name; {hint}")


def load(name: str | os.PathLike[str], *, base: nn.Module | None = None, metric: ECM | str | None = None) -> Model:
    """The model in a folder (or known by name), after checking that its pieces belong together.

    The card names the sha256 of the weights and the fingerprint of the scheme; the metric in the card must be the
    scheme's; votes, if there are any, must be of these weights under this scheme. Architectures come from the package
    by name; a model made of your own `nn.Module` needs that module as `base` (its weights are loaded into it).
    `metric`, if given, is checked against the one that the weights were trained for.

    >>> load("digits-l0.5-a4", metric="z**0.5/4").name
    'digits-l0.5-a4'
    """
    folder = find_model(name)
    card = read_card(folder)
    try:
        model = _read(folder, card, base)
    except KeyError as error:
        raise ModelError(f"{folder / CARD} lacks the entry {error}: restore the card, or {AGAIN}") from error
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder} is not complete: {Path(error.filename).name} is missing; restore it, or {AGAIN}"
        ) from error
    except CheckpointError as error:
        raise ModelError(str(error)) from error
    except ModelError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder}: {SCHEME} or {CARD} is damaged ({error}); restore it, or {AGAIN}") from error
    except RuntimeError as error:  # load_state_dict
        reason = str(error).splitlines()[-1].strip()
        raise ModelError(
            f"{folder}: its weights do not fit the network {card['model']['name']!r} ({reason}): pass the module that "
            f"was trained, or {AGAIN}"
        ) from error
    if metric is not None:
        _require_metric(model, metric)
    _require_votes(model)
    return model


def _read(folder: Path, card: dict[str, Any], base: nn.Module | None) -> Model:
    from zoo.models.networks import MODELS

    made = card["model"]["name"]
    if base is None and made not in MODELS:
        raise ModelError(
            f"{folder}: its network {made!r} is not one of the package ({', '.join(MODELS)}); pass the module itself, "
            f"as in zoo.load({str(folder)!r}, base={made}(...)): code is never loaded from a folder"
        )
    model = Model.read(folder, base)
    if json.loads(model.scheme.metric.to_json()) != card["metric"]:
        raise ModelError(
            f"{folder}: the card names another metric than {SCHEME} ({model.scheme.metric}): mixed up; {AGAIN}"
        )
    if model.classes != len(card["data"]["class_names"]):
        raise ModelError(f"{folder}: {model.classes} classes, but {len(card['data']['class_names'])} class names")
    return model


def _require_metric(model: Model, metric: ECM | str) -> None:
    from ecm import ECM

    wanted = ECM.from_expr(metric) if isinstance(metric, str) else metric
    if wanted != model.scheme.metric:
        raise ModelError(
            f"{model.path}: these weights were trained for d with g = {model.scheme.metric}, not for g = {wanted}; a "
            "certificate in another metric needs a model trained (and voted) with its design"
        )


def _require_votes(model: Model) -> None:
    """Votes found in the folder are of these weights under this scheme."""
    from smoothing import Record

    if not (model.path / VOTES / "header.json").exists():
        return
    try:
        header = Record.open(model.path / VOTES).header
    except ValueError as error:
        raise ModelError(f"{model.path / VOTES} is damaged ({error}): delete {VOTES}/ and certify again") from error
    for what, found, wanted in (
        ("weights", header.model, model.card["weights"]),
        ("scheme", header.scheme, model.scheme.fingerprint),
    ):
        if found != wanted:
            raise ModelError(
                f"{model.path}: the votes in {VOTES}/ are of another {what} ({found[:12]}..., not {wanted[:12]}...); "
                f"delete {VOTES}/ and certify again"
            )


def _folders(*roots: Path) -> Iterator[Path]:
    for root in roots:
        if (root / CARD).exists():
            yield root
        elif root.is_dir():
            yield from sorted(folder for folder in root.iterdir() if (folder / CARD).exists())


@attrs.frozen
class Listing:
    """One model as its card describes it; accuracies are None until measured.

    >>> one = Listing.of(find_model("digits-l0.5-a4"))
    >>> one.name, one.metric, one.budget
    ('digits-l0.5-a4', 'z**(1/2)/4', 512)
    """

    name: str
    path: Path
    data: str
    metric: str
    budget: int
    base_accuracy: float | None
    smoothed_accuracy: float | None
    images: int | None

    @classmethod
    def of(cls, folder: Path) -> Listing:
        """Read from the card alone; nothing is loaded."""
        card = read_card(folder)
        found = card.get("certification")
        try:
            measured = found or {"base_accuracy": card.get("accuracy", {}).get("base", {}).get("value")}
            return cls(
                folder.name,
                folder,
                card["data"]["name"],
                ", ".join(part["g"] for part in card["law"]),
                card["design"]["budget"],
                measured.get("base_accuracy"),
                measured.get("smoothed_accuracy"),
                measured.get("images"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{folder / CARD} lacks the entry {error}: restore the card, or {AGAIN}") from error


def list_models(*folders: str | os.PathLike[str]) -> list[Listing]:
    """The models in these folders (each a model or a folder of models); by default those that come with the package
    and those in `runs`. A folder that is damaged is an error only when it is named itself.

    >>> all(model.name for model in list_models())
    True
    """
    roots = [Path(folder) for folder in folders] or [PRETRAINED, RUNS]
    for root in roots:
        if folders and not root.is_dir():
            raise ModelError(f"{root} is not a folder: name one that holds models, or none for all that are known")
    found = []
    for folder in _folders(*roots):
        try:
            found.append(Listing.of(folder))
        except ECMError:
            if folder in roots:
                raise
    return found
