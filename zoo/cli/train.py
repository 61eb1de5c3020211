"""`ecm train`: a base classifier for a metric, trained under the noise it will be certified with."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import (
    announce,
    check_formulas,
    check_model,
    check_names,
    check_start,
    levels_of,
    recipe_changes,
    training_cost,
)
from zoo.cli.options import AsJSON, DataRoot, Device, Formulas, Grid, Settings, declared, print_json, settings, speaks


def train(
    formulas: Formulas,
    *,
    dataset: Annotated[
        str,
        typer.Option(
            "--dataset",
            "-d",
            help="digits, mnist, fashion_mnist, cifar10, cifar100, svhn, imagenet, a folder with train/ and val/, or a "
            "table: breast_cancer, wine, iris.",
        ),
    ] = "digits",
    data: DataRoot = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="small_cnn, medium_cnn, deep_cnn, large_cnn, wide_resnet40_2, resnet18, resnet50 or mlp; for a table "
            "any classifier of scikit-learn.",
            show_default="a fast one for the data",
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            help="Model whose weights the training starts from; repeatable, then from the mean of their weights.",
            show_default="random weights",
        ),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(
            help="Finished model whose answers are learned with the labels; repeatable, then the mean answer.",
            show_default="none",
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(help="standard (an hour of one core), strong (a night), fast (minutes) or paper (as published)."),
    ] = "standard",
    epochs: Annotated[
        int | None, typer.Option(min=0, help="Passes over the training images.", show_default="preset's")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Number of votes per image, B.", show_default="128 alpha; paper: 1000 alpha"),
    ] = None,
    pixel: Annotated[
        bool, typer.Option("--pixel", help="Sparse threat: the channels of a pixel are shown or hidden together.")
    ] = False,
    grid: Grid = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="runs/<name>")] = None,
    resume: Annotated[bool, typer.Option(help="Resume the run in the folder, or replace it.")] = True,
    device: Device = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for initialization, shuffling and noise.")] = 0,
    setting: Settings = None,
    json: AsJSON = False,
) -> None:
    """Train a base classifier under the noise of a metric.

    You can stop the run at any time; the same command resumes it.

    Examples:

        ecm train "z**0.5/3"

        ecm train "z**0.5/18" --dataset cifar10 --set objective=stability

        ecm train "z**0.5/6" --dataset cifar10 --start cifar10-l0.5-a18 --epochs 6

        ecm train "sign(z)/25" --dataset cifar10 --pixel

        ecm train "sign(z)/8" --dataset wine --model RandomForest

        torchrun --nproc-per-node 8 -m zoo train "z**0.5/18" -d cifar10 --preset paper
    """
    changes = recipe_changes(preset, epochs, settings(setting))  # check everything possible before torch is loaded
    check_names(dataset, model)
    for one in start or ():
        check_start(one, model)
    for one in teacher or ():
        check_model(one)
    check_formulas(len(formulas), dataset)
    metric = declared(formulas, levels_of(dataset, data) if grid else None)
    usual = model is None and not start and not teacher and not changes
    cost = training_cost(dataset, epochs, preset if usual else None)
    announce(f"Training for g = {', '.join(formulas)} on {dataset}: {cost}.")
    from zoo.training import train as run

    made = run(
        metric,
        dataset,
        root=data,
        model=model,
        start=[*start] if start else None,
        teacher=[*teacher] if teacher else None,
        preset=preset,
        epochs=epochs,
        budget=budget,
        pixel=pixel,
        out=out,
        resume=resume,
        device=device,
        seed=seed,
        **changes,
    )
    if not speaks():
        return
    accuracy = made.card.get("accuracy", {})
    if json:
        print_json({"path": str(made.path), "accuracy": accuracy, "training": made.card["training"]})
        return
    base = accuracy.get("base", {"value": math.nan, "images": 0})  # missing only in a card that was edited by hand
    things = "images" if len(made.scheme.shape) > 1 else "rows"
    typer.echo(f"The model is in {made.path}. Base accuracy: {base['value']:.1%} on {base['images']} test {things}.")
    place = "" if data is None else f" --data {shlex.quote(str(data))}"
    typer.echo(f"Next: ecm certify {shlex.quote(str(made.path))}{place}")
