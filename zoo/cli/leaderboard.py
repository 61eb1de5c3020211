"""`ecm leaderboard`: certified models side by side on one page, made from their cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, print_json


def leaderboard(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER", show_default="the package and runs/", help="Folders that contain models."),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("leaderboard.html"),
    json: AsJSON = False,
) -> None:
    """Write one HTML page with the certified accuracy of all models, by data set and metric.

    Every number comes from the card of a model, and the page shows the command that measures it again.

    Example:

        ecm leaderboard runs --out leaderboard.html
    """
    from zoo.reports import leaderboard as write

    page = write(*folders or [], out=out)
    if json:
        print_json({"leaderboard": str(page)})
    else:
        typer.echo(f"Written: {page}")
