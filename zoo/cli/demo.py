"""`ecm demo`: from a formula to a certified classifier and its report, on data that needs no download."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from zoo.cli.cost import announce

FORMULA, DATASET, BUDGET = "z**0.5/6", "digits", 768
RECIPE: dict[str, Any] = {"model": "mlp", "epochs": 200}


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("demo"),
    *,
    fresh: Annotated[bool, typer.Option(help="Start again instead of resuming the run in the folder.")] = False,
) -> None:
    """Declare a metric, derive its noise, train on digits, certify every test image and write a report.

    The demo takes about a minute on two CPU cores and downloads nothing. You can stop it at any time; the same command
    resumes it.

    Example:

        ecm demo --out demo
    """
    began = time.monotonic()
    announce(
        f"The demo trains a small network on {DATASET}, certifies 359 test images with {BUDGET} votes each and writes "
        "a report. It takes about a minute on two CPU cores; finished steps are not repeated."
    )
    from rich.console import Console

    from zoo.cli.derive import derivation, show

    console = Console()

    def step(title: str) -> None:
        console.rule(f"[bold]{title}[/bold]  ({time.monotonic() - began:.0f} s)", align="left")

    step(f'1. Declare a metric: ECM.from_expr("{FORMULA}")')
    from ecm import ECM

    metric = ECM.from_expr(FORMULA)
    console.print("d(x, y) is the sum of g(|x_i - y_i|) over all features. This is a metric, because:\n")
    show(derivation(metric, 16, None), console)

    step(f"2. Design {BUDGET} outcomes for the 17 levels of {DATASET}")
    console.print(repr(metric.design(BUDGET, 16)), highlight=False, markup=False)

    step(f"3. Train a small network under that noise, on {DATASET}")
    import torch

    torch.set_num_threads(1)  # for a network this small a second thread costs more than it gives
    from zoo.certification import certify
    from zoo.errors import CheckpointError
    from zoo.reports import report
    from zoo.training import train

    try:
        model = train(metric, DATASET, out=out, budget=BUDGET, resume=not fresh, **RECIPE)
    except CheckpointError as error:
        raise CheckpointError(f"{error}\nTo start the demo again: ecm demo --out {out} --fresh") from error
    base = model.card["accuracy"]["base"]
    console.print(f"base accuracy {base['value']:.1%}, on one noisy view of each of the {base['images']} test images")

    step("4. Certify every test image")
    found = certify(model)
    typer.echo(repr(found))

    step("5. Write the report")
    page = report(out)
    console.print(
        f"Open [bold]{page.resolve()}[/bold] in a browser. It needs no network.", highlight=False, soft_wrap=True
    )
    console.print(f"The demo took {time.monotonic() - began:.0f} s.")
