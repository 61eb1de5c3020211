"""A trained model: the base classifier, the scheme it was trained under, and the folder that holds both."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import torch
from torch import nn

from smoothing.scheme import Scheme
from zoo.errors import ModelError
from zoo.files import load_tensors, save_tensors, write_atomically
from zoo.folder import CARD, SCHEME, WEIGHTS
from zoo.models.card import describe
from zoo.models.networks import Base, build_network

if TYPE_CHECKING:
    from smoothing import SmoothedClassifier

FORMAT = "ecm-model-1"
AGAIN = "train again with --no-resume"  # resume=False: without it a folder that holds a card is left as it is
NOISE_MEMORY = 2**30  # bytes; enough to keep the table of an arbitrary permutation a feature at B = 18000 on CIFAR


@attrs.frozen(eq=False, repr=False)
class Model:
    """`base` maps what the scheme shows to logits; `card` is the content of `card.json` in the folder `path`.

    >>> from zoo import load
    >>> model = load("digits-l0.5-a4")
    >>> model.name, model.classes, str(model.scheme.metric)
    ('digits-l0.5-a4', 10, 'z**(1/2)/4')
    """

    path: Path
    base: nn.Module
    scheme: Scheme
    card: dict[str, Any]

    def __repr__(self) -> str:
        return f"Model({str(self.path)!r}, {self.card['model']['name']}, {self.card['data']['name']}, {self.scheme})"

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.path.name

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.card["model"]["classes"])

    def smoothed(self, **settings: Any) -> SmoothedClassifier:
        """The smoothed classifier of this base and scheme; `settings` are those of `SmoothedClassifier`."""
        from smoothing import SmoothedClassifier

        return SmoothedClassifier(self.base, self.scheme, self.classes, **{"memory": NOISE_MEMORY, **settings})

    @classmethod
    def read(cls, path: Path, network: nn.Module | None = None) -> Model:
        """The model in a folder. `network` is needed if it was made by a user's own class or factory."""
        card, scheme = read_card(path), read_scheme(path)
        if scheme.fingerprint != card["scheme"]:
            raise ModelError(f"{path}: {SCHEME} is not the scheme that {CARD} names: mixed up; {AGAIN}")
        tensors, facts = load_tensors(path / WEIGHTS, advice=f"restore it, or {AGAIN}")
        if file_sha256(path / WEIGHTS) != card["weights"] or facts["scheme"] != scheme.fingerprint:
            raise ModelError(f"{path}: {WEIGHTS} are not the weights that {CARD} names: mixed up; {AGAIN}")
        made = card["model"]
        if network is None:
            _, network = build_network(made["name"], tuple(made["input_shape"]), made["classes"])
        base = Base(network, tensors["mean"], tensors["std"])
        base.load_state_dict(tensors)
        return cls(path, base.eval(), scheme, card)


def require_unchanged(model: Model) -> None:
    """The network in memory is that of the folder: its votes are filed under the sha256 of the weights there."""
    saved, _ = load_tensors(model.path / WEIGHTS, advice=f"restore it, or {AGAIN}")
    now = model.base.state_dict()
    same = saved.keys() == now.keys() and all(torch.equal(value, now[name].cpu()) for name, value in saved.items())
    if not same or file_sha256(model.path / WEIGHTS) != model.card["weights"]:
        raise ModelError(
            f"{model.path} holds other weights than this model has in memory: load it again, or vote with "
            "smoothing.SmoothedClassifier if the network was changed by you"
        )


def write_model(path: Path, base: nn.Module, scheme: Scheme, card: dict[str, Any]) -> Model:
    """Weights, scheme and card into the folder, the card last: a folder with a card is complete."""
    write_atomically(path / SCHEME, scheme.to_json().encode())
    save_tensors(path / WEIGHTS, base.state_dict(), {"scheme": scheme.fingerprint, "model": card["model"]})
    return Model(path, base.eval(), scheme, write_card(path, scheme, card))


def write_card(path: Path, scheme: Scheme, card: dict[str, Any]) -> dict[str, Any]:
    """The card with what belongs to every card added: format, metric, law, design, coupling, fingerprints, versions."""
    full = {
        "format": FORMAT,
        "metric": json.loads(scheme.metric.to_json()),
        "scheme": scheme.fingerprint,
        **describe(scheme),
        "weights": file_sha256(path / WEIGHTS),
        "versions": versions(),
        **card,
    }
    write_atomically(path / CARD, (json.dumps(full, indent=1) + "\n").encode())
    return full


def read_card(path: Path) -> dict[str, Any]:
    """The card of a model's folder, or an error that says why this is no such folder."""
    try:
        card: dict[str, Any] = json.loads((path / CARD).read_text())
    except FileNotFoundError:
        raise ModelError(f"{path} holds no model: {CARD} is missing; name a folder that `ecm train` made") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path / CARD} cannot be read ({error}): restore it, or {AGAIN}") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ModelError(f"{path / CARD} is not a model card of this package ({FORMAT}): train again with this version")
    return card


def read_scheme(folder: Path) -> Scheme:
    """The scheme of a folder, its design and metric proven again, or an error that says what to do."""
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
    """Of what a number may depend on."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("ecm", "numpy", "safetensors")}
    return {"python": platform.python_version(), "torch": str(torch.__version__), **packages}


def update_card(model: Model, **parts: Any) -> Model:
    """The model with these parts of its card replaced, on disk (in one step) and in the object returned."""
    card = {**read_card(model.path), **parts}
    write_atomically(model.path / CARD, (json.dumps(card, indent=1) + "\n").encode())
    return attrs.evolve(model, card=card)
