"""`ecm certify`: votes, certificates and a table for the test images of a trained model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, DataRoot, Device, ModelName, Radii, print_json, speaks


class Certificate(StrEnum):
    """Which certificate is reported."""

    strongest = "strongest"
    paper = "paper"
    integer = "integer"
    vote_aware = "vote_aware"


def certify(
    model: ModelName,
    *,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Certify these images instead.", show_default="the model's")
    ] = None,
    data: DataRoot = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="How many test images.", show_default="all")
    ] = None,
    radius: Radii = None,
    certificate: Annotated[Certificate, typer.Option(help="The certificate whose radius is reported.")] = (
        Certificate.strongest
    ),
    tolerance: Annotated[
        float | None,
        typer.Option(min=0, help="Votes with closer best logits are unsure.", show_default="measured on this machine"),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Noisy inputs in one call of the network.", show_default="what suits it")
    ] = None,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Where the run is kept.", show_default="the model's folder")] = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report as well.")] = False,
    json: AsJSON = False,
) -> None:
    """Certify test images: every vote is recorded, then the radius within which the class cannot change is computed.

    The run can be stopped at any moment and goes on with the same command; more images (--limit) or another
    certificate use the votes that are there. Results go into certify.tsv (one row an image), certify.json and the card.

    Examples:

        ecm certify runs/digits-l0.5-a3

        ecm certify runs/cifar10-l0.5-a18 --limit 500 -r 10 -r 20 -r 30 --report

        torchrun --nproc-per-node 8 -m zoo certify runs/cifar10-l0.5-a18
    """
    from zoo.certification import certify as run

    found = run(
        model,
        dataset,
        limit=limit,
        radii=radius,
        certificate=certificate.value,
        tolerance=tolerance,
        batch_size=batch_size,
        device=device,
        root=data,
        out=out,
    )
    if not speaks():
        return
    page = None
    if report:
        from zoo.reports import report as write

        page = write(found.folder, data=dataset, root=data)
    if json:
        print_json({"folder": str(found.folder), **found.summary(), "report": None if page is None else str(page)})
        return
    typer.echo(repr(found))
    typer.echo(f"rows and votes in {found.folder}" + ("" if page is None else f", report in {page}"))
