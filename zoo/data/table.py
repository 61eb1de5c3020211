"""A table with named columns as a data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import torch

from ecm.arrays import Ints
from zoo.data.column import missing, plain
from zoo.data.dataset import Dataset, Tensors, stratified
from zoo.data.frame import is_frame, read_columns, read_orders
from zoo.data.table_spec import TableSpec
from zoo.errors import DataError


@attrs.frozen(eq=False, repr=False, slots=False, kw_only=True)
class Table(Dataset):
    """A table with named columns as a data set: levels 0..q per column, and the description that made them.

    >>> rows = {"age": [20, 30, 40, 50, 60, 70] * 4, "smoker": [True, False] * 12, "ill": ["no", "no", "yes"] * 8}
    >>> table = Table.from_frame(rows, "ill", immutable=["age"], name="health")
    >>> table
    Table('health', 19 train, 5 test, columns age (immutable), smoker; target ill: no, yes; q=63)
    """

    spec: TableSpec

    def __repr__(self) -> str:
        shown = [c.name + ("" if c.role == "changeable" else f" ({c.role})") for c in self.spec.columns]
        names = ", ".join(shown if len(shown) <= 6 else [*shown[:5], f"... ({len(shown)} columns)"])
        classes = ", ".join(self.class_names[:6]) + (", ..." if self.classes > 6 else "")
        return (
            f"Table({self.name!r}, {len(self.train)} train, {len(self.test)} test, columns {names}; "
            f"target {self.spec.target}: {classes}; q={self.q})"
        )

    @cached_property
    def digest(self) -> str:
        """sha256 over the rows of both splits and the description of the columns."""
        parts = (self.train.digest, self.test.digest, json.dumps(self.spec.to_dict(), sort_keys=True))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return what a card says about the data, with the columns."""
        return super().describe() | {"table": self.spec.to_dict()}

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        *,
        test: Any = None,
        name: str = "table",
        source: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> Table:
        """Return a data set from a pandas DataFrame (or a dict of name -> values) whose column `target` is the class.

        `frame` has one row per example. `name` is what cards and reports call the data, and `source` says where they
        come from.
        Without `test` (a frame with the same columns) a fifth of the rows of each class is held out, always the same
        fifth. Everything is fixed on the training rows alone. `settings`:

        - `q`: the largest level, by default 63; a change is counted in steps of 1/q of a column's range;
        - `limits`: name -> (low, high) of numeric columns; by default the least and largest value of the training rows.
          A value outside is an error, or the limit itself with `outside="clip"`;
        - `kinds`: name -> "numeric", "ordinal", "categorical" or "boolean", where the values do not say it themselves;
        - `categories`: name -> all values that can occur; for an ordinal column in their order;
        - `steps`: name -> number of equal steps of a numeric column, at most q (the default);
        - `immutable`: names of columns that nobody can change; `free`: names of columns that anybody can set at will.
        """
        rows = read_columns(frame)
        if target not in rows:
            raise DataError(f"the target {target!r} is not a column of the table; it has {', '.join(rows)}")
        if test is None:
            if (lost := missing(rows[target])).any():
                raise DataError(f"the target {target!r} is missing in row {int(np.argmax(lost))}: drop such rows")
            _, numbers = np.unique(np.array([str(plain(v)) for v in rows[target]]), return_inverse=True)
            held = stratified(numbers.astype(np.int64), 0.2).numpy()
            if held.all():
                raise DataError(f"table {name!r}: one row per class leaves none to train on; give test rows too")
            if orders := {n: order for n, order in read_orders(frame).items() if n != target}:
                settings |= {
                    "categories": orders | dict(settings.get("categories") or {}),
                    "kinds": dict.fromkeys(orders, "ordinal") | dict(settings.get("kinds") or {}),
                }
            first = {n: values[~held] for n, values in rows.items()}
            second = {n: values[held] for n, values in rows.items()}
        else:
            first, second = frame, read_columns(test)
        spec = TableSpec.fit(first, target, **settings)
        return cls.of(spec, first, second, name=name, source=source)

    @classmethod
    def of(
        cls, spec: TableSpec, train: Any, test: Any, *, name: str = "table", source: Mapping[str, str] | None = None
    ) -> Table:
        """Return the data set of these rows under a description that is fixed already."""
        halves = [
            Tensors(_tensor(spec.encode(rows), spec.q), torch.from_numpy(spec.labels(rows))) for rows in (train, test)
        ]
        return cls(
            name=name,
            train=halves[0],
            test=halves[1],
            q=spec.q,
            class_names=spec.class_names,
            source=dict(source or {}),
            spec=spec,
        )


def _tensor(levels: Ints, q: int) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(levels, dtype=np.uint8 if q <= 255 else np.int32))


def with_columns(data: Any, card: Mapping[str, Any]) -> Any:
    """Return `data` as the rows of the table that a model's card describes; anything but a table stays as it is.

    All rows of a frame are evaluated, with the limits and categories that were fixed when the model was trained.
    """
    about = card.get("table")
    if isinstance(data, Table):
        if about is not None and data.spec.to_dict() != about:
            raise DataError(
                f"the columns of {data.name!r} are not those that the model was trained on (other limits, categories "
                "or roles): pass the DataFrame itself, so that the model's own limits are used"
            )
        return data
    if about is None or not is_frame(data):
        return data
    return Table.of(TableSpec.from_dict(about), data, data, name=card["name"])
