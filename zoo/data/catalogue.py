"""Data sets by name, from a folder of images, or from arrays."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.data.cifar import load_cifar10, load_cifar100
from zoo.data.dataset import Augmentation, Dataset, Split, Tensors
from zoo.data.digits import load_digits
from zoo.data.files import data_root
from zoo.data.image_folder import load_folder
from zoo.data.mnist import load_mnist
from zoo.data.svhn import load_svhn
from zoo.errors import DataError

__all__ = ["DATASETS", "Augmentation", "Dataset", "Split", "Tensors", "data_root", "load_data"]

DATASETS: dict[str, Callable[[Path | None], Dataset]] = {
    "digits": lambda root: load_digits(),
    "mnist": load_mnist,
    "fashion_mnist": lambda root: load_mnist(root, fashion=True),
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "svhn": load_svhn,
    "imagenet": lambda root: load_folder(data_root(root) / "imagenet", name="imagenet"),
}


def load_data(data: Any = "digits", root: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set: a name in `DATASETS`, the path of an image folder, a `Dataset`, or arrays.

    Arrays are `(levels, labels)` or `((levels, labels), (test_levels, test_labels))` with q = 255; for another q use
    `Dataset.from_arrays`. `root` is where the files of a named set lie: the argument, else ECM_DATA, else the user's
    cache folder.

    >>> load_data("digits")
    Dataset('digits', 1438 train, 359 test, shape (1, 8, 8), q=16, 10 classes)
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str) and data in DATASETS:
        return DATASETS[data](None if root is None else Path(root))
    if isinstance(data, str | os.PathLike):
        if os.path.isdir(data):
            return load_folder(Path(data))
        close = difflib.get_close_matches(str(data).lower(), DATASETS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise DataError(f"{str(data)!r} is neither a data set ({', '.join(DATASETS)}) nor a folder of images{hint}")
    if isinstance(data, tuple) and len(data) == 2:
        return Dataset.from_arrays(*data) if isinstance(data[0], tuple) else Dataset.from_arrays(data)
    raise DataError(
        f"data of type {type(data).__name__}: give a name, a folder, a zoo.Dataset or the pair (levels, labels); "
        "zoo.Dataset.from_arrays makes one of arrays, of a torch data set's images and labels too"
    )
