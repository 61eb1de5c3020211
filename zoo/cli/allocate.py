"""`ecm allocate`: integer weights of the widths for a budget, or the smallest budget for a precision."""

from __future__ import annotations

from typing import Annotated

import typer

from zoo.cli.options import AsJSON, Formulas, Grid, Levels, Method, declared, print_json


def allocate(
    formulas: Formulas,
    *,
    budget: Annotated[int, typer.Option(min=1, show_default=False, help="Number of outcomes B.")],
    q: Levels = 255,
    epsilon: Annotated[
        str | None,
        typer.Option(show_default=False, help="Require a gap of at most this, and minimize the mean gap."),
    ] = None,
    method: Annotated[Method, typer.Option(help="exact: proven optimum; mip: solver; floor, slopes: rounding.")] = (
        Method.exact
    ),
    grid: Grid = False,
    json: AsJSON = False,
) -> None:
    """Allocate a budget of B equally likely outcomes to the widths of Lambda.

    N(k) of the B outcomes separate two levels that are k apart, never more than g allows: N(k) <= B g(k/q).
    The gap eps = max_k g(k/q) - N(k)/B is what rounding to integers costs.

    Examples:

        ecm allocate "sqrt(z)" --budget 1000

        ecm allocate "sqrt(z)" --budget 1000 --epsilon 0.02

        ecm allocate "z**(1/3)/18" --budget 18000 --method mip --json
    """
    from zoo.cli.derive import allocation, show_allocation

    metric = declared(formulas, q if grid else None)
    options = {"epsilon": epsilon, "method": method.value}
    found = [allocation(metric[i], q, budget, **options) for i in range(len(metric.components))]
    if json:
        print_json({"metric": str(metric), "q": q, "budget": budget, "components": found})
        return
    from rich.console import Console

    console = Console()
    for part in found:
        console.print(f"[bold]g(z) = {part['g']}[/bold]")
        show_allocation(part, console)
