"""`ecm reproduce`: an experiment of the paper, ours beside the published numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.cost import announce, check_start
from zoo.cli.options import AsJSON, DataRoot, Device, Settings, print_json, settings, speaks


class Scale(StrEnum):
    """The published recipe, or one that a CPU finishes in the given time."""

    paper = "paper"
    small = "small"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", show_default=False, help="Name of an experiment; see --list.")
    ] = None,
    *,
    scale: Annotated[
        Scale, typer.Option(help="Use the paper's full recipe, or a smaller one that takes --minutes.")
    ] = Scale.small,
    data: DataRoot = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Time that the small scale may take.", show_default="the experiment's, see --list"),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Epochs per training, instead of as many as fit into --minutes.", show_default="sized to time"
        ),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(
            "--images", "-n", min=1, help="Number of test images.", show_default="the paper's, or sized to time"
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Model whose weights every training starts from.", show_default="random weights"),
    ] = None,
    coupling: Annotated[
        str | None,
        typer.Option(
            help="independent (the paper's) or spread.", show_default="spread; independent at the scale of the paper"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the runs.", show_default="runs/reproduce/...")] = None,
    setting: Settings = None,
    device: Device = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the experiments and what each costs on this machine.")
    ] = False,
    json: AsJSON = False,
) -> None:
    """Reproduce an experiment of Levine & Feizi (2022) and print its numbers beside the published ones.

    The command trains and certifies the models that are missing. It prints certified accuracies by three certificates
    (the paper's, the integer one and the vote-aware one) from the same votes, with the number of images and a 95%
    interval. Then it checks the orderings that the paper claims. You can stop it at any time; the same command
    resumes it.

    Examples:

        ecm reproduce --list

        ecm reproduce digits

        ecm reproduce table1 --minutes 120 --data DATA

        ecm reproduce table1 --epochs 6 --images 500 --start cifar10-l0.5-a18 --set optimizer=sgd --data DATA

        torchrun --nproc-per-node 8 -m zoo reproduce table1 --scale paper
    """
    if list_:
        _list(device, json)
        return
    if name is None:
        raise typer.BadParameter("Name an experiment, as in `ecm reproduce digits`, or use --list.")
    if start is not None:
        check_start(start, None)
    announce(f"Reproducing {name} at the {scale.value} scale: {_time(scale, minutes, epochs)}.")
    from zoo.experiments import check
    from zoo.experiments import reproduce as run

    done = run(
        name,
        scale=scale.value,
        root=data,
        minutes=minutes,
        epochs=epochs,
        images=images,
        start=start,
        coupling=coupling,
        out=out,
        device=device,
        say=(lambda text: None) if json else typer.echo,
        **settings(setting),
    )
    if not speaks():
        return
    verdicts = check(done)
    if json:
        print_json({**done.to_dict(), "checks": [verdict.to_dict() for verdict in verdicts]})
        return
    from rich.console import Console

    from zoo.experiments import show

    show(done, verdicts, Console())
    typer.echo(f"Models, votes and tables are in {done.folder}.")


def _time(scale: Scale, minutes: float | None, epochs: int | None) -> str:
    """Return how long an experiment will take, as far as it is known before torch is loaded."""
    if scale is Scale.paper:
        return "the paper's recipe takes days on a GPU; `ecm reproduce --list` estimates it for this machine"
    if epochs is not None:
        return f"{epochs} epochs per model; the remaining time is shown after the first steps"
    if minutes is not None:
        return f"about {minutes:g} minutes"
    return "about as many minutes as `ecm reproduce --list` gives; --minutes changes that"


def _list(device: str | None, json: bool) -> None:
    announce("Timing a few steps of each network on this machine: about half a minute.")
    from zoo.experiments import SIZES, listing, measure, show_listing

    rows = listing(
        {(name, scale.value): measure(SIZES[name], scale.value, device) for name in SIZES for scale in Scale}
    )
    if json:
        print_json({"experiments": rows})
        return
    from rich.console import Console

    show_listing(rows, Console())
