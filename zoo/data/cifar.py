"""CIFAR-10 from its binary or python batches, CIFAR-100 from its python batches, all against published MD5s.

The python batches are pickles. They are read by an unpickler that knows numpy arrays and nothing else, so that no
file can run code.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.data.dataset import Augmentation, Dataset
from zoo.data.files import data_root, fetch, read_checked
from zoo.data.torchvision_import import torchvision
from zoo.errors import DataError

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32  # label, then the red, green and blue planes

BINARY_MD5 = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
PYTHON_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
CIFAR100_MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


def load_cifar10(root: Path | None = None) -> Dataset:
    """Load `cifar-10-batches-bin` or `cifar-10-batches-py`, whichever lies under the root, or downloaded."""
    root = data_root(root)
    binary, python = root / "cifar-10-batches-bin", root / "cifar-10-batches-py"
    if not binary.is_dir() and not python.is_dir():
        _fetch(root, "CIFAR10")
    if binary.is_dir():
        table, batches = BINARY_MD5, [_read_binary(binary / name, md5) for name, md5 in BINARY_MD5.items()]
    else:
        table, batches = PYTHON_MD5, [_read_python(python / name, md5, b"labels") for name, md5 in PYTHON_MD5.items()]
    return _dataset("cifar10", _joined(batches[:-1]), batches[-1], CIFAR10, table)


def load_cifar100(root: Path | None = None) -> Dataset:
    """Load `cifar-100-python` with the 100 fine labels; download it if it is missing."""
    root = data_root(root)
    folder = root / "cifar-100-python"
    if not folder.is_dir():
        _fetch(root, "CIFAR100")
    train, test = (_read_python(folder / name, CIFAR100_MD5[name], b"fine_labels") for name in ("train", "test"))
    meta = _unpickled(folder / "meta", CIFAR100_MD5["meta"])
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in meta[b"fine_label_names"]]
    return _dataset("cifar100", train, test, names, CIFAR100_MD5)


def _fetch(root: Path, name: str) -> None:
    def download() -> None:
        published = getattr(torchvision("datasets"), name)
        utils = torchvision("datasets.utils")
        utils.download_and_extract_archive(published.url, str(root), filename=published.filename, md5=published.tgz_md5)

    fetch(name, root, download)


def _dataset(name: str, train: Batch, test: Batch, names: Any, table: Mapping[str, str]) -> Dataset:
    augment = Augmentation(shift=4, flip=True)
    return Dataset.from_arrays(train, test, name=name, class_names=names, augment=augment, source=table)


def _joined(batches: list[Batch]) -> Batch:
    return np.concatenate([images for images, _ in batches]), np.concatenate([labels for _, labels in batches])


def _read_binary(path: Path, md5: str) -> Batch:
    content = read_checked(path, md5)
    if len(content) % RECORD:
        raise DataError(f"{path}: {len(content)} bytes is not a whole number of records of {RECORD} bytes")
    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    return records[:, 1:].reshape(-1, 3, 32, 32).copy(), records[:, 0].astype(np.int64)


def _read_python(path: Path, md5: str, key: bytes) -> Batch:
    batch = _unpickled(path, md5)
    try:
        images = np.asarray(batch[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
        return images, np.asarray(batch[key], dtype=np.int64)
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} is no CIFAR batch ({error!r}); download the data again") from error


class _ArraysOnly(pickle.Unpickler):
    """Builds dicts, lists, strings, numbers and numpy arrays; everything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        where = module.replace("numpy.core", "numpy._core")
        if (where, name) == ("numpy._core.multiarray", "_reconstruct"):
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding: text.encode(encoding)
        raise pickle.UnpicklingError(f"it wants {module}.{name}, which is not needed to hold images")


def _unpickled(path: Path, md5: str) -> dict[bytes, Any]:
    content = read_checked(path, md5)
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"{path} cannot be read as a CIFAR batch: {error}") from error
    if not isinstance(batch, dict):
        raise DataError(f"{path} holds a {type(batch).__name__}, not a CIFAR batch; download the data again")
    return {key.encode() if isinstance(key, str) else key: value for key, value in batch.items()}
