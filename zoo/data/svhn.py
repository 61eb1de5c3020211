"""SVHN, cropped 32x32 digits: MATLAB files; the published label 10 is the digit 0."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.data.dataset import Augmentation, Dataset
from zoo.data.files import data_root, fetch, read_checked
from zoo.data.torchvision_import import torchvision
from zoo.errors import DataError

SVHN_MD5 = {
    "train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3",
}


def load_svhn(root: Path | None = None) -> Dataset:
    """Load `train_32x32.mat` and `test_32x32.mat` under the root (or its folder `SVHN`); downloaded if absent."""
    root = data_root(root)
    folder = root / "SVHN" if (root / "SVHN").is_dir() else root
    for split, name in zip(("train", "test"), SVHN_MD5, strict=True):
        if not (folder / name).exists():
            fetch("SVHN", folder, lambda split=split: torchvision("datasets").SVHN(str(folder), split, download=True))  # type: ignore[misc]
    train, test = (_read(folder / name, md5) for name, md5 in SVHN_MD5.items())
    names = [str(k) for k in range(10)]
    return Dataset.from_arrays(
        train, test, name="svhn", class_names=names, augment=Augmentation(shift=2), source=SVHN_MD5
    )


def _read(path: Path, md5: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    from scipy.io import loadmat

    content = read_checked(path, md5)
    try:
        table = loadmat(io.BytesIO(content))
        images = np.ascontiguousarray(table["X"].transpose(3, 2, 0, 1), dtype=np.uint8)
        return images, table["y"].astype(np.int64).ravel() % 10
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise DataError(f"{path} cannot be read as an SVHN file: {error}; download it again") from error
