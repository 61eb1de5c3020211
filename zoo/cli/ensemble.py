"""`ecm ensemble`: one model of several finished ones, without training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce, check_model
from zoo.cli.options import AsJSON, DataRoot, Device, print_json, speaks


def ensemble(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Names or folders of finished models.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder of the new model.", show_default=False)],
    data: DataRoot = None,
    device: Device = None,
    json: AsJSON = False,
) -> None:
    """Join finished models into one whose votes are those of their mean logits.

    The votes of an image then agree more often, so that it is certified at larger radii. A vote costs as much as all
    members together. The models must be for the same data and metric. Nothing is trained.

    Example:

        ecm ensemble runs/first runs/second --out runs/both
    """
    for one in models:
        check_model(one)
    announce(f"Joining {len(models)} models; the base accuracy is measured on all test images.")
    from zoo.training import ensemble as join

    made = join(models, out=out, root=data, device=device)
    if not speaks():
        return
    if json:
        print_json({"path": str(made.path), "accuracy": made.card["accuracy"]})
        return
    base = made.card["accuracy"]["base"]
    typer.echo(f"The model is in {made.path}. Base accuracy: {base['value']:.1%} on {base['images']} test images.")
