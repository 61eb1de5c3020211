"""`ecm export`: single certificates as documents, with the checker that needs nothing but Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, DataRoot, ModelName, print_json


def export(
    model: ModelName,
    *,
    image: Annotated[
        list[int], typer.Option("--image", "-i", min=0, show_default=False, help="A test image, again for each.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the documents.")] = Path("certificates"),
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Where the images are.", show_default="the run's")
    ] = None,
    data: DataRoot = None,
    json: AsJSON = False,
) -> None:
    """Write certificates of a certified model as JSON documents that anybody can check with Python alone.

    The folder gets, for each image, the document, its votes and its levels; and once the scheme's facts and a copy of
    the checker, which shares no code with this package.

    Example:

        ecm export demo --image 7 --image 12
    """
    from zoo.certification import export as write
    from zoo.folder import CHECKER, FACTS

    documents = write(model, image, out, data=dataset, root=data)
    if json:
        print_json({"documents": [str(path) for path in documents]})
        return
    for path in documents:
        votes, levels = path.with_suffix(".votes"), path.with_suffix(".levels")
        typer.echo(f"python {out / CHECKER} {path} {out / FACTS} {votes} {levels}")
