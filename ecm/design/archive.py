"""Arrays in an npz file, read as data from a stranger: nothing is unpickled, and no size is believed."""

from __future__ import annotations

import io
import math
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecm.errors import DesignError


def read_arrays(path: str | Path, most: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of the npz file at `path`, which may unpack to `most` bytes in all.

    The sizes that the archive declares are added up before anything is unpacked, and reading stops at them, so a small
    file cannot fill the memory. Raises DesignError for what is no such file, FileNotFoundError if there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez_compressed(f"{folder}/a.npz", a=np.arange(3), b=np.zeros(10**6))
    ...     read_arrays(f"{folder}/a.npz", most=1000)
    Traceback (most recent call last):
        ...
    ecm.errors.DesignError: ...a.npz unpacks to 8000280 bytes, more than the 1000 that fit here...
    """
    file = Path(path)
    if not stat.S_ISREG(file.stat().st_mode):
        raise DesignError(f"{file} is not a file: name the file that was saved")
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            if size > most:
                raise DesignError(
                    f"{file} unpacks to {size} bytes, more than the {most} that fit here: it is no file of this design"
                )
            return {entry.filename.removesuffix(".npy"): _array(archive.read(entry)) for entry in entries}
    except DesignError:
        raise
    except Exception as error:  # zip, zlib and numpy each raise their own on damaged bytes
        raise DesignError(f"{file} is not a readable design file ({error}): build the design again") from error


def _array(data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise ValueError(f"an array of {dtype} and shape {shape} does not have {len(data) - stream.tell()} bytes")
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
