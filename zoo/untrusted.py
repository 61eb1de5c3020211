"""JSON of files that anybody may have written."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """Return JSON of a file that anybody may have written: ValueError for what is none, however it is nested.

    >>> read_json("[" * 200_000)
    Traceback (most recent call last):
        ...
    ValueError: nested too deeply to be read
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
