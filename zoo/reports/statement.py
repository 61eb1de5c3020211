"""What a certificate of a table row says in words: which columns may change, and by how much."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from smoothing import Certificate
from zoo.certification import Certification, Unit, find_run, read_about, read_certification
from zoo.data import TableSpec
from zoo.errors import ModelError
from zoo.reports.display import down

if TYPE_CHECKING:
    from zoo.models import Model

_MOST_NAMES = 4


@attrs.frozen
class Statement:
    """The guarantee of one row: `columns` of the `changeable` ones may take any values (None: no guarantee).

    >>> print(Statement(3, "ill", "ill", 1, 4, "This prediction holds if any 1 of these 4 columns changes."))
    Row 3: ill. This prediction holds if any 1 of these 4 columns changes.
    """

    idx: int
    label: str
    predicted: str
    columns: int | None
    changeable: int
    text: str

    @property
    def correct(self) -> bool:
        """Whether the prediction is right."""
        return self.label == self.predicted

    def __str__(self) -> str:
        return f"Row {self.idx}: {self.predicted}. {self.text}"


def in_words(ball: Certificate, spec: TableSpec) -> str:
    """Return the sentence of a certificate under the description of a table.

    >>> from fractions import Fraction
    >>> spec = TableSpec.fit({"a": [0, 1], "b": [0, 1], "c": [0, 1], "y": [0, 1]}, "y", immutable=["c"])
    >>> metric = spec.metric("sign(z)/4")
    >>> in_words(Certificate(0, "paper", Fraction(1, 4), True, metric, spec.q, (3,)), spec)
    'This prediction holds if any 1 of these 2 columns changes, by any amount, as long as c stays the same.'
    """
    changeable = spec.having("changeable")
    columns = ball.features(among=changeable)
    if columns is None or ball.radius is None:
        return "There is no guarantee for this prediction: its votes are too close."
    stays = _listed([spec.names[i] for i in spec.having("immutable")])
    keep = f", as long as {stays} {'stay' if len(spec.having('immutable')) > 1 else 'stays'} the same" if stays else ""
    free = _listed([spec.names[i] for i in spec.having("free")])
    any_value = f" {free} may always be anything." if free else ""
    count = len(changeable)
    if columns == count:
        return f"This prediction holds whatever the values of these {count} columns are{keep}.{any_value}"
    radius = down(Unit("metric distance", None).radius(ball), 3)
    distance = "" if _counts(ball) else f" It also holds within metric distance {radius}{keep}."
    if columns:
        verb = "changes" if columns == 1 else "change"
        first = f"This prediction holds if any {columns} of these {count} columns {verb}, by any amount{keep}."
        return first + distance + any_value
    if _counts(ball):
        return f"This prediction is guaranteed for this row alone: a change of one column may change it.{any_value}"
    return f"This prediction holds within metric distance {radius}{keep}.{any_value}"


def changes_alone(ball: Certificate, spec: TableSpec, levels: Sequence[int]) -> dict[str, str]:
    """Return, for each changeable column, the values that it alone may take, in words."""
    found = {}
    for i in spec.having("changeable"):
        reach = ball.reach(i)
        column = spec.columns[i]
        found[column.name] = "no guarantee" if reach is None else column.within(int(levels[i]), reach, spec.q)
    return found


def statements(run: Certification | Model | str | os.PathLike[str]) -> list[Statement]:
    """Return what was certified for each row of a table, in words; `run` is a certified run, its folder or its model.

    >>> from tempfile import TemporaryDirectory
    >>> from zoo import certify, train
    >>> with TemporaryDirectory() as out:
    ...     model = train("sign(z)/4", "iris", model="GaussianNB", out=out)
    ...     found = statements(certify(model, limit=2, progress=False))
    >>> print(found[0])
    Row 2: setosa. This prediction holds if any 2 of these 4 columns change, by any amount.
    """
    folder = find_run(run)
    about = read_about(folder)
    spec = spec_of(about)
    if spec is None:
        raise ModelError(f"{folder} is not a run on a table with named columns; statements need zoo.Table data")
    found = run if isinstance(run, Certification) else read_certification(folder)
    changeable = spec.having("changeable")
    names = spec.class_names
    rows = []
    for row in found.rows:
        ball = row.balls[found.certificate]
        rows.append(
            Statement(
                row.idx,
                names[row.label],
                names[row.predict],
                ball.features(among=changeable),
                len(changeable),
                in_words(ball, spec),
            )
        )
    return rows


def spec_of(about: dict[str, Any]) -> TableSpec | None:
    """Return the description of the table that a run is about; None where it is about other data."""
    table = about.get("card", {}).get("data", {}).get("table")
    return None if table is None else TableSpec.from_dict(table)


def _counts(ball: Certificate) -> bool:
    """Return whether every component is a step, so that the number of changed columns says all."""
    return all(profile.is_zero or (profile.power() or (1,))[0] == 0 for profile in ball.metric.components)


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} other columns"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
