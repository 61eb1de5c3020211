"""`ecm report`: the page and the figures of a certified run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce
from zoo.cli.options import AsJSON, DataRoot, print_json


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", show_default=False, help="Folder or name of a certified run.")],
    *,
    out: Annotated[Path | None, typer.Option(help="Page to write.", show_default="report.html in the run")] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="Data set with the images of the gallery.", show_default="the run's"),
    ] = None,
    data: DataRoot = None,
    json: AsJSON = False,
) -> None:
    """Write one self-contained HTML page about a certified run, and its figures as SVG and PNG.

    The page shows the metric, its proof and law, the design, certified accuracy, radii and images, with the numbers
    behind every figure.

    Example:

        ecm report runs/digits-l0.5-a3
    """
    announce(f"Writing the report of {run} from its recorded votes: about ten seconds; no forward pass is needed.")
    from zoo.reports import report as write

    page = write(run, out, data=dataset, root=data)
    if json:
        print_json({"report": str(page)})
    else:
        typer.echo(f"The report is {page}.")
