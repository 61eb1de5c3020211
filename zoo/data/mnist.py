"""MNIST and Fashion-MNIST: IDX files, as they are or gzipped. An IDX file says its own type and sizes."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.data.dataset import Augmentation, Dataset
from zoo.data.files import data_root, fetch, read_checked
from zoo.data.torchvision_import import torchvision
from zoo.errors import DataError

FASHION = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def load_mnist(root: Path | None = None, fashion: bool = False) -> Dataset:
    """Load `<root>/MNIST/raw` or `<root>/FashionMNIST/raw` (torchvision's layout); downloaded if it is not there."""
    root = data_root(root)
    folder = "FashionMNIST" if fashion else "MNIST"
    raw = root / folder / "raw"
    if not raw.is_dir():
        fetch(folder, root, lambda: getattr(torchvision("datasets"), folder)(str(root), download=True))
    images, labels, test_images, test_labels = (_read_idx(raw / name) for name in FILES)
    return Dataset.from_arrays(
        (images, labels),
        (test_images, test_labels),
        name="fashion_mnist" if fashion else "mnist",
        class_names=FASHION if fashion else [str(k) for k in range(10)],
        augment=Augmentation(shift=2, flip=fashion),
        source={"folder": f"{folder}/raw"},
    )


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Magic 0, 0, 8 (unsigned byte), rank; then the sizes, big-endian; then the bytes."""
    packed = path.with_name(path.name + ".gz")
    if packed.exists() and not path.exists():
        path, content = packed, read_checked(packed)
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} is truncated or no gzip file ({error}); download it again") from error
    else:
        content = read_checked(path)
    rank = content[3] if len(content) > 3 else 0
    if content[:3] != b"\0\0\x08" or not 1 <= rank <= 4 or len(content) < 4 + 4 * rank:
        raise DataError(f"{path} is no IDX file of bytes: it starts with {content[:4].hex()}; download it again")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", rank, 4))
    if len(content) != 4 + 4 * rank + math.prod(shape):
        raise DataError(
            f"{path} is truncated or too long: its header promises {shape} bytes, "
            f"{len(content) - 4 - 4 * rank} are there; download it again"
        )
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape).copy()
