"""`ecm certify`: votes, certificates and a table for the test images of a trained model."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce, certification_cost
from zoo.cli.options import AsJSON, DataRoot, Device, ModelName, Radii, print_json, speaks
from zoo.models import find_model


class Rule(StrEnum):
    """How votes become a class."""

    plurality = "plurality"
    runoff = "runoff"


def certify(
    model: ModelName,
    *,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Certify these images instead.", show_default="the model's")
    ] = None,
    data: DataRoot = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Number of test images.", show_default="all")
    ] = None,
    radius: Radii = None,
    rule: Annotated[
        Rule | None,
        typer.Option(
            help="Predict the class with the most votes, or hold a run-off between the leading two.",
            show_default="the model's",
        ),
    ] = None,
    certificate: Annotated[
        str,
        typer.Option(help="Certificate to report: strongest, paper, integer, vote_aware, runoff or runoff_vote_aware."),
    ] = "strongest",
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Mark a vote UNSURE when its top two logits are this close.",
            show_default="measured on this machine",
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Noisy inputs per call of the network.", show_default="chosen for it")
    ] = None,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.", show_default="the model's folder")] = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report as well.")] = False,
    json: AsJSON = False,
) -> None:
    """Certify test images: record all votes and compute the radius within which the class cannot change.

    You can stop the run at any time; the same command resumes it. Votes are recorded, so a larger --limit or another
    certificate does not cast them again. Results go into certify.tsv (one row per image), certify.json and the card.

    Examples:

        ecm certify runs/digits-l0.5-a3

        ecm certify runs/cifar10-l0.5-a18 --limit 500 -r 10 -r 20 -r 30 --report

        ecm certify runs/digits-l0.5-a3 --rule runoff

        torchrun --nproc-per-node 8 -m zoo certify runs/cifar10-l0.5-a18
    """
    from zoo.certification import chosen_certificate

    try:
        chosen_certificate(certificate, None if rule is None else rule.value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--certificate") from error
    folder = find_model(model)
    announce(f"Certifying {folder.name}: {certification_cost(folder, limit)}.")
    from zoo.certification import certify as run

    found = run(
        model,
        dataset,
        limit=limit,
        radii=radius,
        rule=None if rule is None else rule.value,
        certificate=certificate,
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
    typer.echo(f"Rows and votes are in {found.folder}" + ("." if page is None else f", the report is {page}."))
    if page is None:
        typer.echo(f"Next: ecm report {shlex.quote(str(found.folder))}")
