"""`ecm report`: the page and the figures of a certified run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, DataRoot, print_json


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", show_default=False, help="The folder or name of the run.")],
    *,
    out: Annotated[Path | None, typer.Option(help="The page to write.", show_default="report.html in the run")] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Where the gallery's images are.", show_default="the run's")
    ] = None,
    data: DataRoot = None,
    json: AsJSON = False,
) -> None:
    """Write one self-contained HTML page about a certified run, and its figures as SVG and PNG.

    Metric, proof, law, design, certified accuracy, radii, images, and the numbers behind every picture.

    Example:

        ecm report runs/digits-l0.5-a3
    """
    from zoo.reports import report as write

    page = write(run, out, data=dataset, root=data)
    if json:
        print_json({"report": str(page)})
    else:
        typer.echo(f"written: {page}")
