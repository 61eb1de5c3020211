"""The table of an attack on disk: tab separated, one image per row, flushed row by row.

Distances and balls are exact fractions; the columns `radius` and `attack` are the same in the unit of the report, the
first rounded down and the second rounded up.
"""

from __future__ import annotations

import io
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ecm.files import replace_file
from zoo.attacks.result import Attacked, above
from zoo.certification import Unit, ball_text, read_ball
from zoo.errors import ModelError
from zoo.folder import complete_lines

if TYPE_CHECKING:
    from smoothing import Scheme

MEANING = {
    "idx": "index of the image in the test split",
    "label": "true class",
    "predict": "the smoothed classifier's class of the image itself",
    "radius": "certified radius, rounded down; nan: no certificate; inf: no point at all gets another class",
    "attack": "distance of the nearest input found with another class, in the same unit, rounded up; inf: none found",
    "ratio": "attack distance over certified radius, both in the metric d; -: one of them is missing",
    "class": "the class of the input that was found; -: none",
    "passes": "passes through the base that were spent, forward and backward",
    "time": "seconds spent on the image",
    "certified": "exact certified ball in d: <=r closed, <r open, all: everything, none",
    "distance": "exact upper bound on the distance in d of the input that was found; -: none",
    "changes": "the input that was found, as feature:level of every feature that differs from the image (C,H,W order)",
}
_HEADER = "\t".join(MEANING)


class AttackTable:
    """Append-only writer and reader of the rows of one attack. A half-written last row is cut off."""

    def __init__(self, path: Path, scheme: Scheme, method: str) -> None:
        self.path, self.scheme, self.method = path, scheme, method
        self._unit = Unit.of(scheme.metric, pixel=scheme.pixel)

    def read(self) -> dict[int, Attacked]:
        """The complete rows on disk by image index."""
        header, *lines = complete_lines(self.path, again="delete it and attack again") or [_HEADER]
        try:
            if header != _HEADER:
                raise ValueError(f"columns {header[:60]!r}")
            rows = [self._parse(line) for line in lines]
        except (ValueError, ZeroDivisionError) as error:
            raise ModelError(f"{self.path} contains a damaged row ({error}): delete it and attack again") from error
        return {row.idx: row for row in rows}

    def _parse(self, line: str) -> Attacked:
        cells = line.split("\t")
        if len(cells) != len(MEANING):
            raise ValueError(f"{len(cells)} cells: {line[:60]!r}")
        cell = dict(zip(MEANING, cells, strict=True))
        pairs = (pair.split(":") for pair in cell["changes"].split(",") if pair)
        return Attacked(
            int(cell["idx"]),
            int(cell["label"]),
            read_ball(cell["certified"], int(cell["predict"]), self.method, self.scheme),
            None if cell["distance"] == "-" else Fraction(cell["distance"]),
            None if cell["class"] == "-" else int(cell["class"]),
            tuple((int(feature), int(level)) for feature, level in pairs),
            int(cell["passes"]),
            float(cell["time"]),
        )

    def start(self, rows: list[Attacked]) -> io.TextIOWrapper:
        """A table with these rows, put in place in one step, open for appending."""
        replace_file(self.path, "".join([_HEADER + "\n", *map(self.line, rows)]).encode("ascii"))
        return open(self.path, "a", encoding="ascii", newline="\n")

    def line(self, row: Attacked) -> str:
        """The row as it stands in the file."""
        radius, far = self._unit.radius(row.ball), above(self._unit, row.distance)
        cells: dict[str, object] = {
            "idx": row.idx,
            "label": row.label,
            "predict": row.predict,
            "radius": radius,
            "attack": far if math.isfinite(far) else "inf",
            "ratio": "-" if row.ratio is None else f"{row.ratio:.6g}",
            "class": "-" if row.turned is None else row.turned,
            "passes": row.passes,
            "time": f"{row.seconds:.3f}",
            "certified": ball_text(row.ball),
            "distance": "-" if row.distance is None else row.distance,
            "changes": ",".join(f"{feature}:{level}" for feature, level in row.changes),
        }
        return "\t".join(str(cells[name]) for name in MEANING) + "\n"
