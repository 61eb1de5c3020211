"""The figures of the results, in the house's inks. Each file carries a digest of the points that it shows."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from docs.programs.records import Run
from ecm.arrays import Floats
from zoo.certification import COLORS, INK, new_figure, steps, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = tuple[list[float], list[float]]
POINTS = 181  # of a curve


def certified_curve(run: Run, method: str) -> Curve:
    """Certified accuracy (percent) at radii up to what a unanimous vote gives by the paper's formula."""
    p, alpha = (float(part) for part in run.power)
    radii = np.linspace(0, (alpha / 2) ** (1 / p), POINTS)
    return radii.tolist(), (100 * _reaching(run, method, radii)).tolist()


def gain_curve(run: Run) -> Curve:
    """Metric distance d = r**p/alpha, and how many points the vote-aware certificate is above the paper's at d."""
    p, alpha = (float(part) for part in run.power)
    distances = np.linspace(0, 0.5, POINTS)
    radii = (alpha * distances) ** (1 / p)
    gain = _reaching(run, "vote_aware", radii) - _reaching(run, "paper", radii)
    return distances.tolist(), (100 * gain).tolist()


def _reaching(run: Run, method: str, radii: Floats) -> Floats:
    """The share of images that are right and certified at each radius; floats will do for a picture."""
    reached = steps(run.certification, method)[0]
    return np.asarray((len(reached) - np.searchsorted(reached, radii, side="left")) / run.certification.images)


def digest(points: object) -> str:
    """A fingerprint of what is drawn; floats to nine digits, so that it is the same everywhere."""
    return hashlib.sha256(json.dumps(json.loads(json.dumps(points), parse_float=_nine)).encode()).hexdigest()


def _nine(text: str) -> str:
    return f"{float(text):.9g}"


def gains(curves: dict[str, dict[str, Curve]]) -> str:
    """A panel for each p, a curve for each run: what the vote-aware certificate gains, by metric distance."""
    figure, axes = new_figure(8.6, 3.6, columns=max(1, len(curves)))
    for one, (title, runs) in zip(axes, curves.items(), strict=False):
        for k, (label, (x, y)) in enumerate(runs.items()):
            one.plot(x, y, color=COLORS[(k + 1) % len(COLORS)], linewidth=1.6, label=label)
        one.set(xlim=(0, 0.5), xlabel="metric distance $d = r^p/\\alpha$", title=title)
        inner = [gain for x, y in runs.values() for d, gain in zip(x, y, strict=True) if d < 0.47]
        one.set_ylim(0, max(1.0, 2 * max(inner)))  # room for the legend; the rise at d = 1/2 leaves the picture
        _legend(one)
    axes[0].set_ylabel("gain over the paper's (points)")
    return _signed(svg(figure), curves)


def budgets(curves: dict[str, Curve], by_votes: dict[str, Curve], unit: str) -> str:
    """Certified accuracy by radius for each budget, and at a few radii against the votes per image."""
    figure, (left, right) = new_figure(8.6, 3.8, columns=2)
    for k, (label, (x, y)) in enumerate(curves.items()):
        line = (0, (4, 1.5)) if label.startswith("periodic") else "solid"
        left.plot(x, y, color=COLORS[k % len(COLORS)], linestyle=line, linewidth=1.5, label=label)
    left.set(xlim=(0, None), ylim=(0, None), xlabel=unit, ylabel="certified accuracy (%)")
    for k, (label, (x, y)) in enumerate(by_votes.items()):
        right.plot(x, y, "o-", color=COLORS[(k + 2) % len(COLORS)], linewidth=1.5, markersize=4, label=label)
    right.set_xscale("log")
    ticks = sorted({votes for x, _ in by_votes.values() for votes in x})
    right.set_xticks(ticks, [f"{votes:g}" for votes in ticks])
    right.minorticks_off()
    right.set_ylim(0.8 * right.get_ylim()[0], None)
    right.set(xlabel="votes per image (aperiodic designs)")
    for one in (left, right):
        _legend(one)
    return _signed(svg(figure), [curves, by_votes])


def frontier(panels: dict[str, Any]) -> str:
    """A panel for each p: a curve for each of our models, and the published numbers as points."""
    figure, axes = new_figure(8.6, 3.8, columns=max(1, len(panels)))
    for one, (title, shown) in zip(axes, panels.items(), strict=False):
        for k, (label, (x, y)) in enumerate(shown["ours"].items()):
            one.plot(x, y, color=COLORS[k % len(COLORS)], linewidth=1.6, label=label)
        one.plot(*shown["published"], "o", color=INK, markersize=4, label="published, best")
        one.set(xlim=(0, None), ylim=(0, None), xlabel=f"$l_p$ radius, {title}", title=title)
        _legend(one)
    axes[0].set_ylabel("certified accuracy (%)")
    return _signed(svg(figure), panels)


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8)


def _signed(text: str, points: object) -> str:
    return text.replace("</svg>", f"<!-- points {digest(points)} -->\n</svg>")
