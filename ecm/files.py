"""Files that are there as a whole or not at all, and locks that a killed process takes with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PART = ".part"  # the end of a file that a killed process may leave behind


def replace_file(path: Path, content: bytes) -> None:
    """Write beside, flush to the disk, rename: `path` holds the old or the new content, never a part of one.

    A full disk or a missing permission is an OSError that names `path`; the old file is then as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder) / "a", b"whole")
    ...     [(file.name, file.read_bytes()) for file in Path(folder).iterdir()]
    [('a', b'whole')]
    """
    writer = f"{os.getpid()}-{threading.get_native_id()}"
    beside = path.with_name(f".{path.name}.{writer}{_PART}")  # not tempfile: its files are for the owner alone
    try:
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    sync_folder(path.parent)


def remove_parts(folder: Path) -> None:
    """Remove what processes left in the folder that were killed while they wrote; none may be at work."""
    for left in folder.glob(f".*{_PART}"):
        left.unlink()


def sync_folder(folder: Path) -> None:
    """Return when the names in the folder (what was created or renamed) are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(file: IO[bytes] | int, busy: Exception) -> Iterator[None]:
    """Hold the lock of an open file or folder, or raise `busy` if another process holds it.

    A disk or a system that has no locks is used without one.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise busy from error
    except OSError:
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough: a worker process may still hold the handle
