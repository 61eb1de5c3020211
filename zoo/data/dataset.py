"""What a data set is: levels 0..q, labels, and a digest that says which data it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import attrs
import numpy as np
import torch
from torch import Tensor

from zoo.data.randomness import generator
from zoo.errors import DataError

_MOST_CLASSES = 65535  # what a vote can name


@attrs.frozen
class Augmentation:
    """Random shifts by up to `shift` pixels (mirrored borders) and, if `flip`, left-right flips half of the time.

    >>> Augmentation(shift=2).flip
    False
    """

    shift: int = 0
    flip: bool = False


class Split(Protocol):
    """The images of one half (train or test) of a data set, as levels, with their labels (int64)."""

    @property
    def labels(self) -> Tensor: ...

    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image, (C, H, W), or of a row of a table, (F,)."""

    @property
    def digest(self) -> str:
        """sha256 of what the split holds."""

    def take(self, indices: Tensor | Sequence[int]) -> Tensor:
        """Return the images at `indices`, as they are, on the CPU or where the split lives."""

    def to(self, device: torch.device) -> Split:
        """Return the split held on `device`, if it is small enough to be held at all."""

    def batches(self, order: Sequence[Tensor], augment: Augmentation, key: tuple[int, ...]) -> Iterator[Tensor]:
        """Return the augmented images of each batch of indices; item k draws its augmentation from (`key`, k-th
        seed)."""


@attrs.frozen(eq=False, repr=False, slots=False)
class Tensors:
    """A split held in memory: levels (N, C, H, W) or (N, F), uint8 up to q = 255, int32 above."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"Tensors({len(self)} x {self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.images.shape[1:])

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256(repr((tuple(self.images.shape), str(self.images.dtype))).encode())
        sha.update(self.images.cpu().contiguous().numpy().data)
        sha.update(self.labels.cpu().contiguous().numpy().data)
        return sha.hexdigest()

    def take(self, indices: Tensor | Sequence[int]) -> Tensor:
        return self.images[torch.as_tensor(indices, dtype=torch.int64, device=self.images.device)]

    def to(self, device: torch.device) -> Tensors:
        return Tensors(self.images.to(device), self.labels.to(device))

    def batches(self, order: Sequence[Tensor], augment: Augmentation, key: tuple[int, ...]) -> Iterator[Tensor]:
        for indices in order:
            images = self.take(indices)
            if images.ndim == 4 and augment != Augmentation():
                images = _shift_and_flip(images, augment, key, indices)
            yield images


def _shift_and_flip(images: Tensor, augment: Augmentation, key: tuple[int, ...], indices: Tensor) -> Tensor:
    """Shift and flip a batch by one gather; the draw belongs to (key, image) and does not depend on the batching."""
    count, channels, height, width = images.shape
    draws = torch.randint(0, 2**62, (int(indices.max()) + 1,), generator=generator("augment", *key))[indices]
    span = 2 * augment.shift + 1
    down, right = draws % span - augment.shift, draws // span % span - augment.shift
    flip = (draws // span**2 % 2).bool() & augment.flip
    rows = _mirrored(torch.arange(height) + down[:, None], height)
    columns = _mirrored(torch.arange(width) + right[:, None], width)
    columns = torch.where(flip[:, None], columns.flip(1), columns)
    place = (rows[:, :, None] * width + columns[:, None, :]).view(count, 1, height * width).to(images.device)
    return images.flatten(2).gather(2, place.expand(-1, channels, -1)).view(images.shape)


def _mirrored(index: Tensor, size: int) -> Tensor:
    return (size - 1) - ((size - 1) - index.abs()).abs()


@attrs.frozen(eq=False, repr=False, slots=False)
class Dataset:
    """Images or table rows as levels 0..q, in a train and a test split.

    `augment` is what leaves a label unchanged here (digits are not flipped); `source` says which files were read.

    >>> data = Dataset.from_arrays((np.zeros((10, 4), dtype=np.uint8), np.arange(10) % 2), q=3, name="zeros")
    >>> data
    Dataset('zeros', 8 train, 2 test, shape (4,), q=3, 2 classes)
    """

    name: str
    train: Split
    test: Split
    q: int
    class_names: tuple[str, ...]
    augment: Augmentation = Augmentation()
    source: Mapping[str, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.classes <= _MOST_CLASSES:
            raise DataError(
                f"data set {self.name!r}: {self.classes} classes; a vote needs 2..{_MOST_CLASSES}, numbered from 0"
            )
        for which, split in (("train", self.train), ("test", self.test)):
            if len(split) == 0:
                raise DataError(f"data set {self.name!r}: the {which} split is empty")
            if len(split) != len(split.labels):
                raise DataError(f"data set {self.name!r}: {len(split)} {which} images but {len(split.labels)} labels")
            low, high = int(split.labels.min()), int(split.labels.max())
            if low < 0 or high >= self.classes:
                raise DataError(
                    f"data set {self.name!r}: {which} labels run from {low} to {high}; "
                    f"{self.classes} classes have labels 0..{self.classes - 1}"
                )
        side = min(self.shape[1:], default=1 + self.augment.shift)  # rows of a table are not moved
        if not 0 <= self.augment.shift < side:
            raise DataError(
                f"data set {self.name!r}: augment.shift = {self.augment.shift} for images of shape {self.shape}; "
                f"write a number of pixels in 0..{side - 1}"
            )
        if self.train.shape != self.test.shape:
            raise DataError(
                f"data set {self.name!r}: train images have shape {self.train.shape}, test images {self.test.shape}"
            )

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {len(self.train)} train, {len(self.test)} test, "
            f"shape {self.shape}, q={self.q}, {self.classes} classes)"
        )

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image, (C, H, W), or of a row of a table, (F,)."""
        return self.train.shape

    @cached_property
    def digest(self) -> str:
        """sha256 over both splits, q and the class names: equal digests mean equal data."""
        parts = (self.train.digest, self.test.digest, self.q, self.class_names)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return what a card says about the data: enough to tell whether other data are the same."""
        return {
            "name": self.name,
            "digest": self.digest,
            "q": self.q,
            "shape": list(self.shape),
            "class_names": list(self.class_names),
            "source": dict(self.source),
        }

    @classmethod
    def from_arrays(
        cls,
        train: tuple[Any, Any],
        test: tuple[Any, Any] | None = None,
        *,
        q: int = 255,
        name: str = "custom",
        class_names: Sequence[str] | None = None,
        augment: Augmentation = Augmentation(),  # noqa: B008 (frozen)
        source: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Return the data set of `(levels, labels)`: integers (N, C, H, W), (N, H, W) or (N, F), all within 0..q.

        `train` and `test` are such pairs. Without `test`, a fifth of each class is held out, always the same fifth. `q`
        is the largest level; floats must be v/q. `name` is what cards and reports call the data, `class_names` gives
        the name of each class. `augment` says which shifts and flips keep the label, for training. `source` says where
        the data come from, for the card.
        """
        for half in (train, test):
            if half is not None and not (isinstance(half, tuple | list) and len(half) == 2):
                raise DataError(f"data {name!r}: a {type(half).__name__}; give the pair (levels, labels)")
        levels, labels = checked_levels(*train, q, name)
        if test is None:
            held = stratified(labels.numpy(), 0.2)
            if bool(held.all()):
                raise DataError(f"data {name!r}: one image per class leaves none to train on; give a test set too")
            first, second = Tensors(levels[~held], labels[~held]), Tensors(levels[held], labels[held])
        else:
            first, second = Tensors(levels, labels), Tensors(*checked_levels(*test, q, name))
        if class_names is None:
            class_names = _numbered(first.labels, second.labels, name)
        return cls(name, first, second, q, tuple(class_names), augment, dict(source or {}))


def _numbered(train: Tensor, test: Tensor, name: str) -> list[str]:
    """Return names for the classes 0, 1, ... of the labels; a number that is left out is a slip more often than a
    class."""
    most, seen = int(max(train.max(), test.max())), np.unique(train.numpy()).tolist()
    gap = next((k for k, label in enumerate([*seen, most + 1]) if label > k), None)
    if gap is not None:
        raise DataError(
            f"data {name!r}: labels go up to {most}, but no training image has the label {gap}: number the classes "
            "from 0 (names, labels = np.unique(labels, return_inverse=True)), or pass class_names, one for each number"
        )
    return [str(k) for k in range(most + 1)]


def stratified(labels: np.ndarray[Any, np.dtype[np.int64]], fraction: float) -> Tensor:
    """Return a mask of `fraction` of each class (at least one of it), the same on every machine."""
    random = np.random.RandomState(0)
    held = torch.zeros(len(labels), dtype=torch.bool)
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        held[members[: max(1, round(fraction * len(members)))]] = True
    return held


def checked_levels(levels: Any, labels: Any, q: int, name: str) -> tuple[Tensor, Tensor]:
    """Return levels and labels as tensors of our types, or an error that says which rule they break."""
    if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
        raise DataError(f"data {name!r}: q = {q!r}; write the largest level, a whole number >= 1 (images: 255)")
    levels, labels = _numbers(levels, "levels", name, q), _numbers(labels, "labels", name, q)
    if levels.ndim == 3:
        levels = levels[:, None]
    if levels.ndim not in (2, 4) or 0 in levels.shape[1:]:
        raise DataError(f"data {name!r}: shape {levels.shape}; images are (N, C, H, W) or (N, H, W), table rows (N, F)")
    if levels.ndim == 4 and levels.shape[3] in (1, 3, 4) and min(levels.shape[1:3]) > 4:
        raise DataError(
            f"data {name!r}: shape {levels.shape} has its channels last; images are (N, C, H, W): write "
            "levels.transpose(0, 3, 1, 2), or (0, 1, 3, 2) if the last axis is a width"
        )
    if labels.shape != levels.shape[:1]:
        raise DataError(f"data {name!r}: labels of shape {labels.shape} for {len(levels)} images; give one per image")
    if not len(levels):
        raise DataError(f"data {name!r}: no images; give at least one of each class, for training and for testing")
    if int(levels.min()) < 0 or int(levels.max()) > q:
        raise DataError(
            f"data {name!r}: levels run from {int(levels.min())} to {int(levels.max())}, outside 0..q = 0..{q}; "
            "pass the right q"
        )
    kept = np.array(levels, dtype=np.uint8 if q <= 255 else np.int32, order="C")  # a copy: its digest must last
    return torch.from_numpy(kept), torch.from_numpy(labels.astype(np.int64))


def _numbers(values: Any, what: str, name: str, q: int) -> np.ndarray[Any, Any]:
    """Return any array, tensor, table or list as a numpy array of integers; floats may be levels as v/q."""
    try:
        array = values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    except (ValueError, TypeError) as error:  # rows of different lengths
        raise DataError(
            f"data {name!r}: the {what} are not an array ({error}); give integers, one row per image"
        ) from error
    if array.dtype.kind in "iu" or (array.dtype.kind == "b" and what == "labels"):
        return array
    if what == "levels" and array.dtype.kind == "f" and array.size:
        return float_levels(array, q, name)
    cure = "number the classes: names, labels = np.unique(labels, return_inverse=True)"
    if what == "levels":
        cure = "smoothing.quantize(x, q) makes integer levels 0..q of values in [0, 1]"
    raise DataError(f"data {name!r}: {what} of type {array.dtype}; give integers: {cure}")


def float_levels(images: np.ndarray[Any, Any], q: int, name: str) -> np.ndarray[Any, Any]:
    """Return the levels of floats that are v/q exactly, in the type that a split keeps; others are refused with the
    cure.

    >>> float_levels(np.array([[0.0, 0.5, 1.0]]), 2, "three").tolist()
    [[0, 1, 2]]
    """
    from smoothing import InputError, levels

    try:
        found = levels(images, q, tuple(images.shape[1:])).numpy()
    except InputError as error:
        raise DataError(
            f"data {name!r}: {error}. Leave out transforms that normalize or interpolate; "
            f"smoothing.quantize(x, {q}) rounds values in [0, 1] to levels"
        ) from error
    return found.astype(np.uint8 if q <= 255 else np.int32)
