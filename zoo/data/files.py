"""Finding, fetching and checking files: where data lies, and what is wrong with a file that cannot be read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

from zoo.errors import DataError


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the argument, else the environment variable ECM_DATA, else the user's cache folder.

    >>> data_root("/data")
    PosixPath('/data')
    """
    from platformdirs import user_cache_path

    given = root if root is not None else os.environ.get("ECM_DATA")
    return Path(given).expanduser() if given else user_cache_path("ecm") / "data"


def read_checked(path: Path, md5: str | None = None, size: int | None = None) -> bytes:
    """Return the file's bytes, after checks that name what is wrong: missing, empty, a web page, another size, another
    MD5."""
    advice = "delete it and run again to download it, or copy it again from where it came"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path} is missing; put it there, or point --data or ECM_DATA to the folder that has it"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if not content:
        raise DataError(f"{path} is empty; {advice}")
    refuse_web_page(path, content)
    if size is not None and len(content) != size:
        state = "truncated" if len(content) < size else "too long"
        raise DataError(f"{path} is {state}: {len(content)} bytes instead of {size}; {advice}")
    if md5 is not None and (found := hashlib.md5(content, usedforsecurity=False).hexdigest()) != md5:
        raise DataError(f"{path} is corrupt: its MD5 is {found}, published is {md5}; {advice}")
    return content


def refuse_web_page(path: Path, content: bytes) -> None:
    """A login or error page that a download saved under the data's name is called what it is."""
    start = content[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml", b"<!--")):
        raise DataError(
            f"{path} is a web page, not data (an error or login page saved by a download); "
            "delete it and download the real file"
        )


def fetch(name: str, root: Path, download: Callable[[], object]) -> None:
    """Run torchvision's download quietly; a failure says where the files are expected."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            download()
    except Exception as error:  # torchvision raises OSError, RuntimeError, URLError and others for one cause
        raise DataError(
            f"{name} was not found under {root} and could not be downloaded ({error}); "
            "put its files there, or point --data or ECM_DATA to the folder that has them"
        ) from error
