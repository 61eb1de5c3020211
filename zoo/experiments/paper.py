"""The numbers of Levine & Feizi (AISTATS 2022), as published: `paper.json` holds them with their tables' names.

For l1 it also holds the certified accuracies of their earlier paper (ICML 2021), at its radii.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class Published:
    """One cell: certified accuracy at a radius (percent), of the model with the best alpha for that radius.

    `clean` is that model's smoothed accuracy without an attack, in percent.

    >>> published("table1-half").row("Variable Lambda")[0]
    Published(certified=56.74, clean=73.22, alpha=15)
    """

    certified: float
    clean: float
    alpha: int


@attrs.frozen
class PublishedTable:
    """A table of the paper: certified accuracy by l_p radius, best over alpha; `bold` is what it sets in bold."""

    name: str
    where: str
    p: Fraction
    radii: tuple[int, ...]
    rows: dict[str, tuple[Published, ...]]
    bold: dict[int, str]

    def row(self, label: str) -> tuple[Published, ...]:
        """Return the cells of a row, one per radius."""
        return self.rows[label]


@attrs.frozen
class PublishedBase:
    """Accuracy of base classifiers (single votes, percent) by alpha."""

    where: str
    data: str
    p: Fraction
    objective: str
    by_alpha: dict[int, float]


@cache
def published(name: str) -> PublishedTable:
    """Return the table called `name` in `paper.json`.

    >>> table = published("large-alpha")
    >>> table.where, table.radii[-1], table.bold[30]
    ('appendix: larger values of alpha', 210, 'Variable Lambda')
    """
    found = next(entry for entry in _read()["tables"] if entry["name"] == name)
    columns = ("certified", "clean", "alpha")
    return PublishedTable(
        name,
        found["where"],
        Fraction(found["p"]),
        tuple(found["radii"]),
        {
            row["row"]: tuple(Published(*cell) for cell in zip(*(row[c] for c in columns), strict=True))
            for row in found["rows"]
        },
        {radius: row["row"] for row in found["rows"] for radius in row["bold"]},
    )


@cache
def published_bases() -> tuple[PublishedBase, ...]:
    """Return every list of base accuracies in the paper.

    >>> [base.by_alpha[18] for base in published_bases() if base.data == "imagenet"]
    [40.39, 49.82]
    """
    return tuple(
        PublishedBase(
            entry["where"],
            entry["data"],
            Fraction(entry["p"]),
            entry["objective"],
            dict(zip(entry["alpha"], entry["accuracy"], strict=True)),
        )
        for entry in _read()["base"]
    )


def published_base(data: str, p: Fraction, objective: str, alpha: int) -> float | None:
    """Return the base accuracy (percent) that the paper gives for a model of its main method, or None."""
    for base in published_bases():
        if (base.data, base.p, base.objective) == (data, p, objective) and alpha in base.by_alpha:
            return base.by_alpha[alpha]
    return None


@cache
def _read() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))
    return data


def best_published(p: Fraction) -> dict[Fraction, float]:
    """Return the best published certified accuracy (percent) on CIFAR-10 by radius, over all alphas and both trainings.

    >>> from fractions import Fraction
    >>> best_published(Fraction(1, 2))[60], best_published(Fraction(1))[4]
    (38.16, 36.5)
    """
    if p == 1:
        l1 = _read()["l1"]
        return dict(zip(map(Fraction, l1["radii"]), l1["certified"], strict=True))
    return {radius: cell.certified for radius, cell in best_cells(p).items()}


def best_cells(p: Fraction) -> dict[Fraction, Published]:
    """Return the cells of the paper's tables that `best_published` takes its numbers from, which say their alpha.

    >>> from fractions import Fraction
    >>> best_cells(Fraction(1, 2))[90].alpha
    30
    """
    best: dict[Fraction, Published] = {}
    for name in ("table1-half", "table1-third", "large-alpha"):
        table = published(name)
        if table.p == p:
            for label in ("Variable Lambda", "Variable Lambda, stability"):
                for number, cell in zip(table.radii, table.rows[label], strict=True):
                    radius = Fraction(number)
                    if radius not in best or cell.certified > best[radius].certified:
                        best[radius] = cell
    return dict(sorted(best.items()))
