"""Training a scikit-learn estimator under the noise of a metric, and keeping it as a model's folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from smoothing import Noise, Scheme
from zoo.data import Dataset
from zoo.errors import ModelError, SettingError
from zoo.folder import CARD
from zoo.models import (
    MODELS,
    EstimatorBase,
    Model,
    drawn_samples,
    fit_estimator,
    is_estimator,
    load,
    read_card,
    unsmoothed_accuracy,
    write_model,
)
from zoo.training.card import opening_card
from zoo.training.identity import Identity
from zoo.training.state import prepared

_SAMPLES = 32  # per test row, for the base accuracy in a card


def find_estimator(model: Any, data: Dataset) -> Any:
    """Return the estimator meant by `model`: itself, or for a table the classifier of scikit-learn with that name; else
    None.

    >>> from zoo import load_data
    >>> find_estimator("GaussianNB", load_data("wine")), find_estimator("mlp", load_data("wine"))
    (GaussianNB(), None)
    """
    if is_estimator(model):
        if len(data.shape) != 1:
            raise ModelError(
                f"{type(model).__name__} reads the rows of a table, but {data.name} has inputs of shape {data.shape}: "
                "pass a table, or a torch.nn.Module for images"
            )
        return model
    if not isinstance(model, str) or model in MODELS or len(data.shape) != 1:
        return None
    from sklearn.utils import all_estimators

    known = {name.lower(): made for name, made in all_estimators(type_filter="classifier")}
    made = known.get(model.lower()) or known.get(f"{model.lower().replace('_', '')}classifier")
    try:
        return None if made is None else made()
    except TypeError:  # one that needs an argument, such as another estimator
        raise ModelError(f"model {model!r} cannot be made without arguments: pass the estimator itself") from None


def train_estimator(
    estimator: Any, data: Dataset, scheme: Scheme, folder: Path, settings: Mapping[str, Any], *, resume: bool, seed: int
) -> Model:
    """Fit the estimator on noisy training rows and write the folder of the model; `settings` may hold `copies`."""
    if unknown := sorted(set(settings) - {"copies"}):
        raise SettingError(
            f"{unknown[0]!r} is no setting for {type(estimator).__name__}: it takes copies=..., the number of noisy "
            "copies of each training row; set all else in the estimator itself"
        )
    network = {
        "name": type(estimator).__name__,
        "kind": "scikit-learn",
        "estimator": _text(estimator),
        "input_shape": [2 * data.shape[0]],
    }
    card = opening_card(folder.name, network, data, {"seed": seed, "copies": settings.get("copies")})
    identity = Identity.of(scheme, card)
    if resume and (folder / CARD).exists():
        identity.require(folder, read_card(folder))
        return load(folder)
    with prepared(folder, resume):
        began = time.perf_counter()
        rows, labels = data.train.take(range(len(data.train))).numpy(), data.train.labels.numpy()
        base = fit_estimator(estimator, scheme, rows, labels, seed=seed, **settings).packed()
        if base.classes != data.classes:
            raise ModelError(f"the training rows have {base.classes} of {data.classes} classes: give rows of each")
        card["training"] |= {
            "seconds": round(time.perf_counter() - began, 1),
            "scikit_learn": version("scikit-learn"),
            "skops": version("skops"),
        }
        card["accuracy"] = _accuracies(estimator, base, data, scheme, seed)
        return write_model(folder, base, scheme, card)


def _accuracies(estimator: Any, base: EstimatorBase, data: Dataset, scheme: Scheme, seed: int) -> dict[str, Any]:
    test, labels = data.test.take(range(len(data.test))), data.test.labels.numpy()
    samples = drawn_samples(scheme, len(test), min(_SAMPLES, scheme.samples), seed)
    copies = samples.shape[1]
    shown = Noise(scheme).paired(test.repeat_interleave(copies, 0), samples.flatten())
    votes = base(shown).argmax(1).numpy()
    return {
        "base": {
            "value": float(np.mean(votes == np.repeat(labels, copies))),
            "images": len(test),
            "how": f"{copies} random samples per row",
        },
        "unsmoothed": {
            "value": unsmoothed_accuracy(estimator, data),
            "images": len(test),
            "how": "the same estimator fitted on the rows as they are, without noise and without any guarantee",
        },
    }


def _text(estimator: Any) -> str:
    """Return the estimator with all settings that are not the usual ones, as one line."""
    try:
        text = estimator.__repr__(N_CHAR_MAX=10_000)
    except TypeError:
        text = repr(estimator)
    return " ".join(text.split())
