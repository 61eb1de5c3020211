"""A model by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zoo.models.loading import load_as
from zoo.models.model import Model

if TYPE_CHECKING:
    from torch import nn

    from ecm import ECM


def load(
    name: str | os.PathLike[str],
    *,
    base: nn.Module | None = None,
    metric: ECM | str | None = None,
    quantize: bool = False,
) -> Model:
    """Return the model in the folder `name` (or known by that name), after checking that its pieces belong together.

    The card names the sha256 of the weights and the fingerprint of the scheme; the metric in the card must be the
    scheme's; votes, if there are any, must be of these weights under this scheme. Architectures come from the package
    by name; a model made of your own `nn.Module` needs that module as `base` (its weights are loaded into it).
    `metric`, if given, is checked against the one that the weights were trained for. With `quantize` the model rounds
    floats in [0, 1] to the nearest level, which attack toolboxes need; otherwise it refuses them.

    >>> load("digits-l0.5-a4", metric="z**0.5/4").name
    'digits-l0.5-a4'
    """
    return load_as(Model, name, base=base, metric=metric, quantize=quantize)


def given_model(model: Model | str | os.PathLike[str]) -> Model:
    """Return a model as it is, or the one in a folder or of a name."""
    return model if isinstance(model, Model) else load(model)
