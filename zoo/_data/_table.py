"""A table as levels: a frozen description of its columns, and the data set that it makes of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import attrs
import numpy as np
import torch
from numpy.typing import NDArray

from ecm import ECM
from zoo._data._column import Column, Ints, Kind, Outside, Role, Scalar, fit_column, missing, plain
from zoo._data._dataset import Dataset, Tensors, stratified
from zoo._errors import DataError

OTHERS = "*"  # in a metric by column: all columns that are not named
Formula = ECM | str


def is_frame(data: Any) -> bool:
    """Whether this is a table with named columns: a pandas or polars DataFrame, or a mapping from names to arrays.

    >>> is_frame({"a": [1, 2]}), is_frame([[1, 2]])
    (True, False)
    """
    return isinstance(data, Mapping) or (hasattr(data, "columns") and hasattr(data, "__getitem__"))


def read_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """The columns of a table by name, each an array with one entry per row."""
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
    """The values of ordered pandas categories in their order, by column; other columns have no order of their own."""
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    dtypes = {str(name): getattr(frame[name], "dtype", None) for name in names}
    return {name: list(dtype.categories) for name, dtype in dtypes.items() if getattr(dtype, "ordered", False)}


def _kind(name: str, values: NDArray[Any]) -> Kind:
    if values.dtype.kind in "iuf":
        return "numeric"
    if values.dtype.kind == "b":
        return "boolean"
    if values.dtype.kind in "mMc":
        raise DataError(f"column {name!r} holds {values.dtype}: convert it to a number first, to days for instance")
    present = values[~missing(values)]
    if len(present) and all(isinstance(value, bool | np.bool_) for value in present):
        return "boolean"
    if len(present) and all(isinstance(value, int | float | np.number) for value in present):
        return "numeric"
    return "categorical"


@attrs.frozen(slots=False)
class TableSpec:
    """What fixes how a row becomes levels: the columns, the target, the classes and q. Made on training rows alone.

    >>> spec = TableSpec.fit({"age": [20, 60], "smoker": [True, False], "ill": ["no", "yes"]}, "ill", q=40)
    >>> spec.encode({"age": [21], "smoker": [True]}).tolist()
    [[1, 40]]
    >>> spec.metric("z**0.5/2")  # a change of a truth value counts as z = 1
    ECM.grouped([ECM.from_expr('z**(1/2)/2'), ECM.from_expr('sign(z)/2')], groups=(0, 1))
    >>> TableSpec.from_dict(spec.to_dict()) == spec
    True
    """

    columns: tuple[Column, ...]
    target: str
    classes: tuple[Scalar, ...]
    q: int
    outside: Outside = "error"

    def __attrs_post_init__(self) -> None:
        if self.outside not in get_args(Outside):
            raise DataError(f"outside = {self.outside!r}: write 'error', or 'clip' to clip numbers to their limits")
        if isinstance(self.q, bool) or not isinstance(self.q, int) or self.q < 1:
            raise DataError(f"q = {self.q!r}: write the largest level, a whole number >= 1, such as 63")
        if not self.columns:
            raise DataError(f"the table has no column besides its target {self.target!r}")
        for column in self.columns:
            if column.finest > self.q:
                raise DataError(
                    f"column {column.name!r} has {column.finest + 1} different levels, but q = {self.q} allows "
                    f"{self.q + 1}: pass q={column.finest} or more, or fewer steps for this column"
                )

    @classmethod
    def fit(
        cls,
        rows: Any,
        target: str,
        *,
        q: int = 63,
        limits: Mapping[str, tuple[float, float]] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        steps: Mapping[str, int] | None = None,
        immutable: Iterable[str] = (),
        free: Iterable[str] = (),
        outside: Outside = "error",
    ) -> TableSpec:
        """The description that these training rows make; see `Table.from_frame` for the settings."""
        found, orders = read_columns(rows), read_orders(rows)
        if target not in found:
            raise DataError(f"the target {target!r} is not a column of the table; it has {', '.join(found)}")
        names = [name for name in found if name != target]
        fixed, open_ = _names(immutable, "immutable"), _names(free, "free")
        named = {
            "limits": limits or {},
            "kinds": kinds or {},
            "categories": categories or {},
            "steps": steps or {},
            "immutable": fixed,
            "free": open_,
        }
        for setting, mentioned in named.items():
            if unknown := [name for name in mentioned if name not in names]:
                raise DataError(
                    f"{setting} names {unknown[0]!r}, which is no column; the columns are {', '.join(names)}"
                )
        if both := [name for name in fixed if name in open_]:
            raise DataError(
                f"column {both[0]!r} is both immutable and free: nobody, or anybody, can change it; not both"
            )
        if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
            raise DataError(f"q = {q!r}: write the largest level, a whole number >= 1, such as 63")
        columns = []
        for name in names:
            declared = (categories or {}).get(name, orders.get(name))
            usual: Kind = "ordinal" if name in orders else "categorical"
            kind = (kinds or {}).get(name) or (usual if declared is not None else _kind(name, found[name]))
            role: Role = "immutable" if name in fixed else "free" if name in open_ else "changeable"
            columns.append(
                fit_column(
                    name,
                    found[name],
                    kind,
                    q=int(q),
                    limits=(limits or {}).get(name),
                    steps=(steps or {}).get(name),
                    categories=declared,
                    role=role,
                )
            )
        labels = fit_column(target, found[target], "categorical", q=int(q))
        return cls(tuple(columns), target, labels.values, int(q), outside)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in the order of the levels."""
        return tuple(column.name for column in self.columns)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as text, in the order of the labels 0, 1, ..."""
        return tuple(str(value) for value in self.classes)

    def having(self, role: Role) -> tuple[int, ...]:
        """The places of the columns with this role: changeable, immutable or free."""
        return tuple(i for i, column in enumerate(self.columns) if column.role == role)

    def encode(self, rows: Any) -> Ints:
        """The levels of these rows, [rows, columns]; the target may be there or not, other columns are refused."""
        found = read_columns(rows)
        if lost := [name for name in self.names if name not in found]:
            raise DataError(f"the rows lack the column {lost[0]!r}; they have {', '.join(found)}")
        if more := [name for name in found if name not in (*self.names, self.target)]:
            raise DataError(
                f"the rows have a column {more[0]!r} that the table did not have: drop it, or train with it"
            )
        return np.stack([column.levels(found[column.name], self.q, self.outside) for column in self.columns], axis=1)

    def labels(self, rows: Any) -> Ints:
        """The label 0, 1, ... of each row, by its target column."""
        found = read_columns(rows)
        if self.target not in found:
            raise DataError(f"the rows have no target column {self.target!r}: it is needed to tell right from wrong")
        column = Column(self.target, "categorical", values=self.classes)
        return column.levels(found[self.target], max(1, len(self.classes) - 1))

    def decode(self, levels: Sequence[int] | NDArray[Any]) -> dict[str, Scalar]:
        """The values that the levels of one row stand for, by column."""
        return {c.name: c.value(int(level), self.q) for c, level in zip(self.columns, levels, strict=True)}

    def metric(self, given: Formula | Mapping[str, Formula]) -> ECM:
        """The metric d = sum over columns of g(z), z the change of a column as a share of its range.

        `given` is one formula for all columns, or formulas by name, with `"*"` for the columns that are not named. An
        immutable column gets g = sign(z), larger than every certified radius; a free column gets g = 0; and where
        values have no order every change counts as z = 1, so that g becomes the step g(1)*sign(z).

        >>> spec = TableSpec.fit({"a": [0, 1], "b": [0, 1], "c": [0, 1], "y": [0, 1]}, "y", immutable=["c"])
        >>> spec.metric({"a": "z**0.5/4", "*": "sign(z)/4"})
        ECM.grouped([ECM.from_expr('z**(1/2)/4'), ECM.from_expr('sign(z)/4'), ECM.from_expr('sign(z)')], groups=(0, 1, 2))
        """
        if isinstance(given, ECM) and given.groups:
            self.require_roles(given)
            return given
        chosen = dict(given) if isinstance(given, Mapping) else {OTHERS: given}
        changeable = [self.columns[i].name for i in self.having("changeable")]
        if not changeable:
            raise DataError("every column is immutable or free: there is nothing to certify against")
        for name in chosen:
            if name != OTHERS and name not in changeable:
                role = next((c.role for c in self.columns if c.name == name), None)
                what = f"is {role} and has no metric" if role else "is no column"
                raise DataError(f"the metric names {name!r}, which {what}; it may name {', '.join(changeable)}, '*'")
        if lost := [name for name in changeable if name not in chosen and OTHERS not in chosen]:
            raise DataError(
                f"the metric says nothing about the columns {', '.join(lost)}: name them, or add '*' for all others"
            )
        made: dict[tuple[str, bool], ECM] = {}
        parts = []
        for column in self.columns:
            if column.role != "changeable":
                parts.append(_of("sign(z)" if column.role == "immutable" else "0", made))
                continue
            part = _of(chosen.get(column.name, chosen.get(OTHERS)), made)
            parts.append(part if column.ordered else _step(part, made))
        together = ECM.grouped(parts)
        return together if len(together.components) > 1 else together[0]

    def require_roles(self, metric: ECM) -> None:
        """An immutable column must cost 1 for any change and a free one nothing, or a claim about them is false."""
        component = metric.component_of((len(self.columns),))
        for i, column in enumerate(self.columns):
            profile = metric.components[component[i]]
            if column.role == "free" and not profile.is_zero:
                raise DataError(
                    f"column {column.name!r} is free, but the metric gives it g = {profile.text}: give it 0"
                )
            if column.role == "immutable" and profile.floors(1, self.q)[1] < 1:
                raise DataError(
                    f"column {column.name!r} is immutable, but the metric gives it g = {profile.text}: give it sign(z)"
                )
            if column.role == "changeable" and not column.ordered and not _is_step(profile, self.q):
                raise DataError(
                    f"the values of {column.name!r} have no order, but g = {profile.text} depends on how far apart two "
                    "of them are: give it a step such as sign(z)/4, or pass the formulas by name"
                )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the card of a model."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "target": self.target,
            "classes": list(self.classes),
            "q": self.q,
            "outside": self.outside,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableSpec:
        """The description of such data."""
        try:
            columns = tuple(Column.from_dict(column) for column in data["columns"])
            return cls(columns, data["target"], tuple(data["classes"]), data["q"], data["outside"])
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{str(data)[:80]!r} does not describe a table: {error!r}") from error


def _names(given: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise DataError(f"{what} = {given!r}: write a list of column names, as in [{given!r}]")
    return tuple(given)


def _of(given: Any, made: dict[tuple[str, bool], ECM]) -> ECM:
    """The metric of one column; a formula that many columns share is proven once."""
    if isinstance(given, ECM):
        if len(given.components) > 1:
            raise DataError(f"a column has one g, but {given!r} has several: name the columns, each with one formula")
        return given[0]
    if not isinstance(given, str):
        raise DataError(f"the metric of a column is a formula or an ECM, not a {type(given).__name__}")
    if (given, False) not in made:
        made[given, False] = ECM.from_expr(given)
    return made[given, False]


def _step(metric: ECM, made: dict[tuple[str, bool], ECM]) -> ECM:
    """g(1) for any change at all."""
    text = metric.profile.constant(1, 1).text()
    if (text, True) not in made:
        made[text, True] = ECM.from_expr(f"sign(z)*({text})")
    return made[text, True]


def _is_step(profile: Any, q: int) -> bool:
    """Whether g(1/q) = g(1) as formulas; g rises, so it is then the same everywhere in between."""
    return bool(profile.exact(1, q) - profile.exact(1, 1) == 0)


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
        """What a card says about the data, with the columns."""
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
        """A data set from a pandas DataFrame (or a dict of name -> values) whose column `target` is the class.

        Without `test` (a frame with the same columns) a fifth of the rows of each class is held out, always the same
        fifth. Everything is fixed on the training rows alone. `settings`:

        - `q`: the largest level, by default 63; a change is counted in steps of 1/q of a column's range;
        - `limits`: name -> (low, high) of numeric columns; by default the least and largest value of the training rows.
          A value outside is an error, or the limit itself with `outside="clip"`;
        - `kinds`: name -> "numeric", "ordinal", "categorical" or "boolean", where the type of the values does not say it;
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
        """The data set of these rows under a description that is fixed already."""
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
    """`data` as the rows of the table that a model's card describes; anything but a table stays as it is.

    All rows of a frame are evaluated, with the limits and categories that were fixed when the model was trained.
    """
    about = card.get("table")
    if isinstance(data, Table):
        if about is not None and data.spec.to_dict() != about:
            raise DataError(
                f"the columns of {data.name!r} are not those that the model was trained on (other limits, categories or "
                "roles): pass the DataFrame itself, so that the model's own limits are used"
            )
        return data
    if about is None or not is_frame(data):
        return data
    return Table.of(TableSpec.from_dict(about), data, data, name=card["name"])
