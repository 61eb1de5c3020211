"""What `docs/results.md` says: our best certified accuracy at every radius beside the published one, and why.

Everything is counted from records: the models of the package, and `docs/records/` with the folders `frontier` (further
models for the tables), `ablation` (one training for each coupling) and `votes` (one model under several budgets).
The sentences are in `results.jinja`.
"""

from __future__ import annotations

import statistics
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from docs.programs import figures
from docs.programs.paper import effort, parameters
from docs.programs.records import MAIN, RECORDS, Run, read_run, runs_in, shipped
from docs.programs.text import difference, listed, percent, plain, rendered, table, with_interval
from zoo.certification import METHODS, Accuracy
from zoo.experiments.checks import paired_interval
from zoo.experiments.paper import best_cells, best_published

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
BEYOND = {ONE: (8,), HALF: (300, 400), THIRD: (1000, 2000, 4000)}  # radii that the paper has no number for
PIXELS = (1, 3, 5, 7, 9, 11, 13, 16, 20, 25)
NEAREST = {HALF: 10, THIRD: 90}


def page(records: Path = RECORDS) -> tuple[str, dict[str, str]]:
    """The markdown, and the figures (SVG) by file name."""
    runs = models(records)
    panels = [Panel.of(p, runs) for p in (HALF, THIRD)]
    facts = {
        "panels": [panel for panel in panels if panel.runs],
        "l1": Panel.of(ONE, runs),
        "size": f"{max(parameters(run.card) for run in runs) / 1e6:.1f}",
        "models": _models(runs),
        "rules": _rules(runs),
        "sparse": _sparse([run for run in runs if run.certification.scheme.pixel]),
        "ablation": _ablation([read_run(folder) for folder in runs_in(records / "ablation")]),
        "votes": _votes([read_run(folder) for folder in runs_in(records / "votes")]),
    }
    drawn = {f"p = {panel.p}": panel.curves() for panel in panels if panel.runs}
    return rendered("results.jinja", facts), {"results-frontier.svg": figures.frontier(drawn)}


def models(records: Path = RECORDS) -> list[Run]:
    """The models on CIFAR-10 that compete: those of the package and those whose record alone is kept.

    Where the package holds the votes of fewer images than a record of the same model, the record counts.
    """
    ours = [run for run in shipped() if run.card["data"]["name"] == MAIN]
    more = [read_run(folder) for folder in runs_in(records / "frontier")]
    most: dict[tuple[str, str], Run] = {}
    for run in sorted([*ours, *more], key=lambda run: run.certification.images):
        most[run.weights, run.certification.scheme.fingerprint] = run
    return sorted(most.values(), key=lambda run: (-run.power[0], run.power[1], run.name))


def passes(run: Run) -> int:
    """The forward passes that an image costs: the votes, times the members of an ensemble."""
    return int(run.certification.scheme.total) * len(run.card["model"].get("members", [""]))


def best_method(run: Run) -> str:
    """The strongest certificate of the model's own rule."""
    return run.certification.certificate


@attrs.frozen
class Cell:
    """The best of our models at one radius, beside the best published number, in percent."""

    radius: Fraction
    published: float | None
    run: Run
    certified: Accuracy

    @property
    def above(self) -> float:
        """In points."""
        return 100 * self.certified.share - (self.published or 0.0)

    @property
    def won(self) -> bool:
        """Whether the whole 95% interval lies above the published number."""
        return self.published is None or 100 * self.certified.interval()[0] > self.published


@attrs.frozen
class Panel:
    """One table: all models of one p."""

    p: Fraction
    runs: tuple[Run, ...]
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, p: Fraction, runs: list[Run]) -> Panel:
        ours = tuple(run for run in runs if run.power[0] == p)
        published = best_published(p)
        cells = []
        for radius in (*published, *map(Fraction, BEYOND[p])) if ours else ():
            found = [(run.certification.certified_accuracy(radius, best_method(run)), run) for run in ours]
            certified, run = max(found, key=lambda pair: pair[0].share)
            if radius in published or certified.correct:
                cells.append(Cell(radius, published.get(radius), run, certified))
        return cls(p, ours, tuple(cells))

    @property
    def table(self) -> str:
        """One row for each radius."""
        rows = [
            [
                plain(cell.radius),
                "" if cell.published is None else f"{cell.published:.2f}",
                f"**{percent(cell.certified.share)}**",
                "–".join(f"{100 * end:.1f}" for end in cell.certified.interval()),
                "" if cell.published is None else f"{cell.above:+.1f}",
                f"`{cell.run.name}`",
                str(cell.run.certification.scheme.samples),
                str(cell.certified.images),
            ]
            for cell in self.cells
        ]
        head = [f"l_{self.p} radius", "published", "ours", "95% interval", "difference", "model", "votes", "images"]
        return table(head, rows)

    @property
    def summary(self) -> str:
        """How many radii are won, and by how much the others are lost."""
        compared = [cell for cell in self.cells if cell.published is not None]
        higher = [cell for cell in compared if cell.above > 0]
        lost = [f"{plain(cell.radius)} ({cell.above:+.1f})" for cell in compared if cell.above <= 0]
        text = (
            f"Our number is higher at {len(higher)} of {len(compared)} radii, and the whole 95% interval is above the "
            f"published number at {sum(cell.won for cell in compared)} of them"
        )
        return text + (f". It is not higher at {listed(lost)}." if lost else ".")

    @property
    def fewest(self) -> str:
        """For each published number the fewest forward passes per image with which a model of ours is above it."""
        rows = []
        for radius, cell in best_cells(self.p).items():
            found = [
                (passes(run), run)
                for run in self.runs
                if 100 * run.certification.certified_accuracy(radius, best_method(run)).share > cell.certified
            ]
            if found:
                count, run = min(found, key=lambda pair: pair[0])
                votes = run.certification.scheme.total
                theirs = 1000 * cell.alpha
                made = f"{votes} ({run.per_alpha:g} alpha)"
                rows.append([plain(radius), str(theirs), made, str(count), f"{theirs / count:.1f}", f"`{run.name}`"])
        head = ["radius", "published passes", "our votes", "our passes", "times fewer", "model"]
        return table([f"l_{self.p} {head[0]}", *head[1:]], rows)

    def curves(self) -> dict[str, Any]:
        """Points of the figure: a curve for each model, and the published numbers."""
        ours = {f"α = {run.power[1]}": figures.certified_curve(run, best_method(run)) for run in self.runs}
        published = best_published(self.p)
        return {"ours": ours, "published": (list(map(float, published)), list(published.values()))}


def _models(runs: list[Run]) -> str:
    rows = []
    for run in runs:
        training, result = run.card["training"], run.certification
        words = {"start": "from", "teacher": "taught by", "members": "mean logits of"}
        before = "".join(f", {words[role]} `{models['name']}`" for role, models in run.before.items())
        rows.append(
            [
                f"`{run.name}`",
                f"{run.network}, {parameters(run.card) / 1e6:.2f} M",
                f"{training.get('objective', 'ensemble')}, {effort(run)}{before}",
                str(result.scheme.samples),
                with_interval(run.trained.base),
                with_interval(result.smoothed_accuracy),
                str(result.images),
            ]
        )
    head = ["model", "network", "training", "votes per image", "base", "smoothed", "images"]
    return table(head, rows)


def _rules(runs: list[Run]) -> list[dict[str, str]]:
    """All certificates side by side, for the models that have both rules."""
    found = []
    for run in runs:
        result = run.certification
        if result.rule != "runoff" or run.power[0] not in NEAREST:
            continue
        radii = [radius for radius in result.radii if radius]
        rows = [
            [
                method.replace("_", "-").replace("runoff", "run-off"),
                percent(result.smoothed_by(method).share),
                *(percent(result.certified_accuracy(radius, method).share) for radius in radii),
            ]
            for method in result.methods
        ]
        head = ["certificate", "smoothed", *map(plain, radii)]
        found.append({"name": run.name, "images": str(result.images), "table": table(head, rows)})
    return found


def _sparse(runs: list[Run]) -> str:
    rows = []
    for run in runs:
        result = run.certification
        reached = [result.radius_of(row) if row.correct else -1.0 for row in result.rows]
        rows.append(
            [
                f"`{run.name}`",
                str(result.scheme.samples),
                str(result.images),
                percent(result.smoothed_accuracy.share),
                *(percent(result.certified_accuracy(k).share) for k in PIXELS),
                f"{max(0, int(statistics.median_low(reached)))}",
            ]
        )
    head = ["model", "votes", "images", "smoothed", *map(str, PIXELS), "median"]
    return table(head, rows) if rows else ""


def _covered(run: Run, radius: Fraction, method: str, images: set[int]) -> set[int]:
    result = run.certification
    unit = result.unit
    return {
        row.idx
        for row in result.rows
        if row.idx in images and row.correct_by(method) and unit.covers(row.balls[method], radius)
    }


def _compared(runs: list[Run], names: list[str], against: int) -> dict[str, str]:
    """Certified accuracies of runs on the images that they share, and differences with intervals to one of them."""
    shared = set.intersection(*({row.idx for row in run.certification.rows} for run in runs))
    radii = [radius for radius in runs[against].certification.radii if radius]
    rows, more = [], []
    for method in (METHODS[0], best_method(runs[against])):
        hits = [[_covered(run, radius, method, shared) for radius in radii] for run in runs]
        label = method.replace("_", "-").replace("runoff", "run-off")
        for name, run, found in zip(names, runs, hits, strict=True):
            shares = [percent(len(one) / len(shared)) for one in found]
            rows.append([name, label, str(run.certification.scheme.samples), percent(run.trained.base.share), *shares])
        for name, found in zip(names, hits, strict=True):
            if found is not hits[against]:
                cells = []
                for one, other in zip(found, hits[against], strict=True):
                    only = len(one - other), len(other - one)
                    interval = paired_interval(*only, len(shared))
                    cells.append(difference((only[0] - only[1]) / len(shared), interval))
                more.append([name, label, *cells])
    shown = [plain(radius) for radius in radii]
    return {
        "images": str(len(shared)),
        "reference": names[against],
        "table": table(["", "certificate", "votes", "base", *shown], rows),
        "differences": table(["", "certificate", *shown], more),
    }


COUPLINGS = {
    ("independent", "interleaved"): "independent",
    ("spread", "interleaved"): "spread classes, inner offsets shuffled",
    ("spread", "graded"): "spread classes and inner offsets (the default)",
}


def _ablation(runs: list[Run]) -> dict[str, Any] | None:
    """The same network, epochs, seed and alpha under three couplings."""
    by = {(run.certification.scheme.coupling, run.certification.scheme.order): run for run in runs}
    found = [(name, by[key]) for key, name in COUPLINGS.items() if key in by]
    if len(found) < 2:
        return None
    names, chosen = [name for name, _ in found], [run for _, run in found]
    return _compared(chosen, names, 0) | {
        "epochs": chosen[0].card["training"]["epochs"],
        "alpha": chosen[0].power[1],
        "network": chosen[0].card["model"]["name"],
    }


def _votes(runs: list[Run]) -> dict[str, Any] | None:
    """The weights of one model under designs of several sizes."""
    ordered = sorted(runs, key=lambda run: run.certification.scheme.total)
    if len(ordered) < 2:
        return None
    names = [f"{run.per_alpha:g} alpha" for run in ordered]
    last = ordered[-1]
    return _compared(ordered, names, len(ordered) - 1) | {
        "network": last.card["model"]["name"],
        "alpha": last.power[1],
        "epochs": last.card["training"]["epochs"],
        "ratios": listed(f"{1000 / run.per_alpha:.3g}" for run in ordered),
    }
