"""Tables where people look: text on a terminal, pandas frames, and the HTML that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from zoo.errors import DataError

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> DataFrame:
    """Return rows of plain data as a pandas frame, with these columns also where there are no rows.

    >>> frame([{"a": 1, "b": 2}], ["a", "b"]).shape
    (1, 2)
    """
    try:
        import pandas
    except ImportError as error:
        raise DataError("a data frame needs the package pandas: pip install 'ecm[tables]'") from error
    return pandas.DataFrame(list(rows), columns=list(columns))


def html_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a plain HTML table.

    >>> html_table(["a"], [["<1"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;1</td></tr></tbody></table>'
    """
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{rows}</tbody></table>"


def text_table(names: Sequence[str], columns: Iterable[Sequence[str]], width: int = 80) -> list[str]:
    """Return the lines of a table, each column with its head first; what is too wide goes on below, in another block.

    >>> for line in text_table(["", "half", "all"], [["0", "50.0", "100.0"], ["1", "9.5", "12.0"]], width=14):
    ...     print(line)
                0
      half   50.0
      all   100.0
                1
      half    9.5
      all    12.0
    """
    cells = [list(column) for column in columns]
    label = 2 + max(map(len, names), default=0)
    each = max(6, *(len(cell) + 2 for column in cells for cell in column)) if cells else 6
    fit = max(1, (width - label) // each)
    lines = []
    for start in range(0, len(cells), fit):
        for k, name in enumerate(names):
            row = "".join(f"{column[k]:>{each}}" for column in cells[start : start + fit])
            lines.append(f"  {name:<{label - 2}}{row}")
    return lines
