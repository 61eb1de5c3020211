"""`ecm list`: which models there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import attrs
import typer

from zoo.cli.options import AsJSON, print_json


def list_(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER", show_default="the package and runs/", help="Folders that contain models."),
    ] = None,
    *,
    json: AsJSON = False,
) -> None:
    """List trained models with their metric, budget and measured accuracies.

    Examples:

        ecm list

        ecm list runs demo --json
    """
    from zoo.models import PRETRAINED, RUNS, list_models

    found = list_models(*folders or [])
    if json:
        print_json({"models": [attrs.asdict(model) | {"path": str(model.path)} for model in found]})
        return
    if not found:
        typer.echo('No models yet. To make one: ecm train "z**0.5/3"')
        return
    rows = [("name", "data", "g(z)", "votes", "smoothed", "certified")]
    for model in found:
        place = model.name if model.path.parent in (PRETRAINED, RUNS) else str(model.path)  # what is written next
        smoothed = "" if model.smoothed_accuracy is None else f"{model.smoothed_accuracy:.1%}"
        held = model.certified_at.replace(" at ", " @ ")
        rows.append((place, model.data, model.metric, str(model.votes), smoothed, held))
    for line in fitted(rows):
        typer.echo(line)
    if any(model.certified_at for model in found):
        typer.echo("certified: accuracy @ radius (l_p; number of changes where g = sign(z)/alpha)")


def fitted(rows: Sequence[tuple[str, ...]], columns: int = 80, flexible: int = 2) -> Iterator[str]:
    """Yield the lines of a table that fits a terminal: shorten the `flexible` column, but never the first (a name).

    >>> list(fitted([("name", "x", "g(z)"), ("a", "b", "1" * 90)], columns=20))
    ['name  x  g(z)', 'a     b  1111111111…']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    spare = columns - 2 * (len(widths) - 1) - (sum(widths) - widths[flexible])
    widths[flexible] = min(widths[flexible], max(4, spare))
    for row in rows:
        cells = (
            cell if k == 0 or len(cell) <= width else cell[: width - 1] + "…"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
