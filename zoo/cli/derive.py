"""`ecm derive`: from a formula to its proof, the laws of Lambda and the allocation of a budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo.cli.options import AsJSON, Formulas, Grid, Levels, Method, declared, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from ecm import ECM


def derive(
    formulas: Formulas,
    *,
    q: Levels = 255,
    budget: Annotated[
        int | None, typer.Option(min=1, show_default=False, help="Also allocate this number of outcomes.")
    ] = None,
    method: Annotated[Method, typer.Option(help="How to allocate the budget.")] = Method.exact,
    design: Annotated[bool, typer.Option("--design", help="Also build the default design for the budget.")] = False,
    grid: Grid = False,
    json: AsJSON = False,
    plot: Annotated[
        Path | None, typer.Option(show_default=False, help="Draw the result into this file (.png, .pdf or .svg).")
    ] = None,
) -> None:
    """Prove that a formula defines a metric, and derive its noise.

    The noise shows the classifier only a bin that contains each value; Lambda is the random width of the bin.
    Under the law of Lambda, two values at distance z fall into different bins with probability exactly g(z).

    Examples:

        ecm derive "z**0.5/18"

        ecm derive "z**0.5/18" --q 255 --budget 18000

        ecm derive "sqrt(z)/18" "z/18" "0" --plot channels.png

        ecm derive "tanh(2*z)/9" --json
    """
    if design and budget is None:
        raise typer.BadParameter("A design needs a budget; add --budget.", param_hint="--design")
    if plot is not None and plot.suffix not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(f"{plot} must end in .png, .pdf or .svg", param_hint="--plot")
    metric = declared(formulas, q if grid else None)
    data = derivation(metric, q, budget, method.value)
    if design and budget is not None:
        built = metric.design(budget, q)
        data["design"] = {"kind": built.kind, "eps_max": built.eps_max, "eps_mean": built.eps_mean}
    if json:
        print_json(data)
    else:
        from rich.console import Console

        show(data, Console())
    if plot is not None:  # last: a place that cannot be written does not cost the tables
        metric.plot(q=q, budget=budget).savefig(plot)
        if not json:
            typer.echo(f"The figure is in {plot}.")


def derivation(metric: ECM, q: int, budget: int | None, method: str = "exact") -> dict[str, Any]:
    """Return what `ecm derive` prints, as plain data: proof, laws and allocation of every component."""
    components = []
    for i, profile in enumerate(metric.components):
        part, law = metric[i], metric[i].quantized(q)
        law.verify()
        components.append(
            {
                "g": profile.text,
                "groups": [a for a, component in enumerate(metric.groups) if component == i],
                "proof": [
                    {"condition": c.condition, "method": c.method, "detail": c.detail} for c in profile.proof.conditions
                ],
                "law": None if profile.grid is not None else part.law().to_dict(),
                "quantized": {**law.to_dict(), "pooled": [[width, p] for width, p in law.rows()]},
                "allocation": None if budget is None else allocation(part, q, budget, method=method),
            }
        )
    return {"metric": str(metric), "q": q, "budget": budget, "components": components, "design": None}


def allocation(metric: ECM, q: int, budget: int, **options: Any) -> dict[str, Any]:
    """Return the allocation of one component as plain data."""
    found = metric.allocate(budget, q, **options)
    return {
        "g": metric.profile.text,
        "q": q,
        "budget": budget,
        "weights": {str(width): weight for width, weight in found.weights.items()},
        "infinite": found.infinite,
        "eps": found.eps,
        "worst_distance": found.worst,
        "warning": _nothing_shown(metric, q, budget) if not found.weights else None,
        "method": found.method,
        "optimality": found.optimality,
    }


def _nothing_shown(metric: ECM, q: int, budget: int) -> str | None:
    """Return what is wrong with an allocation without a finite width; None if g is 0."""
    least = 1
    while metric.floors(least, q)[0][1] < 1:
        least *= 2
        if least > budget << 40:
            return None
    low = least // 2
    while least - low > 1:
        middle = (low + least) // 2
        low, least = (low, middle) if metric.floors(middle, q)[0][1] >= 1 else (middle, least)
    return (
        f"B = {budget} is too small: all outcomes are infinite, so the classifier would never see this feature. "
        f"B g(1/{q}) must be at least 1, which holds from B = {least} on."
    )


def show(data: dict[str, Any], console: Console) -> None:
    """Print the derivation as tables."""
    for component in data["components"]:
        at = f"  (index {', '.join(map(str, component['groups']))} of the first axis)" if component["groups"] else ""
        console.print(f"[bold]g(z) = {component['g']}[/bold]{at}")
        _show_proof(component["proof"], console)
        if component["law"] is not None:
            _show_law(component["law"], console)
        _show_quantized(component["quantized"], console)
        if component["allocation"] is not None:
            show_allocation(component["allocation"], console)
    if data["design"] is not None:
        design = data["design"]
        _heading(f"Design ({design['kind']}) of B = {data['budget']} outcomes", console)
        console.print(f"eps = [bold]{design['eps_max']:.6g}[/bold] at worst, {design['eps_mean']:.6g} in the mean.\n")


def _heading(text: str, console: Console) -> None:
    console.print(f"\n[bold cyan]{text}[/bold cyan]")


def _show_table(console: Console, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table; a column whose name begins with > is aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # brackets in a formula are no markup
    console.print(table)


def _show_proof(proof: list[dict[str, str]], console: Console) -> None:
    _heading("Proof", console)
    rows = [[step["condition"], step["method"], step["detail"]] for step in proof]
    _show_table(console, ["condition", "method", "detail"], rows)


def _show_law(law: dict[str, Any], console: Console) -> None:
    _heading("Lambda for values in [0, 1]: split(z) = g(z)", console)
    rows = []
    for density in law["densities"]:
        where = f"{density['lower']} < z < {density['upper']}"
        mass = f"{density['mass_float']:.6g}"
        rows.append([f"density {density['formula']}", where, density["mass"], mass, density["name"]])
    for atom in law["atoms"]:
        rows.append(["atom", f"z = {atom['location']}", atom["mass"], f"{atom['mass_float']:.6g}", ""])
    _show_table(console, ["part", "where", ">probability", ">", "law"], rows)


def _show_quantized(law: dict[str, Any], console: Console) -> None:
    q = law["q"]
    _heading(f"Lambda for the levels 0..{q}: split(k/{q}) = g(k/{q}) exactly", console)
    rows = [[width, f"{probability:.6g}"] for width, probability in law["pooled"]]
    _show_table(console, [">width (levels)", ">probability"], rows)


def show_allocation(found: dict[str, Any], console: Console) -> None:
    """Print an allocation as a table of weights, and its gap."""
    q, budget = found["q"], found["budget"]
    _heading(f"Allocation of B = {budget} outcomes", console)
    rows = [(width, weight, int(width) * weight) for width, weight in found["weights"].items()]
    rows.append(("inf", found["infinite"], found["infinite"]))
    cells = [[width, str(weight), str(used), f"{used / budget:.4f}"] for width, weight, used in rows]
    _show_table(console, [">width (levels)", ">weight", ">outcomes", ">share of B"], cells)
    console.print(
        f"eps = max_k g(k/{q}) - N(k)/B = [bold]{found['eps']:.6g}[/bold] at k = {found['worst_distance']}; "
        f"N(k) <= B g(k/{q}) for every k.\n{found['method']}: {found['optimality']}."
    )
    if found["warning"]:
        console.print(f"[bold yellow]Warning:[/bold yellow] {found['warning']}")
