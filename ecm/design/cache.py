"""Outcomes found once are kept on disk under a hash of everything that determines them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
import platformdirs

from ecm.allocation import Outcomes


def cache_folder() -> Path | None:
    """Where designs are kept: the environment variable ECM_CACHE, else the user's cache; None if ECM_CACHE is empty.

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


def recall(key: str) -> Outcomes | None:
    """The outcomes stored under `key`; None if there are none or the file is damaged (it is then built again)."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with np.load(folder / "designs" / f"{key}.npz", allow_pickle=False) as file:
            return Outcomes(int(file["q"]), int(file["budget"]), file["starts"], file["gaps"])
    except Exception:  # a cache may not fail: zip, zlib, numpy and Outcomes each raise their own on damaged bytes
        return None


def remember(key: str, outcomes: Outcomes) -> None:
    """Store the outcomes under `key`: written beside, then renamed, so that no reader sees half a file.

    A folder that cannot be written is no error: the design is simply built again next time.
    """
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        place = folder / "designs"
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(
                    file, q=outcomes.q, budget=outcomes.budget, starts=outcomes.starts, gaps=outcomes.gaps
                )
            Path(name).replace(place / f"{key}.npz")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
