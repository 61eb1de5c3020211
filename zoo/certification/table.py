"""The table of a run on disk: tab separated, one image a row, flushed row by row.

It begins with the columns `idx label predict radius correct time` that plotting scripts of the field read. `radius` is
rounded down to a double that the ball still covers, so `radius >= r` never counts an image that is not certified at r.
The columns after it are exact, and are what this package itself reads back.
"""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from smoothing.certificates import Certificate, Threat, diameter
from zoo.certification.certification import Row, Unit
from zoo.errors import ModelError

if TYPE_CHECKING:
    from smoothing import Scheme

COLUMNS = ("idx", "label", "predict", "radius", "correct", "time", "votes", "hits", "unsure")

MEANING = {
    "idx": "index of the image in the test split",
    "label": "true class",
    "predict": "the smoothed classifier's class: plurality of the votes, ties to the smaller index",
    "radius": "certified radius by the chosen certificate, rounded down; every point at this distance or nearer gets "
    "the class `predict`. nan: no certificate; inf: no point at all gets another class",
    "correct": "1 if predict = label",
    "time": "seconds spent on the image (voting as an average over its batch), h:mm:ss.ffffff",
    "votes": "total weight B of the votes",
    "hits": "weight of the votes for the true class; base accuracy is the mean of hits/votes",
    "unsure": "weight of the votes too close to call, which count against the prediction in every certificate",
    "paper": "exact ball in metric distance by the published formula: <=r closed, <r open, all: everything, none",
    "integer": "the same by the integer certificate",
    "vote_aware": "the same by the vote-aware certificate",
}


def ball_text(ball: Certificate) -> str:
    """
    >>> from ecm import ECM
    >>> ball_text(Certificate(3, "integer", Fraction(1, 6), False, ECM.l1(6), q=255, shape=(3,)))
    '<1/6'
    """
    if ball.radius is None:
        return "none"
    return "all" if ball.everywhere else f"{'<=' if ball.closed else '<'}{ball.radius}"


def _ball(text: str, predict: int, method: str, scheme: Scheme) -> Certificate:
    everywhere, closed = text == "all", text == "all" or text.startswith("<=")
    radius = None if text == "none" else diameter(scheme) if everywhere else Fraction(text.lstrip("<="))
    threat: Threat = "pixels" if scheme.pixel else "features"
    return Certificate(
        predict, method, radius, closed, scheme.metric, scheme.q, scheme.shape, threat, everywhere=everywhere
    )


class Table:
    """Append-only writer and reader of one run's rows.

    A row that a killed run left half written is cut off; complete rows are kept.
    """

    def __init__(self, path: Path, scheme: Scheme, methods: tuple[str, ...]) -> None:
        self.path, self.scheme, self.methods = path, scheme, methods
        self._unit = Unit.of(scheme.metric, pixel=scheme.pixel)
        self._header = "\t".join([*COLUMNS, *methods])

    def read(self) -> dict[int, Row]:
        """The complete rows on disk by image index; {} if there is no table or one with other columns."""
        try:
            text = self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{self.path} cannot be read ({error}): delete it and certify again") from error
        header, *lines = text[: text.rfind("\n") + 1].splitlines() or [""]
        if header != self._header:
            return {}
        try:
            rows = [self._parse(line) for line in lines]
        except (ValueError, ZeroDivisionError) as error:
            raise ModelError(f"{self.path} holds a damaged row ({error}): delete it and certify again") from error
        return {row.idx: row for row in rows}

    def _parse(self, line: str) -> Row:
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) + len(self.methods):
            raise ValueError(f"{len(cells)} cells: {line[:60]!r}")
        idx, label, predict = (int(cell) for cell in cells[:3])
        balls = {
            method: _ball(cell, predict, method, self.scheme)
            for method, cell in zip(self.methods, cells[len(COLUMNS) :], strict=True)
        }
        hours, minutes, seconds = cells[5].split(":")
        return Row(
            idx, label, int(cells[7]), int(cells[8]), 3600 * int(hours) + 60 * int(minutes) + float(seconds), balls
        )

    def start(self, rows: list[Row]) -> io.TextIOWrapper:
        """A fresh table with these rows, put in place in one step, open for appending."""
        fresh = self.path.with_name(self.path.name + ".new")
        with open(fresh, "w", encoding="ascii", newline="\n") as file:
            file.write(self._header + "\n")
            for row in rows:
                file.write(self.line(row))
        os.replace(fresh, self.path)
        return open(self.path, "a", encoding="ascii", newline="\n")

    def line(self, row: Row) -> str:
        """The row as it stands in the file."""
        radius = self._unit.radius(row.balls[self.methods[-1]])
        minutes, seconds = divmod(row.seconds, 60)
        time = f"{int(minutes) // 60}:{int(minutes) % 60:02d}:{seconds:09.6f}"
        cells: list[object] = [row.idx, row.label, row.predict, radius, int(row.correct), time]
        cells += [self.scheme.total, row.hits, row.unsure]
        return "\t".join(map(str, [*cells, *(ball_text(row.balls[m]) for m in self.methods)])) + "\n"
