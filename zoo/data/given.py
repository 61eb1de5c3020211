"""Data as people have them: arrays, torch and torchvision data sets, loaders, Hugging Face splits, pairs and mappings.

Everything becomes integer levels 0..q held in memory. Floats are taken where they are v/q exactly (torchvision's
`ToTensor` makes such), so that nothing is rounded without being asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data import Dataset as TorchDataset

from zoo.data.dataset import Dataset, Tensors, checked_levels, float_levels
from zoo.errors import DataError

_LARGEST = 8 << 30  # bytes held in memory
_IMAGE_COLUMNS = ("image", "img", "images", "pixel_values", "x")
_LABEL_COLUMNS = ("label", "labels", "fine_label", "target", "targets", "y")
_TEST_NAMES = ("test", "validation", "val", "valid")


@attrs.frozen
class Pairs:
    """Images and labels of one split, with the class names if the source knows them."""

    levels: Any
    labels: Any
    names: tuple[str, ...] | None = None


def train_and_test(data: Any) -> tuple[Any, Any]:
    """Return the two halves of what was given; the second is None if only one split was given.

    >>> train_and_test({"train": ([[0]], [0]), "test": ([[1]], [0])})[1]
    ([[1]], [0])
    """
    if isinstance(data, Mapping) and not _is_hugging_face(data):
        if "train" not in data:
            raise DataError(f"data with the splits {', '.join(map(str, data))}: one of them must be called 'train'")
        return data["train"], next((data[name] for name in _TEST_NAMES if name in data), None)
    if isinstance(data, tuple | list) and len(data) == 2 and all(map(_is_split, data)):
        return data[0], data[1]
    return data, None


def _is_split(part: Any) -> bool:
    """Return whether a part of a pair is a split of its own, and not the images or the labels of one."""
    return isinstance(part, TorchDataset | DataLoader | tuple) or _is_hugging_face(part)


def _is_hugging_face(data: Any) -> bool:
    return hasattr(data, "features") and hasattr(data, "column_names")


def is_known(data: Any) -> bool:
    """Return whether `read_pairs` knows what to do with this."""
    return (
        isinstance(data, TorchDataset | DataLoader)
        or _is_hugging_face(data)
        or (isinstance(data, tuple | list) and len(data) == 2)
    )


def dataset_of(data: Any) -> Dataset:
    """Return a data set for training: with a test half if one was given, else with a fifth of each class held out."""
    first, second = train_and_test(data)
    train = read_pairs(first)
    test = None if second is None else read_pairs(second)
    return Dataset.from_arrays(
        (train.levels, train.labels),
        None if test is None else (test.levels, test.labels),
        class_names=train.names or (test.names if test else None),
    )


def evaluated(data: Any, q: int, class_names: Sequence[str]) -> Dataset:
    """Return a data set whose test half is everything that was given (the test half, if two were given), with the
    levels and classes of a model."""
    first, second = train_and_test(data)
    found = read_pairs(first if second is None else second, q)
    split = Tensors(*checked_levels(found.levels, found.labels, q, "custom"))
    return Dataset("custom", split, split, q, tuple(class_names))


def read_pairs(data: Any, q: int = 255) -> Pairs:
    """Return the images and labels of one split, in its own order.

    >>> import torch
    >>> images = torch.zeros(3, 1, 2, 2)
    >>> read_pairs(torch.utils.data.TensorDataset(images, torch.tensor([0, 1, 0]))).labels.tolist()
    [0, 1, 0]
    """
    if isinstance(data, tuple | list) and len(data) == 2:
        return Pairs(data[0], data[1])
    if isinstance(data, DataLoader):
        whole = isinstance(data.sampler, SequentialSampler) or (
            isinstance(data.sampler, RandomSampler)
            and not data.sampler.replacement
            and len(data.sampler) == len(data.dataset)  # type: ignore[arg-type]
        )
        if whole and not isinstance(data.dataset, IterableDataset) and _is_item(data.dataset[0]):
            return read_pairs(data.dataset, q)  # in its own order, which a digest can know again
        return _stacked((_as_batch(batch) for batch in data), None, q, _names(data.dataset))
    if _is_hugging_face(data) and data.features is not None:
        image, label = _columns(data)
        items: Iterable[Any] = ((row[image], row[label]) for row in data)
        count = len(data) if hasattr(data, "__len__") else None  # a split that is streamed has no length
        return _stacked((_one(item) for item in items), count, q, getattr(data.features[label], "names", None))
    if isinstance(data, IterableDataset) or _is_hugging_face(data):
        return _stacked((_one(item) for item in data), None, q, _names(data))
    if not hasattr(data, "__len__"):
        raise DataError(f"data of type {type(data).__name__} has no length: give a data set of (image, label) pairs")
    each = (_one(data[k]) for k in range(len(data)))
    return _stacked(each, len(data), q, _names(data))


def _columns(data: Any) -> tuple[str, str]:
    """Return the image and the label column of a Hugging Face split, by type or else by name."""
    kinds = {name: type(feature).__name__ for name, feature in data.features.items()}

    def find(kind: str, names: Sequence[str]) -> str | None:
        typed = [name for name, found in kinds.items() if found == kind]
        return next(iter(typed), None) or next((name for name in names if name in kinds), None)

    image, label = find("Image", _IMAGE_COLUMNS), find("ClassLabel", _LABEL_COLUMNS)
    if image is None or label is None:
        raise DataError(
            f"a split with the columns {', '.join(kinds)}: an image column ({', '.join(_IMAGE_COLUMNS[:2])}) and a "
            f"label column ({', '.join(_LABEL_COLUMNS[:2])}) are needed; rename yours with rename_column"
        )
    return image, label


def _names(data: Any) -> tuple[str, ...] | None:
    """Return class names as torchvision's data sets have them."""
    names = getattr(data, "classes", None)
    return tuple(names) if isinstance(names, list | tuple) and all(isinstance(n, str) for n in names) else None


def _is_item(item: Any) -> bool:
    return isinstance(item, Mapping) or (isinstance(item, tuple | list) and len(item) >= 2)


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        image = next((item[name] for name in _IMAGE_COLUMNS if name in item), None)
        label = next((item[name] for name in _LABEL_COLUMNS if name in item), None)
        if image is None or label is None:
            raise DataError(f"an item with the entries {', '.join(map(str, item))}: it needs an image and a label")
        return image, label
    if not _is_item(item):
        raise DataError(f"an item of type {type(item).__name__}: a data set gives (image, label) pairs")
    return item[0], item[1]


def _one(item: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return an item as a batch of one image."""
    image, label = _pair(item)
    return _array(image)[None], np.asarray(label).reshape(1)


def _as_batch(batch: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    images, labels = _pair(batch)
    return (images.cpu().numpy() if isinstance(images, Tensor) else np.asarray(images)), np.asarray(labels)


def _array(image: Any) -> NDArray[Any]:
    """Return one image as an array (C, H, W), or a row of a table: PIL images and arrays have their channels last."""
    if isinstance(image, Tensor):
        return image.cpu().numpy()
    if hasattr(image, "convert") and hasattr(image, "getbands"):  # a PIL image
        known = image if image.mode in ("L", "RGB") else image.convert("L" if len(image.getbands()) == 1 else "RGB")
        array = np.asarray(known)
        return array[None] if array.ndim == 2 else np.moveaxis(array, -1, 0)
    array = np.asarray(image)
    last = array.ndim == 3 and array.shape[2] in (1, 3) and array.shape[0] not in (1, 3)
    return np.moveaxis(array, -1, 0) if last else array


def _stacked(
    batches: Iterator[tuple[NDArray[Any], NDArray[np.int64]]],
    count: int | None,
    q: int,
    names: Sequence[str] | None,
) -> Pairs:
    """Return all batches in one array of levels; floats become levels batch by batch, so that memory stays small."""
    kept: list[NDArray[Any]] = []
    labels: list[NDArray[np.int64]] = []
    held = 0
    for images, classes in batches:
        levels = _levels(images, q)
        if kept and levels.shape[1:] != kept[0].shape[1:]:
            raise DataError(
                f"images of different shapes, {kept[0].shape[1:]} and {levels.shape[1:]}: resize them to one shape "
                "(torchvision.transforms.Resize, CenterCrop), or convert all to RGB"
            )
        held = held + levels.nbytes if count is None else count * levels.nbytes  # a known count: images come one by one
        if held > _LARGEST:
            raise DataError(
                f"these data take more than {_LARGEST >> 30} GB: give an image folder (train/<class>/, val/<class>/), "
                "which is read as it is used, or a subset"
            )
        kept.append(levels)
        labels.append(classes)
    if not kept:
        raise DataError("the data are empty: give at least one image of each class")
    return Pairs(np.concatenate(kept), np.concatenate(labels), None if names is None else tuple(names))


def _levels(images: NDArray[Any], q: int) -> NDArray[Any]:
    return float_levels(images, q, "custom") if images.dtype.kind == "f" else images
