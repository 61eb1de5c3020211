"""What a smaller budget of votes costs in certified accuracy, and what to recommend."""

from __future__ import annotations

from typing import Any

import attrs

from docs.programs import figures
from docs.programs.gain import covered
from docs.programs.records import Found, Run, read_run
from docs.programs.text import difference, percent, plain, span, table, with_interval
from ecm.design.budget import PER_ALPHA
from zoo.certification import Accuracy
from zoo.experiments.checks import paired_interval
from zoo.experiments.declarations import Panel

TOLERATED = 2.0  # points of certified accuracy that a smaller budget may lose at any radius


def _by_label(one: Found, panel: Panel) -> dict[str, Run]:
    """The runs of a panel of `budgets`, by row, on the images that all of them share."""
    names = {f.label: f.run_name(one.done.experiment.data, alpha) for f in panel.families for alpha in f.small}
    return {
        label: attrs.evolve(read_run(one.done.folder / name), trained=one.done.models[name])
        for label, name in names.items()
    }


def _hits(run: Run, panel: Panel) -> list[frozenset[int]]:
    return [covered(run, radius) for radius in panel.radii]


def _aperiodic(runs: dict[str, Run]) -> dict[str, Run]:
    """Few votes first."""
    free = {label: run for label, run in runs.items() if run.certification.scheme.design.kind == "aperiodic"}
    return dict(sorted(free.items(), key=lambda item: item[1].certification.scheme.total))


def budget(one: Found | None) -> dict[str, Any] | None:
    """Each panel of the experiment, and the one that has something to recommend."""
    if one is None:
        return None
    panels = [_budget_panel(one, panel) for panel in one.done.experiment.panels]
    chosen = next((panel for panel in panels if panel["recommendation"]), panels[0])
    return {"name": one.done.experiment.name, "images": one.done.images, "panels": panels, "chosen": chosen}


def _budget_panel(one: Found, panel: Panel) -> dict[str, Any]:
    runs, rows = _by_label(one, panel), []
    for label, run in runs.items():
        scheme, result = run.certification.scheme, run.certification
        shares = [with_interval(Accuracy(len(found), result.images)) for found in _hits(run, panel)]
        eps = f"{float(scheme.design.eps_max * run.power[1]):.4f}"
        rows.append([label, str(scheme.samples), eps, percent(result.smoothed_accuracy.share), *shares])
    return {
        "p": panel.p,
        "alpha": next(iter(runs.values())).power[1],
        "unit": panel.title,
        "table": table(["design", "votes per image", "eps", "smoothed", *map(plain, panel.radii)], rows),
        **_choice(panel, _aperiodic(runs), one.done.images),
    }


def _choice(panel: Panel, free: dict[str, Run], images: int) -> dict[str, Any]:
    """Each budget against the largest, radius by radius, and what to recommend."""
    if len(free) < 2:
        return {"largest": "", "against": "", "choices": [], "recommendation": "", "short": ""}
    *smaller, largest = free
    hits = {label: _hits(run, panel) for label, run in free.items()}
    votes = {label: run.certification.scheme.samples for label, run in free.items()}
    rows, choices, loss = [], [], {}
    for label in smaller:
        cells = []
        for mine, best in zip(hits[label], hits[largest], strict=True):
            only = len(mine - best), len(best - mine)
            cells.append(((only[0] - only[1]) / images, paired_interval(*only, images)))
        worst, interval = min(cells)
        loss[label] = max(0.0, -100 * worst)
        rows.append([label, *(difference(*cell) for cell in cells)])
        times = f"{votes[largest] / votes[label]:.1f}"
        choices.append({"label": label, "times": times, "loss": f"{loss[label]:.1f}", "interval": span(interval)})
    against = table(["design", *map(plain, panel.radii)], rows)
    told = _recommendation(free, largest, loss) if round(free[largest].per_alpha) > PER_ALPHA else {}
    return {"largest": largest, "against": against, "choices": choices, "recommendation": "", "short": "", **told}


def _recommendation(free: dict[str, Run], largest: str, loss: dict[str, float]) -> dict[str, str]:
    """In words: the smallest budget that loses little against the largest (points), and where the default stands."""
    enough = [label for label in loss if loss[label] <= TOLERATED]
    default = next((label for label in free if round(free[label].per_alpha) == PER_ALPHA), f"B = {PER_ALPHA} alpha")
    within = f"within {TOLERATED:g} points of {largest} at every radius"
    said = f"The smallest that stays {within} is {enough[0]}" if enough else f"No smaller budget stays {within}"
    if enough and enough[0] == default:
        said += ", which is the default (`ecm.default_budget`)."
    elif default in enough:
        said += f"; the default (`ecm.default_budget`) is {default}, which does too and has the smaller eps."
    else:
        lost = f"; here it loses {loss[default]:.1f} points" if default in loss else ""
        said += f"; the default (`ecm.default_budget`) is {default} for its cost{lost}."
    short = ""
    if default in loss:
        times = free[largest].certification.scheme.samples / free[default].certification.scheme.samples
        short = f"The default, {default}, needs {times:.1f} times fewer votes than {largest} and loses "
        short += f"{loss[default]:.1f} points at most (p = {free[default].power[0]}, alpha = {free[default].power[1]})"
    return {"recommendation": said, "short": short}


def budget_figures(one: Found | None) -> dict[str, str]:
    """Certified accuracy by radius and by votes, by file name."""
    if one is None:
        return {}
    panel = one.done.experiment.panels[0]
    runs = _by_label(one, panel)
    free = _aperiodic(runs)
    votes = [float(run.certification.scheme.samples) for run in free.values()]
    shares = [[100 * len(found) / one.done.images for found in _hits(run, panel)] for run in free.values()]
    drawn = figures.budgets(
        {label.replace("alpha", "α"): figures.certified_curve(run, "vote_aware") for label, run in runs.items()},
        {
            f"radius {plain(radius)}": (votes, [share[at] for share in shares])
            for at, radius in enumerate(panel.radii)
            if at % 3 == 0
        },
        f"$\\ell_{{{panel.p}}}$ radius, $\\alpha = {next(iter(runs.values())).power[1]}$",
    )
    return {"paper-budget.svg": drawn}
