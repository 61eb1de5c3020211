"""`ecm list`: which models there are."""

from __future__ import annotations

from typing import Annotated

import attrs
import typer

from zoo.cli.options import AsJSON, print_json


def list_(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER", show_default="the package's and runs/", help="Folders to look in."),
    ] = None,
    *,
    json: AsJSON = False,
) -> None:
    """List trained models with their metric, budget and measured accuracies.

    Examples:

        ecm list

        ecm list runs demo --json
    """
    from zoo.models import list_models

    found = list_models(*folders or [])
    if json:
        print_json({"models": [attrs.asdict(model) | {"path": str(model.path)} for model in found]})
        return
    if not found:
        typer.echo('no models yet; make one with: ecm train "z**0.5/3"')
        return
    rows = [("name", "data", "g(z)", "B", "base", "smoothed", "images", "folder")]
    for model in found:
        base, smoothed = (_percent(share) for share in (model.base_accuracy, model.smoothed_accuracy))
        images = "" if model.images is None else str(model.images)
        g = model.metric if len(model.metric) <= 40 else model.metric[:39] + "…"
        rows.append((model.name, model.data, g, str(model.budget), base, smoothed, images, str(model.path)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:  # whole names on a narrow terminal and in a pipe, too: they are what is written next
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
