"""Rows of a table with what was certified for them: the part of a report that images have as pictures."""

from __future__ import annotations

from typing import Any

from zoo.certification import Certification
from zoo.data import Dataset, Table
from zoo.reports.gallery import chosen_rows
from zoo.reports.statement import changes_alone, in_words, spec_of

_MOST = 12


def table_rows(found: Certification, about: dict[str, Any], data: Dataset | str) -> dict[str, Any]:
    """Return the rows of a run on a table for the page: `rows` is empty for other data.

    Values are shown where the table itself is at hand; the sentences need only its description in the card.
    """
    spec = spec_of(about)
    if spec is None:
        return {"rows": [], "columns": []}
    table = data if isinstance(data, Table) else None
    items = []
    for row in chosen_rows(found, _MOST):
        ball = row.balls[found.certificate]
        item: dict[str, Any] = {
            "idx": row.idx,
            "label": spec.class_names[row.label],
            "predicted": spec.class_names[row.predict],
            "correct": row.correct,
            "share": f"{100 * row.hits / found.scheme.total:.0f}",
            "text": in_words(ball, spec),
            "cells": [],
        }
        if table is not None:
            levels = table.test.take([row.idx])[0].tolist()
            values, alone = spec.decode(levels), changes_alone(ball, spec, levels)
            item["cells"] = [
                (name, _value(value), alone.get(name, _fixed(spec.columns[i].role)))
                for i, (name, value) in enumerate(values.items())
            ]
        items.append(item)
    return {
        "rows": items,
        "columns": [(c.name, c.kind, c.role, _range(c)) for c in spec.columns],
    }


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _fixed(role: str) -> str:
    return "may be anything" if role == "free" else "nobody can change it"


def _range(column: Any) -> str:
    if column.kind == "numeric":
        return f"{column.low:g} to {column.high:g}, {column.steps + 1} levels"
    return ", ".join(map(str, column.values[:12])) + (", ..." if len(column.values) > 12 else "")
