"""Networks, trained models with their folders and cards, and the library of models."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.models.card import describe
    from zoo.models.library import PRETRAINED, RUNS, Listing, find_model, list_models, load
    from zoo.models.model import (
        NOISE_MEMORY,
        Model,
        read_card,
        read_scheme,
        require_unchanged,
        update_card,
        write_model,
    )
    from zoo.models.networks import MODELS, Base, build_network, default_model, require_fit

__all__ = [
    "MODELS",
    "NOISE_MEMORY",
    "PRETRAINED",
    "RUNS",
    "Base",
    "Listing",
    "Model",
    "build_network",
    "default_model",
    "describe",
    "find_model",
    "list_models",
    "load",
    "read_card",
    "read_scheme",
    "require_fit",
    "require_unchanged",
    "update_card",
    "write_model",
]

__getattr__ = lazy(
    __name__,
    {
        "card": "describe",
        "library": "Listing PRETRAINED RUNS find_model list_models load",
        "model": "Model NOISE_MEMORY read_card read_scheme require_unchanged update_card write_model",
        "networks": "Base MODELS build_network default_model require_fit",
    },
)
