"""Results as tables where people look: pandas frames and the HTML that notebooks show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from zoo.frames import frame, html_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from zoo.certification.certification import Certification


def rows_frame(found: Certification) -> DataFrame:
    """Return the images of a run as a frame; see `Certification.to_pandas`."""
    by_method = {f"radius_{method}": radii for method, radii in found.all_radii.items()}
    rows = [
        {
            "idx": row.idx,
            "label": row.label,
            "predict": row.predict,
            "radius": found.all_radii[found.certificate][k],
            "correct": row.correct,
            "time": row.seconds,
            "votes": found.scheme.total,
            "hits": row.hits,
            "unsure": row.unsure,
            **{name: radii[k] for name, radii in by_method.items()},
        }
        for k, row in enumerate(found.rows)
    ]
    columns = ("idx", "label", "predict", "radius", "correct", "time", "votes", "hits", "unsure", *by_method)
    return frame(rows, columns)


def certification_html(found: Certification) -> str:
    """Return the accuracies of a run as an HTML table, for a notebook."""
    if not found.rows:
        return f"<p>{escape(repr(found))}</p>"
    head = [f"certified at {found.unit.name}", *(f"{float(r):g}" for r in found.radii)]
    body = [
        [method, *(f"{100 * found.certified_accuracy(r, method).share:.1f}%" for r in found.radii)]
        for method in found.methods
    ]
    told = (
        f"<b>{escape(found.model)}</b>: {found.images} of {found.split_size} test images of {escape(found.data)}, "
        f"{found.scheme.samples} votes per image. Smoothed accuracy {escape(repr(found.smoothed_accuracy))}; "
        f"{100 * found.base_accuracy:.1f}% of all votes are right."
    )
    return f"<div><p>{told}</p>{html_table(head, body)}</div>"
