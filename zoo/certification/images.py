"""Which images a run certifies: the data set that fits the model, and the fixed order of its images."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.data import DATASETS, Dataset, load_data, load_evaluated, with_columns
from zoo.errors import DataError
from zoo.models import Model


def image_order(images: int) -> NDArray[np.int64]:
    """Return the order in which the images of a split are taken: random but always the same, so that limits are nested.

    >>> image_order(5).tolist()
    [2, 0, 1, 3, 4]
    """
    return np.random.RandomState(0).permutation(images).astype(np.int64)


def fitting_data(model: Model, data: Any, root: str | os.PathLike[str] | None) -> Dataset:
    """Return the data set, which must have the shape, levels and classes that the model was made for.

    Of a named data set, a `Dataset` or a pair (train, test) the test images are meant; of everything else all of it,
    with the levels and classes of the model.
    """
    trained_on = model.card["data"]
    if data is None:
        loaded = load_data(_known(trained_on["name"], f"{model.name} was trained on"), root)
        if loaded.digest != trained_on["digest"]:
            raise DataError(
                f"the {loaded.name} found here is not the one that {model.name} was trained on (another digest): pass "
                f"the data (--dataset), {loaded.name!r} too if its test images are what you want"
            )
    else:
        loaded = load_evaluated(
            with_columns(data, trained_on), model.scheme.q, model.scheme.shape, trained_on["class_names"], root
        )
    with_columns(loaded, trained_on)  # a table by name, too, must have the columns that the model was trained on
    for what, given, wanted in (
        ("shape", loaded.shape, model.scheme.shape),
        ("largest level q", loaded.q, model.scheme.q),
        ("number of classes", loaded.classes, model.classes),
    ):
        if given != wanted:
            raise DataError(
                f"{loaded.name} has the {what} {given}, but {model.name} was trained for {wanted}; pass such data"
            )
    return loaded


def certified_data(about: dict[str, Any], data: Any, root: str | os.PathLike[str] | None) -> Dataset:
    """Return the data set whose test images a run certified: given, or found by its name."""
    name = about["data"]["name"]
    if data is None:
        loaded = load_data(_known(name, "the run certified images of"), root)
    else:
        made = about["card"]["data"]
        loaded = load_evaluated(with_columns(data, made), made["q"], tuple(made["shape"]), made["class_names"], root)
    if loaded.test.digest != about["data"]["test_digest"]:
        raise DataError(
            f"{loaded.name}: these are not the test images that were certified (another digest); pass those of the run"
        )
    return loaded


def _known(name: str, what: str) -> str:
    if name not in DATASETS:
        raise DataError(
            f"{what} {name!r}, which cannot be found by name: pass the data (--dataset FOLDER for a folder of images)"
        )
    return name
