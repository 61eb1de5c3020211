"""What the vote-aware certificate gains on the paper's formula, counted from the same votes."""

from __future__ import annotations

import statistics
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from docs.programs import figures
from docs.programs.records import MAIN, Run, read_run, runs_in
from docs.programs.text import difference, listed, plain, span, table
from ecm.design.budget import PER_ALPHA
from zoo.experiments.catalogue import EXPERIMENTS
from zoo.experiments.checks import paired_interval
from zoo.experiments.table import certified_images

PROTOTYPE = (5.0, 8.0)  # points that a prototype of the vote-aware certificate gained at mid radii
DISTANCES = tuple(Fraction(k, 10) for k in range(6))  # a unanimous vote reaches d = 1/2
PROTOTYPE_POWER = (Fraction(1, 2), Fraction(9))  # with this p and alpha, and B = 1000 alpha

Power = tuple[Fraction, Fraction]


class Gain(NamedTuple):
    """At one radius: vote-aware minus the paper's, as a share of the images, and whether the radius is a middle one."""

    radius: Fraction
    value: float
    interval: tuple[float, float]
    middle: bool


@cache
def covered(run: Run, radius: Fraction, method: str = "vote_aware") -> frozenset[int]:
    """The images that the certificate covers at the radius."""
    return certified_images(run.certification, run.power[0], radius, method)


def _gain(run: Run, radius: Fraction) -> Gain:
    result = run.certification
    more, less = (covered(run, radius, method) for method in ("vote_aware", "paper"))
    low, high = paired_interval(len(more - less), len(less - more), result.images)
    middle = 0.25 <= len(less) / max(1, result.smoothed_accuracy.correct) <= 0.75
    return Gain(radius, len(more - less) / result.images, (max(0.0, low), high), middle)


def by_power(records: Path) -> dict[Power, list[Run]]:
    """The models of the main method by (p, alpha), those of equal schemes once, few votes first."""
    by: dict[Power, dict[str, Run]] = {}
    for folder in runs_in(records / MAIN):
        run = read_run(folder)
        if run.usual:
            by.setdefault(run.power, {}).setdefault(run.certification.scheme.fingerprint, run)
    order = sorted(by, key=lambda power: (-power[0], power[1]))
    return {power: sorted(by[power].values(), key=lambda r: (r.per_alpha, r.name)) for power in order}


def _radii(power: Power) -> tuple[Fraction, ...]:
    """The radii of a table that models with this p and alpha reach, the table with most of them."""
    tables = [
        panel.radii
        for experiment in EXPERIMENTS.values()
        if experiment.data == MAIN
        for panel in experiment.panels
        if panel.p == power[0] and any(power[1] in family.alphas for family in panel.families)
    ]
    reach = (power[1] / 2) ** int(1 / power[0])
    return min(tables, key=lambda radii: (reach < radii[-1], -len(radii), -radii[-1]))


def _design(run: Run) -> str:
    return f"{run.certification.scheme.design.kind}, B = {run.per_alpha:.4g} alpha"


def gain_table(power: Power, runs: list[Run]) -> dict[str, Any]:
    """Gains by radius, a row a design."""
    radii, rows = _radii(power), []
    for run in runs:
        gains = [_gain(run, radius) for radius in radii]
        cells = [difference(gain.value, gain.interval) for gain in gains]
        cells = [f"**{cell}**" if gain.middle else cell for cell, gain in zip(cells, gains, strict=True)]
        rows.append([_design(run), str(run.certification.scheme.samples), str(run.certification.images), *cells])
    head = ["design", "votes", "images", *map(plain, radii)]
    return {"p": power[0], "alpha": power[1], "table": table(head, rows)}


def growth_table(groups: dict[Power, list[Run]]) -> str:
    """How many times larger the vote-aware ball is, by the metric radius of the paper's: medians, and of how many."""
    rows = []
    for (p, alpha), runs in groups.items():
        for run in (run for run in runs if round(run.per_alpha) in (PER_ALPHA, 1000)):
            balls = [
                row.balls for row in run.certification.rows if row.correct_by("paper") and row.balls["paper"].radius
            ]
            cells = []
            for low, high in pairwise(DISTANCES):
                times = [b["vote_aware"].radius / b["paper"].radius for b in balls if low < b["paper"].radius <= high]
                cells.append(f"{float(statistics.median(times)):.2f} <small>of {len(times)}</small>" if times else "")
            rows.append([str(p), str(alpha), _design(run), *cells])
    spans = [f"d = {plain(low)} to {plain(high)}" for low, high in pairwise(DISTANCES)]
    return table(["p", "alpha", "design", *spans], rows)


def prototype(groups: dict[Power, list[Run]]) -> dict[str, Any]:
    """What the gains at B = 1000 alpha say about the prototype's."""
    first, last = PROTOTYPE
    found = []
    for power, runs in groups.items():
        for run in (run for run in runs if round(run.per_alpha) == 1000):
            gains = [_gain(run, radius) for radius in _radii(power)]
            middle = [gain for gain in gains if gain.middle] or gains
            meets = sum(100 * gain.interval[1] >= first and 100 * gain.interval[0] <= last for gain in middle)
            inside = sum(first <= 100 * gain.value <= last for gain in middle)
            best = max(gains, key=lambda gain: gain.value)
            found.append(
                {
                    "p": power[0],
                    "alpha": power[1],
                    "design": _design(run),
                    "answer": f"seen at {inside} of {len(middle)} middle radii" if inside else "not seen",
                    "gains": listed(f"{100 * gain.value:.1f} at {plain(gain.radius)}" for gain in middle),
                    "meets": meets,
                    "radii": len(middle),
                    "images": run.certification.images,
                    "best": f"{100 * best.value:.1f} ({span(best.interval)})",
                    "where": plain(best.radius),
                }
            )
    same = next((one for one in found if (one["p"], one["alpha"]) == PROTOTYPE_POWER), None)
    return {"first": f"{first:g}", "last": f"{last:g}", "found": found, "same": same}


def largest(groups: dict[Power, list[Run]]) -> str:
    """The largest gain at the default budget and at the paper's."""
    told = []
    for per_alpha in (PER_ALPHA, 1000):
        some = [
            (_gain(run, radius).value, run)
            for power, runs in groups.items()
            for run in runs
            if round(run.per_alpha) == per_alpha
            for radius in _radii(power)
        ]
        if some:
            value, run = max(some, key=lambda pair: pair[0])
            where = f"p = {run.power[0]}, alpha = {run.power[1]}"
            told.append(f"{100 * value:.1f} points with B = {per_alpha} alpha ({where})")
    return listed(told) if told else ""


def gain_figures(groups: dict[Power, list[Run]]) -> dict[str, str]:
    """The gain by metric distance, by file name."""
    curves: dict[str, dict[str, figures.Curve]] = {}
    for power, runs in groups.items():
        for run in (run for run in runs if round(run.per_alpha) in (PER_ALPHA, 1000)):
            label = f"alpha = {power[1]}, {_design(run)}".replace("alpha", "α")
            curves.setdefault(f"p = {power[0]}", {})[label] = figures.gain_curve(run)
    return {"paper-gain.svg": figures.gains(curves)} if curves else {}
