"""`ecm verify`: every layer of a metric's guarantee, checked again, with a report."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zoo.cli.cost import announce, attack_cost
from zoo.cli.options import AsJSON, DataRoot, Formulas, Grid, Levels, declared
from zoo.models import find_model

if TYPE_CHECKING:
    from ecm.verification import Report

MaybeFormulas = Annotated[list[str] | None, *Formulas.__metadata__]


def verify(
    formulas: MaybeFormulas = None,
    *,
    model: Annotated[
        str | None,
        typer.Option("--model", show_default=False, help="Attack this model (folder or name) inside its certificates."),
    ] = None,
    data: DataRoot = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Test images to attack, with --model.")] = 20,
    q: Levels = 255,
    budget: Annotated[
        int | None, typer.Option(min=1, show_default="about 128/g(1)", help="Number of outcomes B.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, show_default="200", help="Hypothesis examples per sampled property.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the design, the coupling and the examples.")] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, show_default="no limit", help="Start no further check after this time.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Try fewer examples and skip the integer program.")] = False,
    grid: Grid = False,
    json: AsJSON = False,
    html: Annotated[
        Path | None, typer.Option(show_default=False, help="Also write the report as an HTML page.")
    ] = None,
) -> None:
    """Check every layer of the guarantee for a metric, and say how each property was established.

    The exit code is 1 if a property fails; the report then shows the smallest counterexample found. With --model
    instead of a formula, an attack with a large budget searches inside the certified balls of test images for an input
    that changes the class. It must not find one.

    Examples:

        ecm verify "z**0.5/18" --q 255 --budget 18000

        ecm verify "Min(3*z, 1)/18" --quick

        ecm verify "tanh(2*z)/9" --json

        ecm verify --model digits-l0.5-a4
    """
    from rich.console import Console

    import ecm

    if (model is None) == (not formulas):
        raise typer.BadParameter("Write a formula, as in ecm verify 'z**0.5/18', or --model NAME, but not both.")
    quiet = Console(stderr=True)
    if model is not None:
        votes, folder = (10 if quick else 40), find_model(model)
        announce(f"Attacking {folder.name} inside its certified balls: {attack_cost(folder, limit, votes)}.")
        from zoo.attacks import verify_model

        report = verify_model(model, limit=limit, budget=votes, seed=seed, root=data, progress=True)
    else:
        metric = declared(formulas or [], q if grid else None)
        announce(f"Checking every layer of the guarantee for g = {metric} at q = {q}: {_time(quick, minutes)}.")
        with quiet.status("starting") as status:
            report = ecm.verify(
                metric,
                q,
                budget,
                examples=examples,
                seed=seed,
                minutes=minutes,
                quick=quick,
                progress=status.update,
            )
    if json:
        typer.echo(report.to_json())
    else:
        show(report, Console())
    if html is not None:  # last: a place that cannot be written does not cost the report
        html.write_text(page(report), encoding="utf-8")
        if not json:
            typer.echo(f"The report is {html}.")
    if not report.passed:
        raise typer.Exit(1)


def _time(quick: bool, minutes: float | None) -> str:
    """Return how long the checks of a metric usually take (measured for z**0.5/18 on one CPU core)."""
    if quick:
        return "usually about ten seconds"
    return "usually half a minute (--quick: about ten seconds)" + (
        "" if minutes is None else f", no new check after {minutes:g} minutes"
    )


def show(report: Report, console: object) -> None:
    """Print the report as a table, and below it the counterexamples of the failures."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    assert isinstance(console, Console)
    settings = ", ".join(f"{name} = {value}" for name, value in report.settings.items())
    table = Table(title=f"{report.metric}   ({settings})", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("layer", no_wrap=True)
    table.add_column("property", ratio=1)
    table.add_column("established by", no_wrap=True)
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("s", justify="right", no_wrap=True)
    colour = {"ok": "green", "FAILED": "bold red", "open": "yellow"}
    for f in report.findings:
        claim = Text(f.claim)
        if f.note:
            claim.append(f"\n{f.note}", style="dim")
        mark = Text(f.status, style=colour[f.status])
        table.add_row(mark, f.layer, claim, f.how, f"{f.cases:,}", f"{f.seconds:.2f}")
    console.print(table)
    for f in report.failures:
        console.print(Text(f"{f.layer}: {f.claim}\n  counterexample: {f.counterexample}", style="red"))
    console.print(Text("all properties hold" if report.passed else "FAILED", style="green" if report.passed else "red"))


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid rgb(127 127 127 / 30%); }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.ok { color: light-dark(#1a7f37, #4ac26b); } .open { color: light-dark(#9a6700, #d4a72c); }
.FAILED { color: light-dark(#d1242f, #ff7b72); font-weight: bold; }
pre { white-space: pre-wrap; padding: .8rem; background: rgb(127 127 127 / 12%); }
"""


def page(report: Report) -> str:
    """Return the report as one self-contained HTML page."""
    rows = "".join(
        f"<tr><td class='{f.status}'>{f.status}</td><td>{escape(f.layer)}</td><td>{escape(f.claim)}</td>"
        f"<td>{escape(f.how)}</td><td class='n'>{f.cases:,}</td><td class='n'>{f.seconds:.2f}</td>"
        f"<td>{escape(f.note)}</td></tr>"
        for f in report.findings
    )
    failures = "".join(
        f"<h2>{escape(f.layer)}: {escape(f.claim)}</h2><pre>{escape(f.counterexample)}</pre>" for f in report.failures
    )
    settings = ", ".join(f"{escape(str(k))} = {escape(str(v))}" for k, v in report.settings.items())
    verdict = "all properties hold" if report.passed else "FAILED"
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>ecm verify {escape(report.metric)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>Verification of <code>{escape(report.metric)}</code></h1>"
        f"<p>{settings}. <strong class='{'ok' if report.passed else 'FAILED'}'>{verdict}</strong></p>"
        "<div class='scroll'><table><thead><tr><th></th><th>layer</th><th>property</th><th>established by</th>"
        f"<th>cases</th><th>s</th><th>note</th></tr></thead><tbody>{rows}</tbody></table></div>{failures}"
        f"<footer><p>This page was generated by ecm {version('ecm')} (<code>ecm verify</code>).</p></footer>"
        "</body></html>"
    )
