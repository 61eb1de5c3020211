"""Printing: ours beside the paper's, in the form of the paper's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from zoo.certification import METHODS
from zoo.experiments.catalogue import EXPERIMENTS
from zoo.experiments.checks import Verdict
from zoo.experiments.declarations import Panel, Scale
from zoo.experiments.plan import SIZES, Cost, Plan, Speed, cost

if TYPE_CHECKING:
    from zoo.experiments.table import Cell, Reproduction

_WIDTH = 170  # columns that the widest table needs


def show(done: Reproduction, verdicts: list[Verdict], console: Console) -> None:
    """The tables, the models, the claims."""
    console.width = max(console.width, _WIDTH)
    console.print(f"\n[bold]{done.experiment.title}[/bold]", highlight=False)
    console.print(
        f"ours ({done.scale} scale): {done.images} test images; certified accuracy (%) with its 95% interval, below it "
        "(clean accuracy @ alpha) of the best model",
        highlight=False,
    )
    if done.experiment.note:
        console.print(f"note: {done.experiment.note}", highlight=False)
    for panel in done.experiment.panels:
        console.print(_panel(done, panel))
    console.print(_models(done))
    for verdict in verdicts:
        console.print(f"[bold]{verdict.answer}[/bold]: {verdict.claim.name} ({_extent(verdict)})", highlight=False)
        parts = (
            f"{float(d.radius):g}: {100 * d.value:+.1f} [{100 * d.interval[0]:+.1f}, {100 * d.interval[1]:+.1f}]"
            for d in verdict.differences
        )
        console.print("    difference in points  " + "   ".join(parts), highlight=False, soft_wrap=True)


def _extent(verdict: Verdict) -> str:
    count = sum(d.answer == "holds" for d in verdict.differences)
    return f"{verdict.panel}, by the paper's certificate; at {count} of {len(verdict.differences)} radii on its own"


def _panel(done: Reproduction, panel: Panel) -> Table:
    radii = (f"{float(radius):g}" for radius in panel.radii)
    table = Table(panel.title, "certificate", *radii, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for row in done.rows(panel):
        published = panel.cells(row.family.label)
        if published is not None:
            cells = (f"{cell.certified:.2f}\n({cell.clean:.2f} @ {cell.alpha})" for cell in published)
            table.add_row(row.family.label, "published", *cells, style="dim")
        for method in METHODS:
            label = row.family.label if published is None and method == METHODS[0] else ""
            table.add_row(label, method.replace("_", "-"), *map(_cell, row.cells[method]))
        table.add_section()
    return table


def _cell(cell: Cell) -> str:
    low, high = cell.certified.interval()
    certified = f"{_percent(cell.certified.share)} {100 * low:.0f}-{100 * high:.0f}"
    return f"{certified}\n({_percent(cell.clean.share)} @ {cell.alpha})"


def _models(done: Reproduction) -> Table:
    table = Table(
        "model", "epochs", "votes", "base, published", "base, ours", "smoothed, ours", box=None, pad_edge=False
    )
    for name, (family, alpha) in done.experiment.models(done.scale).items():
        model, published = done.models[name], done.experiment.base(family, alpha)
        low, high = model.base.interval()
        table.add_row(
            name,
            str(model.epochs),
            str(model.certification.scheme.samples),
            "" if published is None else f"{published:.2f}",
            f"{_percent(model.base.share)} {100 * low:.0f}-{100 * high:.0f}",
            _percent(model.certification.smoothed_accuracy.share),
        )
    return table


def listing(speeds: dict[tuple[str, Scale], Speed]) -> list[dict[str, object]]:
    """Return what each experiment costs at both scales, as plain data; times are for this machine."""
    rows: list[dict[str, object]] = []
    for experiment in EXPERIMENTS.values():
        size = SIZES[experiment.data]
        paper = cost(experiment, "paper", speeds[experiment.data, "paper"], size)
        speed = speeds[experiment.data, "small"]
        plan = Plan.small(experiment, experiment.minutes, None, speed, size)
        small = cost(experiment, "small", speed, size, epochs=plan.epochs, images=plan.images)
        rows.append(
            {
                "name": experiment.name,
                "title": experiment.title,
                "paper": _cost(paper),
                "small": {"minutes": experiment.minutes, "epochs": plan.epochs, "images": plan.images, **_cost(small)},
            }
        )
    return rows


def _cost(found: Cost) -> dict[str, object]:
    return {
        "models": found.models,
        "training_passes": found.draws,
        "certification_passes": found.votes,
        "seconds": round(found.seconds, 1),
    }


def show_listing(rows: list[dict[str, object]], console: Console) -> None:
    """One experiment a row: models, forward passes of training and certification, time on this machine."""
    console.width = max(console.width, _WIDTH)
    table = Table(
        "name",
        "scale",
        "models",
        "training passes",
        "certification passes",
        "time here",
        "what it is",
        box=None,
        pad_edge=False,
    )
    for row in rows:
        for scale in ("paper", "small"):
            found = row[scale]
            assert isinstance(found, dict)
            what = row["title"] if scale == "paper" else f"{found['epochs']} epochs, {found['images']} images a model"
            table.add_row(
                str(row["name"]) if scale == "paper" else "",
                scale,
                str(found["models"]),
                f"{found['training_passes']:.2g}",
                f"{found['certification_passes']:.2g}",
                _duration(found["seconds"]),
                str(what),
            )
    console.print(table)
    console.print(
        "Passes: noisy images through the network (in training forward and backward). Times: from steps timed just now "
        "on this machine, one process. Small: sized to its default --minutes; one epoch and 20 images are the least.",
        highlight=False,
    )


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
