"""`ecm reproduce`: an experiment of the paper, ours beside the published numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.options import AsJSON, DataRoot, Device, Settings, print_json, settings, speaks


class Scale(StrEnum):
    """The published recipe, or what a CPU can do in the given time."""

    paper = "paper"
    small = "small"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", show_default=False, help="An experiment; --list names them.")
    ] = None,
    *,
    scale: Annotated[Scale, typer.Option(help="The paper's full recipe, or one sized to --minutes.")] = Scale.small,
    data: DataRoot = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time for the small scale.", show_default="the experiment's, see --list")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Train so long instead of sizing it to --minutes.", show_default="sized to time"),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option("--images", "-n", min=1, help="Test images to certify.", show_default="paper's, or sized to time"),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="A model whose weights every training begins with.", show_default="weights drawn anew"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the runs are kept.", show_default="runs/reproduce/...")
    ] = None,
    setting: Settings = None,
    device: Device = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what each experiment costs on this machine.")] = False,
    json: AsJSON = False,
) -> None:
    """Reproduce an experiment of Levine & Feizi (2022): train and certify what is missing, print ours beside theirs.

    Every certified accuracy is given by three certificates (the paper's, the integer one, the vote-aware one) from the
    same votes, with the number of images and a 95% interval; then the orderings that the paper claims are checked. The
    run can be stopped at any moment and goes on with the same command.

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
        raise typer.BadParameter("name an experiment, as in `ecm reproduce digits`, or ask for --list")
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
    typer.echo(f"models, votes and tables in {done.folder}")


def _list(device: str | None, json: bool) -> None:
    from zoo.experiments import SIZES, listing, measure, show_listing

    typer.echo("timing a few steps of each network on this machine ...", err=True)
    rows = listing(
        {(name, scale.value): measure(SIZES[name], scale.value, device) for name in SIZES for scale in Scale}
    )
    if json:
        print_json({"experiments": rows})
        return
    from rich.console import Console

    show_listing(rows, Console())
