"""The pictures of a run: certified accuracy by radius, radii of the images, and the design against its metric.

Figures are made without global state (no pyplot) and in two inks that `svg` can hand over to the reader's light or dark
page. `narrow` draws for a phone: the same content, less wide, panels below each other. Floats are good enough here;
every number that counts stands in a table beside its picture.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ecm.arrays import Floats
from zoo.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ecm.design import Design
    from zoo.attacks import Attack
    from zoo.certification.certification import Certification


INK, RULE = "#1f2833", "#d3d8df"  # text and axes; grid lines
_DARK = {INK: "#e6e9ee", RULE: "#3a414c"}
COLORS = ("#8a94a3", "#d9822b", "#2f7fd6", "#2a9d6f", "#b0478f", "#7a5bd0", "#c24141", "#5e8f1a")
METHOD_COLORS = dict(zip(("paper", "integer", "vote_aware", "runoff", "runoff_vote_aware"), COLORS, strict=False))
METHOD_NAMES = {
    "paper": "paper's formula",
    "integer": "integer",
    "vote_aware": "vote-aware",
    "runoff": "run-off",
    "runoff_vote_aware": "run-off, vote-aware",
}
_LINES = dict.fromkeys(METHOD_COLORS, "solid")


def new_figure(
    width: float, height: float, *, rows: tuple[float, ...] = (1.0,), columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return a figure (inches) of so many columns and of rows with these relative heights."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    axes = list(figure.subplots(len(rows), columns, squeeze=False, height_ratios=rows).flat)
    for one in axes:
        one.set_facecolor("none")
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(INK)
        one.tick_params(colors=INK, labelsize=9)
        one.grid(color=RULE, linewidth=0.7)
        one.set_axisbelow(True)
        for label in (one.xaxis.label, one.yaxis.label, one.title):
            label.set_color(INK)
    return figure, axes


def steps(certification: Certification, method: str | None = None) -> tuple[Floats, Floats]:
    """Return radii at which the certified accuracy drops, and its value up to and including each (a curve for
    `step`)."""
    chosen = method or certification.certificate
    pairs = zip(certification.all_radii[chosen], certification.rows, strict=True)
    radii = np.array([r for r, row in pairs if row.correct_by(chosen)], dtype=np.float64)
    radii = np.sort(radii[~np.isnan(radii)])
    return radii, np.arange(len(radii), 0, -1) / certification.images


def certified_curve(results: Certification | Mapping[str, Certification], *, narrow: bool = False) -> Figure:
    """Return certified accuracy by radius: every certificate of one run, or the chosen certificate of several.

    `results` is what `certify` or `read_certification` gave, or several of these by name. For one run a second panel
    shows how many points each certificate gains over the weakest, from the same votes. `narrow` draws for a phone.

    >>> from zoo import load, read_certification
    >>> figure = certified_curve(read_certification(load("digits-l0.5-a4").path))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['certified accuracy (%)', 'gain (points)']
    """
    if not isinstance(results, Mapping):
        curves = {METHOD_NAMES[m]: (results, m, METHOD_COLORS[m], _LINES[m]) for m in results.methods}
        first = results
    else:
        if not results:
            raise DataError("no runs to draw: give at least one")
        first = next(iter(results.values()))
        if len({run.unit.name for run in results.values()}) > 1:
            units = ", ".join(f"{name}: {run.unit.name}" for name, run in results.items())
            raise DataError(f"these runs count radii in different units and share no axis ({units})")
        curves = {
            name: (run, run.certificate, COLORS[(k + 2) % len(COLORS)], "solid")
            for k, (name, run) in enumerate(results.items())
        }
    gains = not isinstance(results, Mapping) and len(curves) > 1
    width, height = (4.3, 3.2) if narrow else (8.6, 3.4)
    figure, (axes, *below) = new_figure(width, height + 1.1 * gains, rows=(height, 1.1) if gains else (1.0,))
    end = furthest(*((run, method) for run, method, _, _ in curves.values()))
    top = 10 * min(10, 1 + max(int(10 * run.smoothed_accuracy.share) for run, *_ in curves.values()))
    for k, (name, (run, method, color, line)) in enumerate(curves.items()):
        radii, share = steps(run, method)
        x = np.concatenate([[0.0], np.minimum(radii, end)])
        y = 100 * np.concatenate([share[:1], share[1:], [0.0]]) if len(share) else np.zeros(1)
        # Certificates of one run often coincide: each is drawn narrower than the one below it, so that all are seen.
        width = 1.6 + 1.5 * (len(curves) - 1 - k) if gains else 2
        axes.step(x, y, where="post", color=color, linestyle=line, linewidth=width, label=name)
    axes.set(xlim=(0, end), ylim=(0, top), ylabel="certified accuracy (%)")
    axes.legend(frameon=False, labelcolor=INK, fontsize=9, reverse=True)
    for one in below:
        weakest = next(iter(curves.values()))[1]
        radii = np.linspace(0, end, 401)
        for run, method, color, _ in list(curves.values())[1:]:
            share = gain(run, method, weakest, radii)
            one.plot(radii, 100 * share, color=color, linewidth=1.2)
            one.fill_between(radii, 0, 100 * share, color=color, alpha=0.18, linewidth=0)
        one.set(xlim=(0, end), ylabel="gain (points)")
        low, high = one.get_ylim()
        one.set_ylim(min(0.0, low) if low < -0.5 else 0, max(1.0, high))
        axes.tick_params(labelbottom=False)
    for one in (axes, *below):
        whole_ticks(one, first)
    (below or [axes])[-1].set_xlabel(radius_label(first))
    figure.align_ylabels()
    return figure


def gain(run: Certification, method: str, weakest: str, radii: Floats) -> Floats:
    """Return the share of images that `method` certifies up to each of these radii, less that of `weakest`."""
    counts = [len(found) - np.searchsorted(found, radii) for found in (steps(run, m)[0] for m in (method, weakest))]
    return (counts[0] - counts[1]) / run.images


def furthest(*curves: tuple[Certification, str]) -> float:
    """Return where the axis of the radii ends: a little beyond the last drop of these curves, that is where the data
    end."""
    return 1.02 * max(_last(run, method) for run, method in curves) or float(curves[0][0].radii[-1]) or 1.0


def _last(run: Certification, method: str) -> float:
    radii = steps(run, method)[0]
    radii = radii[np.isfinite(radii)]
    return float(radii[-1]) if len(radii) else 0.0


def radius_label(run: Certification | Attack) -> str:
    power = run.unit.power
    return run.unit.name if power is None or power[0] == 0 else rf"$\ell_{{{power[0]}}}$ radius"


def whole_ticks(axes: Axes, run: Certification | Attack) -> None:
    """Features and pixels are counted in whole numbers."""
    if run.unit.power is not None and run.unit.power[0] == 0:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def histogram(certification: Certification, bins: int = 20) -> list[tuple[float, float, int, int]]:
    """Return (from, to, right, wrong): how many images have a radius in [from, to), by whether the prediction is right.

    Images without any certificate are in no bin; those without a limit (inf) are in the last.
    """
    every = certification.all_radii[certification.certificate]
    end = max((r for r in every if np.isfinite(r)), default=0.0) or float(certification.radii[-1]) or 1e-9
    counts_things = certification.unit.power is not None and certification.unit.power[0] == 0
    edges = np.arange(end + 2) if counts_things and end < 4 * bins else np.linspace(0, end, bins + 1)
    found = [(r, row.correct) for r, row in zip(every, certification.rows, strict=True)]
    counts = [
        np.histogram([min(r, end) for r, correct in found if correct is wanted and not np.isnan(r)], edges)[0]
        for wanted in (True, False)
    ]
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [(a, b, int(counts[0][k]), int(counts[1][k])) for k, (a, b) in enumerate(ends)]


def radius_histogram(certification: Certification, *, narrow: bool = False) -> Figure:
    """Return how the certified radii of a `certification` are spread, right and wrong predictions apart.

    `narrow` draws for a phone.

    >>> from zoo import load, read_certification
    >>> radius_histogram(read_certification(load("digits-l0.5-a4").path)).axes[0].get_ylabel()
    'images'
    """
    figure, (axes,) = new_figure(4.3 if narrow else 8.6, 3.2)
    rows = histogram(certification)
    left, width = np.array([row[0] for row in rows]), rows[0][1] - rows[0][0]
    right, wrong = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    axes.bar(left, right, width * 0.92, align="edge", color=COLORS[2], label="right")
    if wrong.any():
        axes.bar(left, wrong, width * 0.92, bottom=right, align="edge", color=COLORS[6], label="wrong", hatch="///")
    axes.set(xlim=(0, rows[-1][1]), xlabel=radius_label(certification), ylabel=certification.things)
    whole_ticks(axes, certification)
    axes.grid(visible=False, axis="x")
    axes.legend(frameon=False, labelcolor=INK, fontsize=9)
    return figure


def design_figure(design: Design, component: int = 0, *, narrow: bool = False) -> Figure:
    """Return g against the share of outcomes that separate two levels (over all pairs at that distance), and the
    gap."""
    outcomes, profile, q = design.outcomes[component], design.metric.components[component], design.q
    z, g = np.arange(q + 1) / q, profile.values(q)
    least, most = outcomes.least / design.budget, outcomes.most / design.budget
    worst = float((g - least).max())
    figure, (axes, gap) = new_figure(4.3, 6.2, rows=(1, 1)) if narrow else new_figure(8.6, 3.3, columns=2)
    axes.fill_between(z, least, most, color=COLORS[2], alpha=0.35, linewidth=0, label="design, all pairs of levels")
    axes.plot(z, outcomes.total / np.arange(q + 1, 0, -1) / design.budget, color=COLORS[2], linewidth=1.6, label="mean")
    axes.plot(z, g, color=COLORS[1], linewidth=1.6, linestyle=(0, (4, 1.5)), label="g")
    axes.set(xlim=(0, 1), xlabel="distance of two values, |x - y|", ylabel="share of outcomes that separate them")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, labelcolor=INK, fontsize=9, loc="lower right")
    gap.fill_between(z, g - most, g - least, color=COLORS[2], alpha=0.35, linewidth=0)
    for bound in (g - most, g - least):  # the band has no height where all pairs agree
        gap.plot(z, bound, color=COLORS[2], linewidth=1.2)
    gap.axhline(worst, color=COLORS[6], linewidth=1, linestyle=(0, (4, 1.5)))
    gap.annotate(
        f"largest gap {worst:.4f}", (1, worst), (-2, 3), textcoords="offset points", ha="right",
        color=COLORS[6], fontsize=9,
    )  # fmt: skip
    gap.set(xlim=(0, 1), xlabel="distance of two values, |x - y|", ylabel="g minus share")
    gap.set_ylim(0, 1.18 * max(worst, 1e-9))
    return figure


def law_figure(law: list[tuple[str, float]], *, narrow: bool = False) -> Figure:
    """Return the law of Lambda on the grid, widths pooled: (widths in levels, probability)."""
    figure, (axes,) = new_figure(4.3 if narrow else 8.6, 2.8)
    finite = [(name, share) for name, share in law if name != "inf"]
    axes.bar([name for name, _ in finite], [share for _, share in finite], 0.72, color=COLORS[2])
    if narrow:
        axes.tick_params(axis="x", labelrotation=40)
    else:
        for k, (_, share) in enumerate(finite):
            axes.annotate(
                f"{share:.3g}", (k, share), (0, 2), textcoords="offset points", ha="center", color=INK, fontsize=8
            )
    never = 1 - sum(share for _, share in finite)
    axes.text(0.02, 0.9, f"no divider at all: {never:.4g}", color=INK, fontsize=9, transform=axes.transAxes)
    axes.set(xlabel="bin width in levels", ylabel="probability")
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.14)
    return figure


def svg(figure: Figure, *, tight: bool = False) -> str:
    """Return the figure as SVG text that follows the reader's light or dark setting by itself, without scripts or
    fonts."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "ecm"}):  # the same figure gives the same bytes
        box = "tight" if tight else None
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches=box)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for light in _DARK:
        text = text.replace(light, f"var(--c{light[1:]})")
    inks = ";".join(f"--c{light[1:]}:{light}" for light in _DARK)
    dark = ";".join(f"--c{light[1:]}:{shade}" for light, shade in _DARK.items())
    style = f"<style>:root{{{inks}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    end = text.index(">") + 1
    return text[:end] + style + text[end:]


def png(figure: Figure, dpi: int = 150) -> bytes:
    """Return the figure as PNG on white, for places that show no SVG."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, facecolor="white")
    return out.getvalue()
