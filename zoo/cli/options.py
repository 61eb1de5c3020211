"""Arguments that several subcommands share, with their help, and what to do with them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ecm import ECM


class Method(StrEnum):
    """How an allocation is found."""

    exact = "exact"
    mip = "mip"
    floor = "floor"
    slopes = "slopes"


Formulas = Annotated[
    list[str],
    typer.Argument(
        metavar="FORMULA",
        show_default=False,
        help="g(z), as in 'z**0.5/18', 'Min(3*z, 1)/18', 'log(1+5*z)/log(6)', 'sign(z)/25'. "
        "Several formulas: one for each index of the first feature axis (colour channel, column).",
    ),
]
Levels = Annotated[int, typer.Option("--q", min=1, help="Largest level; a feature has the levels 0..q. Images: 255.")]
Grid = Annotated[bool, typer.Option("--grid", help="Prove g only at the levels k/q, which is always decidable.")]
ModelName = Annotated[str, typer.Argument(metavar="MODEL", show_default=False, help="Folder or name of a model.")]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder with the files of a named data set (root= in Python).",
        envvar="ECM_DATA",
        show_default="the user's cache",
    ),
]
Radii = Annotated[
    list[str] | None,
    typer.Option(
        "--radius",
        "-r",
        show_default="a round grid up to d = 1/2",
        help="Radius to tabulate; repeatable. An l_p radius where g = z**p/alpha, else a metric distance.",
    ),
]
Device = Annotated[
    str | None, typer.Option(help="Device to compute on: cpu, cuda or cuda:1.", show_default="a GPU if there is one")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Training setting, such as lr=0.1 or objective=stability; repeatable."
    ),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def declared(formulas: list[str], grid: int | None) -> ECM:
    """Return the metric of the formulas on the command line."""
    from ecm import ECM

    metrics = [ECM.from_expr(formula, grid=grid) for formula in formulas]
    return metrics[0] if len(metrics) == 1 else ECM.grouped(metrics)


def settings(texts: list[str] | None) -> dict[str, Any]:
    """Return the settings of `--set` by name; each value is read as JSON if possible, else as text.

    >>> settings(["lr=0.1", "objective=stability", "shift=true"])
    {'lr': 0.1, 'objective': 'stability', 'shift': True}
    """
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r}: write NAME=VALUE, as in lr=0.1")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def fitting(text: str) -> str:
    """Return text for stderr: where it is a terminal, lines break between words, but a command to paste stays whole.

    >>> fitting("no terminal here, so that nothing is changed")
    'no terminal here, so that nothing is changed'
    """
    if not sys.stderr.isatty():
        return text
    fill = partial(textwrap.fill, width=shutil.get_terminal_size().columns, break_long_words=False)
    lines = text.split("\n")
    return "\n".join(line if line.startswith("To resume:") else fill(line, break_on_hyphens=False) for line in lines)


def speaks() -> bool:
    """Return whether this process prints; of several processes that torchrun started, only the first one does."""
    return os.environ.get("RANK", "0") == "0"


def print_json(data: dict[str, Any]) -> None:
    """Print data as JSON on stdout."""
    typer.echo(json.dumps(data, indent=2))
