"""ImageNet and any folder of images in class folders: too large to hold, hence streamed by a DataLoader as uint8."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import attrs
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from zoo.data.dataset import Augmentation, Dataset, Split
from zoo.data.files import refuse_web_page
from zoo.data.randomness import key_seed
from zoo.data.torchvision_import import torchvision
from zoo.errors import DataError

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".tif", ".tiff"}


def load_folder(path: Path, *, size: int = 224, name: str | None = None) -> Dataset:
    """Load `path/train/<class>/*` and `path/val/<class>/*` (or `test`), cropped to size x size RGB, q = 255."""
    train = path / "train"
    test = next((path / half for half in ("val", "test") if (path / half).is_dir()), path / "val")
    for folder in (train, test):
        if not folder.is_dir():
            raise DataError(
                f"{folder} is missing: an image folder has train/<class>/*.jpg and val/<class>/*.jpg (or test); "
                "point --data or ECM_DATA to the folder above it, or give its path as the data set"
            )
    names = sorted(entry.name for entry in train.iterdir() if entry.is_dir())
    if not names:
        raise DataError(f"{train} has no class folders: the images of class c belong into {train}/c/")
    extra = sorted({entry.name for entry in test.iterdir() if entry.is_dir()} - set(names))
    if extra:
        raise DataError(f"{test} has classes that {train} does not have: {', '.join(extra[:5])}")
    first, second = (_listed(folder, names, size) for folder in (train, test))
    title = path.resolve().name
    source = {"folder": title, "digest of": "file names and sizes"}
    return Dataset(name or title, first, second, 255, tuple(names), Augmentation(shift=1, flip=True), source)


def load_class_folders(path: Path, class_names: Sequence[str], size: int) -> Dataset:
    """Return all images of `path/<class>/*`, resized and cropped to size x size, for a model of these classes to
    evaluate."""
    found = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    extra = [name for name in found if name not in class_names]
    if extra or not found:
        raise DataError(
            f"{path} has the folders {', '.join(found[:5]) or 'none'}: a folder to evaluate has train/ and val/, or "
            f"one folder for each class of the model ({', '.join(class_names[:5])}, ...)"
        )
    split = _listed(path, class_names, size)
    return Dataset(path.resolve().name, split, split, 255, tuple(class_names))


def _listed(folder: Path, names: Sequence[str], size: int) -> ImageFiles:
    files: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        if (folder / name).is_dir():
            found = sorted(
                entry.path for entry in os.scandir(folder / name) if Path(entry.name).suffix.lower() in SUFFIXES
            )
            files += found
            labels += [label] * len(found)
    if not files:
        raise DataError(f"{folder} holds no image files (looked for {', '.join(sorted(SUFFIXES))} in class folders)")
    return ImageFiles(folder, tuple(files), torch.tensor(labels, dtype=torch.int64), size)


@attrs.frozen(eq=False, repr=False, slots=False)
class ImageFiles:
    """A split that is read when used. Train view: a random area. Test view: shorter side to 8/7 size, centre crop; an
    image of that size is taken as it is."""

    folder: Path
    files: tuple[str, ...]
    labels: Tensor
    size: int

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} x {self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)

    @cached_property
    def digest(self) -> str:
        """sha256 of names, sizes and labels: reading every image of ImageNet would take longer than most uses of it."""
        sha = hashlib.sha256(repr(self.size).encode())
        for path, label in zip(self.files, self.labels.tolist(), strict=True):
            sha.update(f"{os.path.relpath(path, self.folder)} {os.path.getsize(path)} {label}\n".encode())
        return sha.hexdigest()

    def to(self, device: torch.device) -> Split:
        return self

    def take(self, indices: Tensor | Sequence[int]) -> Tensor:
        return torch.stack([_read(self.files[int(k)], self.size, None) for k in indices])

    def batches(self, order: Sequence[Tensor], augment: Augmentation, key: tuple[int, ...]) -> Iterator[Tensor]:
        wanted = [[int(k) for k in batch] for batch in order]
        seed = None if augment == Augmentation() else key
        workers = min(8, os.cpu_count() or 1) if sum(map(len, wanted)) >= 64 else 0
        try:
            yield from DataLoader(_Reader(self.files, self.size, seed), batch_sampler=wanted, num_workers=workers)
        except DataError as error:  # a worker's comes with the text of its traceback
            raise DataError(str(error).strip().splitlines()[-1].removeprefix("zoo.errors.DataError: ")) from None


class _Reader(TorchDataset[Tensor]):
    def __init__(self, files: tuple[str, ...], size: int, key: tuple[int, ...] | None) -> None:
        self.files, self.size, self.key = files, size, key

    def __getitem__(self, index: int) -> Tensor:
        seed = None if self.key is None else key_seed("augment", *self.key, index)
        return _read(self.files[index], self.size, seed)


def _read(path: str, size: int, seed: int | None) -> Tensor:
    """Return one image as uint8 (3, size, size); with a seed, a random area of it, flipped half of the time."""
    from PIL import Image

    transforms = torchvision("transforms")
    functional = torchvision("transforms.functional")
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except Exception as error:  # PIL raises many kinds for a damaged file
        with open(path, "rb") as file:
            refuse_web_page(Path(path), file.read(512))
        raise DataError(f"{path} is not a readable image ({error}); replace or delete it") from error
    if seed is None and image.size == (size, size):
        pass  # what a model of this size is asked about is the file itself, and not a crop of a larger copy
    elif seed is None:
        image = functional.center_crop(functional.resize(image, max(size, round(size * 8 / 7))), [size, size])
    else:
        with torch.random.fork_rng(devices=[]):  # torchvision draws from the global generator
            torch.manual_seed(seed)
            box = transforms.RandomResizedCrop.get_params(image, (0.25, 1.0), (3 / 4, 4 / 3))
            image = functional.resized_crop(image, *box, [size, size])
            if int(torch.randint(2, ())):
                image = functional.hflip(image)
    pixels: Tensor = functional.pil_to_tensor(image)
    return pixels
