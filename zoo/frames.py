"""Tables where people look: pandas frames and the HTML that notebooks show."""

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
