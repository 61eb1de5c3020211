"""`ecm attack`: the nearest input found that changes the prediction, for the test images of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, DataRoot, Device, ModelName, print_json


def attack(
    model: ModelName,
    *,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Attack these images instead.", show_default="the model's")
    ] = None,
    data: DataRoot = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of test images to attack.")] = 100,
    budget: Annotated[
        float, typer.Option(min=1, help="Passes through the network per image, in votes (B passes each).")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the choices of the search.")] = 0,
    resume: Annotated[bool, typer.Option(help="Continue an attack that was stopped.")] = True,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.", show_default="the model's")] = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report as well.")] = False,
    json: AsJSON = False,
) -> None:
    """Attack a certified model: find, per image, the nearest input that changes the smoothed prediction.

    The certified radius bounds the distance of such an input from below, the attack bounds it from above; their ratio
    says how tight the certificate is. Every success is confirmed by a full vote. The attack can be stopped at any
    moment and continues with the same command. Results go into attack.tsv (one row per image) and attack.json.

    Examples:

        ecm attack digits-l0.5-a4

        ecm attack runs/cifar10-l0.5-a18 --limit 50 --budget 40 --report
    """
    from zoo.attacks import attack as run

    found = run(model, dataset, limit=limit, budget=budget, seed=seed, resume=resume, device=device, root=data, out=out)
    page = None
    if report:
        from zoo.reports import report as write

        page = write(model if out is None else out, data=dataset, root=data)
    if json:
        print_json({"folder": str(found.folder), **found.summary(), "report": None if page is None else str(page)})
        return
    typer.echo(repr(found))
    typer.echo(f"rows in {found.folder / 'attack.tsv'}" + ("" if page is None else f", report in {page}"))
