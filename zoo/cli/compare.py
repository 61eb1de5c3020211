"""`ecm compare`: certified runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce
from zoo.cli.options import AsJSON, Radii, print_json


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", show_default=False, help="Folders or names of certified runs.")
    ],
    *,
    radius: Radii = None,
    plot: Annotated[
        Path | None, typer.Option(show_default=False, help="Draw the curves into this file (.png or .svg).")
    ] = None,
    json: AsJSON = False,
) -> None:
    """Compare certified runs on the test images that they share.

    Example:

        ecm compare runs/digits-l0.5-a3 runs/digits-l0.5-a6 -r 0.5 -r 1 --plot curves.png
    """
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise typer.BadParameter(f"{plot} must end in .png or .svg", param_hint="--plot")
    announce("Counting the recorded votes of these runs again: a few seconds each; no forward pass is needed.")
    from zoo.reports import compare as side_by_side

    found = side_by_side(*runs, radii=radius)
    if json:
        print_json({"left_out": found.left_out, "runs": found.rows()})
    else:
        typer.echo(repr(found))
    if plot is not None:  # last: a place that cannot be written does not cost the table
        from zoo.certification import certified_curve, png, svg
        from zoo.files import write_atomically

        figure = certified_curve(found.runs)
        write_atomically(plot, svg(figure).encode() if plot.suffix == ".svg" else png(figure))
        if not json:
            typer.echo(f"The curves are in {plot}.")
