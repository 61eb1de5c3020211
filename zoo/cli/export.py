"""`ecm export`: single certificates as documents, with the checker that needs nothing but Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce
from zoo.cli.options import AsJSON, DataRoot, ModelName, print_json


def export(
    model: ModelName,
    *,
    image: Annotated[
        list[int],
        typer.Option("--image", "-i", min=0, show_default=False, help="Number of a test image; repeatable."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the documents.")] = Path("certificates"),
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="Data set that contains the images.", show_default="the run's"),
    ] = None,
    data: DataRoot = None,
    json: AsJSON = False,
) -> None:
    """Write certificates as JSON documents that anybody can check with Python alone.

    For each image, the folder receives the certificate, the votes and the levels of the image. It also receives the
    facts about the scheme and a copy of the checker, which shares no code with this package.

    Example:

        ecm export demo --image 7 --image 12
    """
    announce(
        f"Writing {len(image)} certificate{'s' * (len(image) != 1)} of {model} from its recorded votes: "
        "a few seconds; no forward pass is needed."
    )
    from zoo.certification import export as write
    from zoo.folder import CHECKER, FACTS

    documents = write(model, image, out, data=dataset, root=data)
    if json:
        print_json({"documents": [str(path) for path in documents]})
        return
    typer.echo("To check:")
    for path in documents:
        votes, levels = path.with_suffix(".votes"), path.with_suffix(".levels")
        typer.echo(f"python {out / CHECKER} {path} {out / FACTS} {votes} {levels}")
