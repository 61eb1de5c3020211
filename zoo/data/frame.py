"""Reading a table with named columns, whatever library made it: pandas, polars, or a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import DataError


def is_frame(data: Any) -> bool:
    """Return whether this is a table with named columns: a pandas or polars DataFrame, or a mapping from names to
    arrays.

    >>> is_frame({"a": [1, 2]}), is_frame([[1, 2]])
    (True, False)
    """
    return isinstance(data, Mapping) or (hasattr(data, "columns") and hasattr(data, "__getitem__"))


def read_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a table by name, each an array with one entry per row."""
    if not is_frame(frame):
        raise DataError(f"a table of type {type(frame).__name__}: give a pandas DataFrame, or a dict of name -> values")
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    texts = [str(name) for name in names]
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise DataError(f"the table has several columns named {twice[0]!r}: give every column a name of its own")
    found = {text: np.asarray(frame[name]) for text, name in zip(texts, names, strict=True)}
    sizes = {text: len(values) for text, values in found.items()}
    if not found or len(set(sizes.values())) != 1 or 0 in sizes.values():
        raise DataError(f"the columns of a table have one length, at least 1; given: {sizes or 'no column'}")
    return found


def read_orders(frame: Any) -> dict[str, list[Any]]:
    """Return the values of ordered pandas categories in their order, by column; other columns have no order of their
    own."""
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    dtypes: dict[str, Any] = {str(name): getattr(frame[name], "dtype", None) for name in names}
    return {name: list(dtype.categories) for name, dtype in dtypes.items() if getattr(dtype, "ordered", False)}
