"""The table of a run on disk: tab separated, one image per row, flushed row by row.

It begins with the columns `idx label predict radius correct time` that plotting scripts of the field read. `radius` is
rounded down to a double that the ball still covers, so `radius >= r` never counts an image that is not certified at r.
The columns after it are exact, and are what this package itself reads back.
"""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ecm.files import replace_file
from smoothing.certificates import RUNOFF_METHODS, Certificate, Threat, diameter
from smoothing.scheme import cost_scale
from zoo.certification.certification import Row
from zoo.certification.unit import Unit
from zoo.errors import ModelError
from zoo.folder import complete_lines

if TYPE_CHECKING:
    from smoothing import Scheme

_CELL = re.compile(r"(none|all|<=?\d{1,60}(/\d{1,60})?)(;\d{1,5}:(-|\d{1,30})(,\d{1,5}:(-|\d{1,30}))*)?", re.ASCII)
_LONGEST = 40
OLDER = ("idx", "label", "predict", "radius", "correct", "time", "votes", "hits", "unsure")
COLUMNS = (*OLDER, "rule", "method", "plurality")

MEANING = {
    "idx": "index of the image in the test split",
    "label": "true class",
    "predict": "the smoothed classifier's class by the rule, ties to the smaller index",
    "radius": "certified radius by the chosen certificate, rounded down; every point at this distance or nearer gets "
    "the class `predict`. nan: no certificate; inf: no point at all gets another class",
    "correct": "1 if predict = label",
    "time": "seconds spent on the image (voting as an average over its batch), h:mm:ss.ffffff",
    "votes": "total weight B of the votes",
    "hits": "weight of the votes for the true class; base accuracy is the mean of hits/votes",
    "unsure": "weight of the votes too close to call, which count against the prediction in every certificate",
    "rule": "how the votes make the class `predict`: plurality (most votes) or runoff (of the two classes with most "
    "votes the one that more samples rank higher)",
    "method": "the first certificate of that rule that reaches the radius",
    "plurality": "the class with most votes, which the certificates of the plurality are about",
    "paper": "exact ball in metric distance by the published formula: <=r closed, <r open, all: everything, none",
    "integer": "the same by the integer certificate",
    "vote_aware": "the same by the vote-aware certificate; after a semicolon the multiplier of every rival examined "
    "(-: it can never win), with which the radius is checked again",
    "runoff": "the same for the class of a run-off, by counts",
    "runoff_vote_aware": "the same for the class of a run-off, by the vote-aware certificate",
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


def cell_text(ball: Certificate) -> str:
    """Return the ball as it stands in the table: with the multipliers that prove it, where it has any.

    >>> import attrs
    >>> from ecm import ECM
    >>> ball = Certificate(3, "vote_aware", Fraction(1, 6), False, ECM.l1(6), q=255, shape=(3,))
    >>> cell_text(attrs.evolve(ball, multipliers=((4, 1234), (0, None)), scale=2**40))
    '<1/6;4:1234,0:-'
    """
    proof = ",".join(f"{rival}:{'-' if m is None else m}" for rival, m in ball.multipliers)
    return ball_text(ball) + (f";{proof}" if proof else "")


def read_ball(cell: str, predict: int, method: str, scheme: Scheme) -> Certificate:
    """Read the ball that `cell_text` wrote."""
    found = _CELL.fullmatch(cell)  # no exponents: a short text could name a number that fills the memory
    if found is None:
        raise ValueError(f"{cell[:40]!r} is no ball")
    text, _, proof = cell.partition(";")
    everywhere, closed = text == "all", text == "all" or text.startswith("<=")
    radius = None if text == "none" else diameter(scheme) if everywhere else Fraction(text.lstrip("<="))
    threat: Threat = "pixels" if scheme.pixel else "features"
    pairs = (pair.split(":") for pair in proof.split(",") if proof)
    multipliers = tuple((int(rival), None if m == "-" else int(m)) for rival, m in pairs)
    return Certificate(
        predict,
        method,
        radius,
        closed,
        scheme.metric,
        scheme.q,
        scheme.shape,
        threat,
        everywhere=everywhere,
        multipliers=multipliers,
        scale=cost_scale(scheme.total) if multipliers else 1,
    )


class Table:
    """Append-only writer and reader of one run's rows.

    A row that a killed run left half written is cut off; complete rows are kept.
    """

    def __init__(self, path: Path, scheme: Scheme, methods: tuple[str, ...]) -> None:
        self.path, self.scheme, self.methods = path, scheme, methods
        self._unit = Unit.under(scheme)
        self._header, self._older = ("\t".join([*columns, *methods]) for columns in (COLUMNS, OLDER))

    def read(self) -> dict[int, Row]:
        """Return the complete rows on disk by image index; {} if there is no table or one with other columns. Tables of
        a plurality that an older version wrote, without a column for the rule, are read too."""
        header, *lines = complete_lines(self.path, again="delete it and certify again") or [""]
        if header not in (self._header, self._older):
            return {}
        try:
            rows = [self._parse(line, COLUMNS if header == self._header else OLDER) for line in lines]
        except (ValueError, ZeroDivisionError) as error:
            raise ModelError(f"{self.path} holds a damaged row ({error}): delete it and certify again") from error
        return {row.idx: row for row in rows}

    def _parse(self, line: str, columns: tuple[str, ...] = COLUMNS) -> Row:
        cells = line.split("\t")
        if len(cells) != len(columns) + len(self.methods):
            raise ValueError(f"{len(cells)} cells: {line[:60]!r}")
        if any(len(cell) > _LONGEST for cell in cells[: len(columns)]):
            raise ValueError(f"a number of {max(map(len, cells[: len(columns)]))} digits: {line[:60]!r}")
        idx, label, predict = (int(cell) for cell in cells[:3])
        plurality = int(cells[columns.index("plurality")]) if "plurality" in columns else predict
        balls = {
            method: read_ball(cell, predict if method in RUNOFF_METHODS else plurality, method, self.scheme)
            for method, cell in zip(self.methods, cells[len(columns) :], strict=True)
        }
        hours, minutes, seconds = cells[5].split(":")
        return Row(
            idx, label, int(cells[7]), int(cells[8]), 3600 * int(hours) + 60 * int(minutes) + float(seconds), balls
        )

    def start(self, rows: list[Row]) -> io.TextIOWrapper:
        """Return a fresh table with these rows, put in place in one step, open for appending."""
        replace_file(self.path, "".join([self._header + "\n", *map(self.line, rows)]).encode("ascii"))
        return open(self.path, "a", encoding="ascii", newline="\n")

    def line(self, row: Row) -> str:
        """Return the row as it stands in the file."""
        radius = self._unit.radius(row.balls[self.methods[-1]])
        minutes, seconds = divmod(row.seconds, 60)
        time = f"{int(minutes) // 60}:{int(minutes) % 60:02d}:{seconds:09.6f}"
        plain = np.format_float_positional(radius, trim="0")  # every digit of the double, and never an exponent
        cells: list[object] = [row.idx, row.label, row.predict, plain, int(row.correct), time]
        cells += [self.scheme.total, row.hits, row.unsure]
        cells += [row.balls[self.methods[-1]].rule, row.method, row.balls[self.methods[0]].prediction]
        return "\t".join(map(str, [*cells, *(cell_text(row.balls[m]) for m in self.methods)])) + "\n"
