"""Arrays of an npz file: sizes are checked before anything is unpacked, and nothing is unpickled."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ecm import DesignError
from ecm.design.archive import read_arrays


def archive(path: Path, **arrays: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in arrays.items():
            file.writestr(f"{name}.npy", content)
    return path


def written(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def test_arrays_are_read_up_to_the_size_that_is_allowed(tmp_path: Path) -> None:
    """The sum of all of them counts, to the byte, in both versions of the format."""
    first, second = written(np.arange(6).reshape(2, 3)), written(np.array([True]), (2, 0))
    path = archive(tmp_path / "a.npz", one=first, two=second)
    size = len(first) + len(second)
    found = read_arrays(path, most=size)
    assert {name: array.tolist() for name, array in found.items()} == {"one": [[0, 1, 2], [3, 4, 5]], "two": [True]}
    with pytest.raises(DesignError, match=f"unpacks to {size} bytes"):
        read_arrays(path, most=size - 1)


@pytest.mark.parametrize(
    "content",
    [
        written(np.arange(6))[:-1],
        written(np.arange(6)) + b"x",
        written(np.zeros((2, 3)))[:-8],
        written(np.array([None, 1], dtype=object)),
        b"",
        b"no array",
    ],
)
def test_an_array_that_lies_about_its_size_or_holds_objects_is_refused(content: bytes, tmp_path: Path) -> None:
    """Nothing is unpickled, and nothing is allocated on the word of a header."""
    with pytest.raises(DesignError, match="not a readable design file"):
        read_arrays(archive(tmp_path / "a.npz", one=content), most=10**6)
