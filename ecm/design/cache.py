"""Outcomes found once are kept on disk under a hash of everything that determines them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from pathlib import Path

import numpy as np
import platformdirs

from ecm.allocation import Outcomes
from ecm.design.archive import read_arrays
from ecm.errors import ECMError
from ecm.files import replace_file

_ADMINISTRATOR = 0  # whose files a system's own cache holds
_HEADERS = 4096  # bytes that the names and types of the arrays take


def cache_folder() -> Path | None:
    """Return where designs are kept: the environment variable ECM_CACHE, else the user's cache; None if ECM_CACHE is
    empty.

    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, ECM_CACHE=""):
    ...     print(cache_folder())
    None
    """
    chosen = os.environ.get("ECM_CACHE")
    if chosen is None:
        return Path(platformdirs.user_cache_dir("ecm"))
    return Path(chosen) if chosen else None


def recall(key: str, dividers: int, outcomes: int) -> Outcomes | None:
    """Return the outcomes stored under `key`, if they are as they were stored; None otherwise (they are then found
    again).

    `dividers` and `outcomes` bound what may be there, so that a small file cannot unpack to a large one. The file says
    under which key its rows were found and has their digest: an entry that was renamed, edited or cut is not used. Nor
    is one that another user wrote, since nothing but the search itself could tell good rows from poor ones.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        path = folder / "designs" / f"{key}.npz"
        if not _ours(path):
            return None
        arrays = read_arrays(path, most=8 * (dividers + outcomes + 1) + _HEADERS)
        found = Outcomes(int(arrays["q"]), int(arrays["budget"]), arrays["starts"], arrays["gaps"])
        return found if bytes(arrays["digest"]) == _digest(key, found) else None
    except (OSError, ECMError, KeyError, ValueError, TypeError, OverflowError):  # a cache may not fail
        return None


def remember(key: str, outcomes: Outcomes) -> None:
    """Store the outcomes under `key`, in one step: no reader sees half a file.

    A folder that cannot be written is no error: the design is simply built again next time.
    """
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        place = folder / "designs"
        place.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez_compressed(
            content,
            q=outcomes.q,
            budget=outcomes.budget,
            starts=outcomes.starts,
            gaps=outcomes.gaps,
            digest=np.frombuffer(_digest(key, outcomes), dtype=np.uint8),
        )
        replace_file(place / f"{key}.npz", content.getvalue())


def _digest(key: str, outcomes: Outcomes) -> bytes:
    hashed = hashlib.sha256(f"{key} {outcomes.q} {outcomes.budget} {outcomes.finite}".encode())
    hashed.update(outcomes.starts.astype("<i8").tobytes() + outcomes.gaps.astype("<i8").tobytes())
    return hashed.digest()


def _ours(path: Path) -> bool:
    """Return whether the file is the user's own, or the system administrator's."""
    if not hasattr(os, "getuid"):  # Windows, where the cache folder is the user's
        return True
    return path.stat().st_uid in (os.getuid(), _ADMINISTRATOR)
