"""One column of a table: what its values are, and which level 0..q stands for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Ints
from zoo.errors import DataError

ColumnKind = Literal["numeric", "ordinal", "categorical", "boolean"]
Role = Literal["changeable", "immutable", "free"]
Outside = Literal["error", "clip"]
Scalar = str | int | float | bool


def plain(value: Any) -> Scalar:
    """Return a value as plain data that JSON can keep: the Python number, truth value or text of a NumPy or pandas
    scalar.

    >>> plain(np.float32(0.5)), plain(np.str_("red"))
    (0.5, 'red')
    """
    scalar = value.item() if isinstance(value, np.generic) else value
    return scalar if isinstance(scalar, str | int | float | bool) else str(scalar)


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries are missing: None, NaN or pandas' NA.

    >>> missing(np.array(["a", None, float("nan")], dtype=object)).tolist()
    [False, True, True]
    """

    def is_missing(value: Any) -> bool:
        try:
            return value is None or bool(value != value)  # noqa: PLR0124
        except TypeError:  # pandas.NA compares to NA, which is neither true nor false
            return True

    if values.dtype.kind in "iub":
        return np.zeros(len(values), dtype=np.bool_)
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return np.array([is_missing(value) for value in values], dtype=np.bool_)


@attrs.frozen
class Column:
    """How the values of one column become levels 0..q, and what an attacker may do to them.

    - `numeric`: `low` is level 0, `high` is level q, and values between them are rounded to `steps` equal steps, so a
      change of z = 1 is a change by the whole range `high - low`.
    - `ordinal`: `values` in their order, spread evenly over 0..q.
    - `categorical` and `boolean`: `values` without an order; every change counts as z = 1.

    `role` is `changeable`, `immutable` (nobody can change this column; the classifier always sees it) or `free` (an
    attacker may set it to anything at no cost; the classifier never sees it).

    >>> age = Column("age", "numeric", low=0.0, high=120.0, steps=60)
    >>> age.levels(np.array([0, 30, 120]), q=60).tolist(), age.value(15, q=60)
    ([0, 15, 60], 30.0)
    >>> Column("size", "ordinal", values=("S", "M", "L")).levels(np.array(["M", "L"]), q=60).tolist()
    [30, 60]
    """

    name: str
    kind: ColumnKind
    low: float = 0.0
    high: float = 0.0
    steps: int = 0
    values: tuple[Scalar, ...] = ()
    role: Role = "changeable"

    def __attrs_post_init__(self) -> None:
        if self.kind not in get_args(ColumnKind) or self.role not in get_args(Role):
            raise DataError(
                f"column {self.name!r}: kind {self.kind!r}, role {self.role!r}; the kinds are "
                f"{', '.join(get_args(ColumnKind))}, the roles {', '.join(get_args(Role))}"
            )
        if self.kind == "numeric":
            if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low <= self.high):
                raise DataError(
                    f"column {self.name!r}: the limits {self.low!r}..{self.high!r} are not an interval; write "
                    f"limits={{{self.name!r}: (low, high)}} with two finite numbers, low < high"
                )
            if self.steps < 1:
                raise DataError(f"column {self.name!r}: steps = {self.steps}; write a whole number of steps >= 1")
        elif not self.values or len(set(self.values)) != len(self.values):
            raise DataError(f"column {self.name!r}: the values {list(self.values)!r} must be different, and not none")

    @property
    def finest(self) -> int:
        """The number of steps between this column's first and last level: a table needs q at least as large."""
        return self.steps if self.kind == "numeric" else len(self.values) - 1

    @property
    def ordered(self) -> bool:
        """Whether a change can be small or large; otherwise every change counts as z = 1."""
        return self.kind in ("numeric", "ordinal")

    def levels(self, values: NDArray[Any], q: int, outside: Outside = "error") -> Ints:
        """Return the level of every value; an error names the first value that has none.

        With `outside="clip"` numbers beyond the limits count as the limit itself. That is part of the classifier and
        cannot harm a guarantee: clipping brings two values nearer to each other, never further apart.
        """
        if (lost := missing(values)).any():
            raise DataError(
                f"column {self.name!r}: the value in row {int(np.argmax(lost))} is missing ({int(lost.sum())} of "
                f"{len(values)} rows): fill it in first, or drop the column or these rows"
            )
        own = self._numbers(values, outside) if self.kind == "numeric" else self._places(values)
        return np.rint(own * q / max(1, self.finest)).astype(np.int64)

    def _numbers(self, values: NDArray[Any], outside: Outside) -> NDArray[np.float64]:
        numbers = _as_numbers(values, self.name)
        beyond = ~np.isfinite(numbers) | (numbers < self.low) | (numbers > self.high)
        if outside == "clip":
            beyond &= ~np.isfinite(numbers)
        if beyond.any():
            row = int(np.argmax(beyond))
            raise DataError(
                f"column {self.name!r}: row {row} holds {numbers[row]:g}, outside the limits "
                f"{self.low:g}..{self.high:g} ({int(beyond.sum())} such rows): write "
                f"limits={{{self.name!r}: (low, high)}} that hold every value that can occur, or outside='clip' to "
                "treat values beyond a limit as the limit"
            )
        span = self.high - self.low
        if span == 0:
            return np.zeros(len(numbers))
        return np.rint((np.clip(numbers, self.low, self.high) - self.low) / span * self.steps)

    def _places(self, values: NDArray[Any]) -> NDArray[np.float64]:
        place = {value: k for k, value in enumerate(self.values)}
        found = [place.get(plain(value)) for value in values]
        if None in found:
            row = found.index(None)
            raise DataError(
                f"column {self.name!r}: row {row} holds {plain(values[row])!r}, which is not among its values "
                f"{list(self.values)!r}: name all values that can occur, categories={{{self.name!r}: [...]}}"
            )
        return np.array(found, dtype=np.float64)

    def value(self, level: int, q: int) -> Scalar:
        """Return the value that a level stands for; between two ordinal or categorical values, the nearer one."""
        own = round(level * max(1, self.finest) / q)
        if self.kind == "numeric":
            return self.low + (self.high - self.low) * own / self.steps
        return self.values[min(own, len(self.values) - 1)]

    def within(self, level: int, reach: int, q: int) -> str:
        """Describe in words the values whose level differs by at most `reach` from `level`.

        Numbers are printed with as many digits as name their level without doubt.

        >>> Column("age", "numeric", low=0.0, high=120.0, steps=60).within(15, 2, q=60)
        '26.0 to 34.0'
        >>> Column("size", "ordinal", values=("S", "M", "L")).within(30, 30, q=60)
        'any value'
        """
        own = [k for k in range(self.finest + 1) if abs(round(k * q / max(1, self.finest)) - level) <= reach]
        if len(own) == self.finest + 1:
            return "any value"
        if len(own) <= 1:
            return "no change"
        if self.kind != "numeric":
            return ", ".join(str(self.values[k]) for k in own)
        step = (self.high - self.low) / self.steps
        digits = max(
            0, math.ceil(-math.log10(step / 5))
        )  # an error of a tenth of a step, where a half would be allowed
        return " to ".join(f"{self.low + step * k:.{digits}f}" for k in (own[0], own[-1]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for the card of a model.

        >>> Column.from_dict(Column("a", "boolean", values=(False, True)).to_dict()).kind
        'boolean'
        """
        kept = ("low", "high", "steps") if self.kind == "numeric" else ("values",)
        found = attrs.asdict(self, filter=lambda a, _: a.name in ("name", "kind", "role", *kept))
        return found if self.kind == "numeric" else found | {"values": list(self.values)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Column:
        """Return the column of such data."""
        try:
            return cls(**(data | {"values": tuple(data.get("values", ()))}))
        except TypeError as error:
            raise DataError(f"{str(data)[:80]!r} does not describe a column: {error}") from error


def fit_column(
    name: str,
    values: NDArray[Any],
    kind: ColumnKind,
    *,
    q: int,
    limits: tuple[float, float] | None = None,
    steps: int | None = None,
    categories: Sequence[Any] | None = None,
    role: Role = "changeable",
) -> Column:
    """Return the column that these training values make, with limits and categories taken from them where none are
    given.

    >>> fit_column("height", np.array([1.5, 2.0, 1.75]), "numeric", q=10)
    Column(name='height', kind='numeric', low=1.5, high=2.0, steps=10, values=(), role='changeable')
    """
    if (lost := missing(values)).any():
        raise DataError(
            f"column {name!r}: the value in training row {int(np.argmax(lost))} is missing ({int(lost.sum())} of "
            f"{len(values)} rows): fill it in first, or drop the column or these rows"
        )
    if kind == "numeric":
        if limits is None:
            numbers = _as_numbers(values, name)
            limits = (float(numbers.min()), float(numbers.max()))
        low, high = (float(end) for end in limits)
        return Column(name, kind, low, high, q if steps is None else int(steps), role=role)
    if categories is None:
        found = {plain(value) for value in values}
        try:
            categories = sorted(found)
        except TypeError:  # values of several types have no order
            categories = sorted(found, key=lambda value: (type(value).__name__, str(value)))
    return Column(name, kind, values=tuple(plain(value) for value in categories), role=role)


def _as_numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"column {name!r} contains something that is not a number ({error}): declare it with "
            f"kinds={{{name!r}: 'categorical'}}, or convert it"
        ) from error
