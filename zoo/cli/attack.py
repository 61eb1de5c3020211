"""`ecm attack`: the nearest input found that changes the prediction, for the test images of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce, attack_cost
from zoo.cli.options import AsJSON, DataRoot, Device, ModelName, print_json
from zoo.models import find_model


def attack(
    model: ModelName,
    *,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Attack these images instead.", show_default="the model's")
    ] = None,
    data: DataRoot = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of test images to attack.")] = 100,
    budget: Annotated[
        float, typer.Option(min=1, help="Full votes to spend per image; a full vote is B forward passes.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the search.")] = 0,
    resume: Annotated[bool, typer.Option(help="Continue an attack that was stopped.")] = True,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.", show_default="the model's")] = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report as well.")] = False,
    json: AsJSON = False,
) -> None:
    """Attack a certified model: for each image, search for the nearest input that changes the predicted class.

    The certified radius is a lower bound on the distance of such an input, and the attack gives an upper bound. Their
    ratio says how tight the certificate is. Every success is confirmed by a full vote. You can stop the attack at any
    time; the same command resumes it. Results go into attack.tsv (one row per image) and attack.json.

    Examples:

        ecm attack digits-l0.5-a4

        ecm attack runs/cifar10-l0.5-a18 --limit 50 --budget 40 --report
    """
    folder = find_model(model)
    announce(f"Attacking {folder.name}: {attack_cost(folder, limit, budget)}.")
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
    typer.echo(f"The rows are in {found.folder / 'attack.tsv'}" + ("." if page is None else f", the report is {page}."))
