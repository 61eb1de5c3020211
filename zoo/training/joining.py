"""A model made of finished ones, without training: its base classifier answers with the mean of theirs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from smoothing.scheme import Noise
from zoo.data import load_data
from zoo.distributed import choose_device
from zoo.errors import ModelError
from zoo.folder import CARD
from zoo.models import ENSEMBLE, MODELS, NOISE_MEMORY, Model, given_model, join, round_weights, write_model
from zoo.training.card import opening_card
from zoo.training.samples import base_accuracy
from zoo.training.state import prepared


def ensemble(
    models: Sequence[Model | str | os.PathLike[str]],
    data: Any = None,
    *,
    out: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
) -> Model:
    """Make one model of several finished `models` and keep it in the folder `out`: a vote is that of their mean logits.

    The votes of an image then agree more often, so that it is certified at larger radii; a vote costs as much as all
    members together. The models must be for the same data and metric, and of networks of the package. The scheme is
    that of the first one. Weights are rounded to eight bits, which keeps the file small. `data` (by default the data of
    the first model, in the folder `root`), `device` (as in `train`) and `seed` are for the base accuracy in the card.

    >>> from tempfile import TemporaryDirectory
    >>> from zoo import load
    >>> with TemporaryDirectory() as folder:
    ...     both = ensemble(["digits-l0.5-a4", "digits-l0.5-a4"], out=f"{folder}/both")
    ...     load(both.path).card["model"]["members"]
    ['mlp', 'mlp']
    """
    if (Path(out) / CARD).exists():
        raise ModelError(f"{out} holds a model already: choose another out, or delete that folder first")
    members = [given_model(one) for one in models]
    _require_alike(members)
    first = members[0]
    loaded = load_data(first.card["data"]["name"] if data is None else data, root)
    base = join([member.base for member in members])
    round_weights(base, 8)
    made = {**first.card["model"], "name": ENSEMBLE, "members": [member.card["model"]["name"] for member in members]}
    card = opening_card(Path(out).name, made, loaded, {"seed": seed}, members=members)
    place = choose_device(device)
    noise = Noise(first.scheme, place, NOISE_MEMORY)
    card["accuracy"] = {"base": base_accuracy(base.to(place), noise, loaded.test, seed=seed)}
    with prepared(Path(out), resume=False):
        return write_model(Path(out), base.cpu(), first.scheme, card)


def _require_alike(members: Sequence[Model]) -> None:
    if not members:
        raise ModelError("an ensemble of no models: give two or more")
    first = members[0]
    for one in members:
        network = one.card["model"]["name"]
        if network not in MODELS:
            raise ModelError(
                f"{one.name}: its network is {network!r}; an ensemble is made of networks of the package "
                f"({', '.join(MODELS)})"
            )
        for what, ours, theirs in (
            ("metric", first.scheme.metric, one.scheme.metric),
            ("data", first.card["data"]["name"], one.card["data"]["name"]),
            ("representation", first.scheme.representation, one.scheme.representation),
            ("coupling", (first.scheme.coupling, first.scheme.pixel), (one.scheme.coupling, one.scheme.pixel)),
        ):
            if ours != theirs:
                raise ModelError(
                    f"{one.name} and {first.name} differ in their {what} ({theirs} and {ours}): members of an ensemble "
                    "see the same noise"
                )
