"""The frozen description of a table: how its rows become levels, and which metric its columns have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm import ECM
from ecm.arrays import Ints
from ecm.formula import sign, text_of
from zoo.data.column import Column, ColumnKind, Outside, Role, Scalar, fit_column, missing
from zoo.data.frame import read_columns, read_orders
from zoo.errors import DataError

OTHERS = "*"  # in a metric by column: all columns that are not named
Formula = ECM | str


def _kind(name: str, values: NDArray[Any]) -> ColumnKind:
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
        kinds: Mapping[str, ColumnKind] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        steps: Mapping[str, int] | None = None,
        immutable: Iterable[str] = (),
        free: Iterable[str] = (),
        outside: Outside = "error",
    ) -> TableSpec:
        """Return the description that the training rows `rows` make, with the class in the column `target`.

        `q`, `limits`, `kinds`, `categories`, `steps`, `immutable`, `free` and `outside` are as in `Table.from_frame`.
        """
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
                    f"{setting} names {unknown[0]!r}, which is not a column; the columns are {', '.join(names)}"
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
            usual: ColumnKind = "ordinal" if name in orders else "categorical"
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
        """Return the places of the columns with this role: changeable, immutable or free."""
        return tuple(i for i, column in enumerate(self.columns) if column.role == role)

    def encode(self, rows: Any) -> Ints:
        """Return the levels of these rows, [rows, columns]; the target may be there or not, other columns are
        refused."""
        found = read_columns(rows)
        if lost := [name for name in self.names if name not in found]:
            raise DataError(f"the rows lack the column {lost[0]!r}; they have {', '.join(found)}")
        if more := [name for name in found if name not in (*self.names, self.target)]:
            raise DataError(
                f"the rows have a column {more[0]!r} that the table did not have: drop it, or train with it"
            )
        return np.stack([column.levels(found[column.name], self.q, self.outside) for column in self.columns], axis=1)

    def labels(self, rows: Any) -> Ints:
        """Return the label 0, 1, ... of each row, by its target column."""
        found = read_columns(rows)
        if self.target not in found:
            raise DataError(f"the rows have no target column {self.target!r}: it is needed to tell right from wrong")
        column = Column(self.target, "categorical", values=self.classes)
        return column.levels(found[self.target], max(1, len(self.classes) - 1))

    def decode(self, levels: Sequence[int] | NDArray[Any]) -> dict[str, Scalar]:
        """Return the values that the levels of one row stand for, by column."""
        return {c.name: c.value(int(level), self.q) for c, level in zip(self.columns, levels, strict=True)}

    def metric(self, given: Formula | Mapping[str, Formula]) -> ECM:
        """Return the metric d = sum over columns of g(z), z the change of a column as a share of its range.

        `given` is one formula for all columns, or formulas by name, with `"*"` for the columns that are not named. An
        immutable column gets g = sign(z), larger than every certified radius; a free column gets g = 0; and where
        values have no order every change counts as z = 1, so that g becomes the step g(1)*sign(z).

        >>> spec = TableSpec.fit({"a": [0, 1], "b": [0, 1], "c": [0, 1], "y": [0, 1]}, "y", immutable=["c"])
        >>> print(spec.metric({"a": "z**0.5/4", "*": "sign(z)/4"}))
        z**(1/2)/4 | sign(z)/4 | sign(z)
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
                what = f"is {role} and has no metric" if role else "is not a column"
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
        """Return plain data, for the card of a model."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "target": self.target,
            "classes": list(self.classes),
            "q": self.q,
            "outside": self.outside,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableSpec:
        """Return the description of such data."""
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
    """Return the metric of one column; a formula that many columns share is proven once."""
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
    """Return g(1) for any change at all."""
    text = text_of(metric.profile.exact(1, 1))
    if (text, True) not in made:
        made[text, True] = ECM.from_expr(f"sign(z)*({text})")
    return made[text, True]


def _is_step(profile: Any, q: int) -> bool:
    """Return whether g(1/q) = g(1) as formulas; g rises, so it is then the same everywhere in between."""
    return sign(profile.exact(1, q) - profile.exact(1, 1)) == 0
