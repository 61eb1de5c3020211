"""Data sets by name, from a folder of images, or from arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecm.spelling import closest, spelled
from zoo.data.cifar import load_cifar10, load_cifar100
from zoo.data.dataset import Augmentation, Dataset, Split, Tensors
from zoo.data.digits import load_digits
from zoo.data.files import data_root
from zoo.data.frame import is_frame
from zoo.data.given import dataset_of, evaluated, is_known
from zoo.data.image_folder import load_class_folders, load_folder
from zoo.data.mnist import load_mnist
from zoo.data.sklearn import load_table
from zoo.data.svhn import load_svhn
from zoo.data.table import Table, with_columns
from zoo.data.table_spec import TableSpec
from zoo.errors import DataError

__all__ = [
    "DATASETS",
    "Augmentation",
    "Dataset",
    "Split",
    "Table",
    "TableSpec",
    "Tensors",
    "data_root",
    "load_data",
    "load_evaluated",
    "with_columns",
]

DATASETS: dict[str, Callable[[Path | None], Dataset]] = {
    "digits": lambda root: load_digits(),
    "mnist": load_mnist,
    "fashion_mnist": lambda root: load_mnist(root, fashion=True),
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "svhn": load_svhn,
    "breast_cancer": lambda root: load_table("breast_cancer"),
    "wine": lambda root: load_table("wine"),
    "iris": lambda root: load_table("iris"),
    "imagenet": lambda root: load_folder(data_root(root) / "imagenet", name="imagenet"),
}


def load_data(data: Any = "digits", root: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a data set for training and testing, from a name, a folder, or data as people have them.

    `data` is a name in `DATASETS` ("CIFAR-10" is "cifar10"), the path of an image folder, a `Dataset`; or
    `(images, labels)` as arrays or tensors, integer levels 0..255 or floats v/255 (for another q use
    `Dataset.from_arrays`); a `torch.utils.data.Dataset` of (image, label) pairs, torchvision's for instance; a
    `DataLoader`; a Hugging Face `datasets` split. A pair (train, test) or a mapping with the entries "train" and "test"
    gives both halves; of a single split a fifth of each class is held out. `root` is where the files of a named set
    lie; by default in ECM_DATA, else in the user's cache folder.

    >>> load_data("digits")
    Dataset('digits', 1438 train, 359 test, shape (1, 8, 8), q=16, 10 classes)
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str) and not os.path.isdir(data):
        data = spelled(data, DATASETS)
    if isinstance(data, str) and data in DATASETS:
        return DATASETS[data](None if root is None else Path(root))
    if isinstance(data, str | os.PathLike):
        if os.path.isdir(data):
            return load_folder(Path(data))
        close = closest(str(data), DATASETS)
        hint = f"; did you mean {close!r}?" if close else ""
        raise DataError(f"{str(data)!r} is neither a data set ({', '.join(DATASETS)}) nor a folder of images{hint}")
    if is_frame(data) and not isinstance(data, Mapping):
        raise DataError(
            f"a table of type {type(data).__name__}: say which column is the class, as in "
            "zoo.Table.from_frame(frame, target='...')"
        )
    if isinstance(data, Mapping) or is_known(data):
        return dataset_of(data)
    raise DataError(_UNKNOWN.format(type(data).__name__))


def load_evaluated(
    data: Any, q: int, shape: tuple[int, ...], class_names: Sequence[str], root: str | os.PathLike[str] | None = None
) -> Dataset:
    """Return the data set whose test half is to be evaluated: everything that is given, with a model's q and classes.

    Of what has two halves (a named set, a `Dataset`, a pair (train, test), a folder with train/ and val/) it is the
    test half. A folder that holds class folders directly is taken as a whole.

    >>> images, labels = [[0, 3], [1, 2], [3, 3]], [1, 1, 0]
    >>> len(load_evaluated((images, labels), 3, (2,), ["no", "yes"]).test)
    3
    """
    if isinstance(data, str | os.PathLike) and os.path.isdir(data) and not (Path(data) / "train").is_dir():
        return load_class_folders(Path(data), class_names, shape[-1])
    if isinstance(data, Dataset | str | os.PathLike):
        return load_data(data, root)
    if isinstance(data, Mapping) or is_known(data):
        return evaluated(data, q, class_names)
    raise DataError(_UNKNOWN.format(type(data).__name__))


_UNKNOWN = (
    "data of type {}: give a name, a folder, a zoo.Dataset, the pair (images, labels), a torch data set or DataLoader "
    "of (image, label), or a Hugging Face split"
)
