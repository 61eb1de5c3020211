"""Networks, trained models with their folders and cards, and the library of models."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.models.card import describe
    from zoo.models.ensemble import ENSEMBLE, build_ensemble, join, unchanged
    from zoo.models.estimator import EstimatorBase, drawn_samples, fit_estimator, is_estimator, unsmoothed_accuracy
    from zoo.models.library import given_model, load
    from zoo.models.listing import Listing, Listings, list_models
    from zoo.models.model import NOISE_MEMORY, Model, write_model
    from zoo.models.networks import MODELS, Base, build_network, default_model, require_fit
    from zoo.models.places import PRETRAINED, RUNS, find_model, model_folders, read_card
    from zoo.models.precision import round_weights
    from zoo.models.storage import read_scheme, require_unchanged, update_card
    from zoo.models.tolerance import jitter_on, rounded_tolerance

__all__ = [
    "ENSEMBLE",
    "MODELS",
    "NOISE_MEMORY",
    "PRETRAINED",
    "RUNS",
    "Base",
    "EstimatorBase",
    "Listing",
    "Listings",
    "Model",
    "build_ensemble",
    "build_network",
    "default_model",
    "describe",
    "drawn_samples",
    "find_model",
    "fit_estimator",
    "given_model",
    "is_estimator",
    "jitter_on",
    "join",
    "list_models",
    "load",
    "model_folders",
    "read_card",
    "read_scheme",
    "require_fit",
    "require_unchanged",
    "round_weights",
    "rounded_tolerance",
    "unchanged",
    "unsmoothed_accuracy",
    "update_card",
    "write_model",
]

__getattr__ = lazy(
    __name__,
    {
        "card": "describe",
        "ensemble": "ENSEMBLE build_ensemble join unchanged",
        "estimator": "EstimatorBase drawn_samples fit_estimator is_estimator unsmoothed_accuracy",
        "library": "given_model load",
        "listing": "Listing Listings list_models",
        "model": "Model NOISE_MEMORY write_model",
        "networks": "Base MODELS build_network default_model require_fit",
        "places": "PRETRAINED RUNS find_model model_folders read_card",
        "precision": "round_weights",
        "storage": "read_scheme require_unchanged update_card",
        "tolerance": "jitter_on rounded_tolerance",
    },
)
