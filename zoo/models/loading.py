"""Loading a model from its folder: only one whose pieces belong together, and never any code from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ecm import ECM
from smoothing import Record
from zoo.errors import CheckpointError, ModelError
from zoo.files import load_tensors
from zoo.folder import CARD, SCHEME, VOTES
from zoo.models.ensemble import ENSEMBLE, build_ensemble
from zoo.models.estimator import EstimatorBase
from zoo.models.hub_card import config_text, readme_text
from zoo.models.networks import MODELS, Base, build_network
from zoo.models.places import AGAIN, find_model, read_card, weights_path
from zoo.models.precision import expanded
from zoo.models.storage import file_sha256, read_scheme

if TYPE_CHECKING:
    from zoo.models.model import Model


def load_as(
    kind: type[Model],
    name: str | os.PathLike[str],
    *,
    base: nn.Module | None = None,
    metric: ECM | str | None = None,
    quantize: bool = False,
) -> Model:
    """The model in a folder (or known by name) as an object of that class; see `zoo.load`."""
    folder = find_model(name)
    card = read_card(folder)
    try:
        model = _checked(kind, folder, card, base)
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
    model.quantize = quantize
    return model


def _checked(kind: type[Model], folder: Path, card: dict[str, Any], base: nn.Module | None) -> Model:
    made = card["model"]["name"]
    if base is None and made not in (*MODELS, ENSEMBLE) and card["model"].get("kind") != "scikit-learn":
        raise ModelError(
            f"{folder}: its network {made!r} is not one of the package ({', '.join(MODELS)}); pass the module itself, "
            f"as in zoo.load({str(folder)!r}, base={made}(...)): code is never loaded from a folder"
        )
    model = read_as(kind, folder, base)
    if json.loads(model.scheme.metric.to_json()) != card["metric"]:
        raise ModelError(
            f"{folder}: the card names another metric than {SCHEME} ({model.scheme.metric}): mixed up; {AGAIN}"
        )
    if model.classes != len(card["data"]["class_names"]):
        raise ModelError(f"{folder}: {model.classes} classes, but {len(card['data']['class_names'])} class names")
    if not isinstance(found := card.get("certification") or {}, dict):
        raise ModelError(
            f"{folder / CARD}: certification = {found!r} is no report of one: restore the card, or {AGAIN}"
        )
    config_text(card), readme_text(card)  # a certification writes them again: better to know now what is missing
    return model


def read_as(kind: type[Model], path: Path, network: nn.Module | None = None) -> Model:
    """The model in a folder. `network` is needed if it was made by a user's own class or factory."""
    card, scheme = read_card(path), read_scheme(path)
    if scheme.fingerprint != card["scheme"]:
        raise ModelError(f"{path}: {SCHEME} is not the scheme that {CARD} names: mixed up; {AGAIN}")
    weights = weights_path(path)
    tensors, facts = load_tensors(weights, advice=f"restore it, or {AGAIN}")
    if file_sha256(weights) != card["weights"] or facts["scheme"] != scheme.fingerprint:
        raise ModelError(f"{path}: {weights.name} are not the weights that {CARD} names: mixed up; {AGAIN}")
    made = card["model"]
    if made.get("kind") == "scikit-learn":
        return kind(path, EstimatorBase.from_archive(tensors["archive"], made["classes"]).eval(), scheme, card)
    tensors = expanded(tensors)
    if network is None and made["name"] == ENSEMBLE:
        network = build_ensemble(made)
    elif network is None:
        _, network = build_network(made["name"], tuple(made["input_shape"]), made["classes"])
    base = Base(network, tensors["mean"], tensors["std"])
    if tensors["mean"].dtype != torch.float32:  # a model that was saved in another precision keeps it
        base.to(tensors["mean"].dtype)
    base.load_state_dict(tensors)
    return kind(path, base.eval(), scheme, card)


def _require_metric(model: Model, metric: ECM | str) -> None:
    wanted = ECM.from_expr(metric) if isinstance(metric, str) else metric
    if wanted != model.scheme.metric:
        raise ModelError(
            f"{model.path}: these weights were trained for d with g = {model.scheme.metric}, not for g = {wanted}; a "
            "certificate in another metric needs a model trained (and voted) with its design"
        )


def _require_votes(model: Model) -> None:
    """Votes found in the folder are of these weights under this scheme."""
    if not Record.exists(model.path / VOTES):
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
