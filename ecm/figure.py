"""One figure of a metric: g and split probability, the laws of Lambda, an allocation and its gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ecm.law import Law, QuantizedLaw
from ecm.metric import Profile, TableProfile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecm.elementwise import ECM

# Okabe & Ito's palette, told apart with any colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"

_LEGEND = {"framealpha": 0.8, "edgecolor": "none"}
_EXACT_UP_TO = 1024  # levels; beyond, the allocation is drawn by the rounding that takes no search


def plot(metric: ECM, q: int = 255, budget: int | None = None) -> Figure:
    """Return the figure of a metric on the levels 0..q: a column of panels a component.

    Without a budget, 1000/g(1) outcomes are allocated (1000 for every one that shows the feature). No display is
    needed; write `figure.savefig("metric.png")`.

    >>> from ecm import ECM
    >>> figure = plot(ECM.from_expr("sqrt(z)/2"), q=16)
    >>> [axes.get_title() for axes in figure.axes[:2]]
    ['g and split probability', 'law of Λ on [0, 1]']
    """
    from matplotlib.figure import Figure

    tops = [float(profile.values(q)[-1]) for profile in metric.components]
    chosen = budget if budget is not None else round(1000 / max(tops)) if max(tops) > 0 else 1000
    columns = len(metric.components)
    rows, across = (2, 2) if columns == 1 else (4, 1)
    figure = Figure(figsize=(5.3 * across * columns, 3.7 * rows), dpi=120, layout="constrained")
    parts = figure.subfigures(1, columns, squeeze=False)[0]
    for i, (part, profile) in enumerate(zip(parts, metric.components, strict=True)):
        at = [str(a) for a, component in enumerate(metric.groups) if component == i]
        where = f"\nindex {', '.join(at)} of the first feature axis" if at else ""
        known = f"g(k/{profile.grid})" if isinstance(profile, TableProfile) else "g(z)"
        part.suptitle(f"{known} = {_short(profile.text, 80 if columns == 1 else 40)}{where}", fontsize=13)
        panels = part.subplots(rows, across).ravel()
        law = QuantizedLaw.of(profile, q)
        _draw_split(panels[0], profile, law)
        _draw_law(panels[1], profile)
        _draw_quantized(panels[2], law)
        _draw_allocation(panels[3], profile, q, chosen)
    return figure


def _draw_split(axes: Any, profile: Profile, law: QuantizedLaw) -> None:
    """g as a line; the split probability, summed from the law of Lambda, as dots on it."""
    q = law.q
    if profile.grid is None:
        z = np.linspace(0, 1, 801) ** 2
        axes.plot(z[1:], np.asarray(profile(z[1:])), color=BLUE, lw=2, label="g(z)")
    else:
        axes.plot(np.arange(q + 1) / q, profile.values(q), color=BLUE, lw=2, label=f"g, known at k/{profile.grid}")
    k = np.unique(np.round(np.linspace(0, 1, 25) ** 2 * q).astype(int))
    axes.plot(k / q, law.split_values()[k], "o", color=ORANGE, ms=4.5, label=f"split probability, q = {q}")
    axes.set(title="g and split probability", xlabel="distance z = |x − y|, in [0, 1]", ylabel="probability")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right", **_LEGEND)
    axes.grid(alpha=0.25)


def _draw_law(axes: Any, profile: Profile) -> None:
    """The density as an area over [0, 1], atoms as stems with their probability, infinity beyond 1."""
    axes.set(title="law of Λ on [0, 1]", xlabel="width Λ, in [0, 1]")
    if profile.grid is not None:
        text = f"g is known only at k/{profile.grid}:\nno continuous law"
        axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    law = Law.of(profile)
    z = np.linspace(0, 1, 802)[1:-1] ** 2
    density = law.density(z)
    if density.max() > 0:
        # A density that is infinite at 0 is cut where a hundredth of the axis would still show it.
        top = 1.1 * min(density.max(), 3 * float(np.interp(0.05, z, density)) + float(np.median(density)))
        axes.fill_between(z, np.minimum(density, top), color=BLUE, alpha=0.25, lw=0)
        axes.plot(z, np.where(density <= top, density, np.nan), color=BLUE, lw=2)
        axes.set_ylim(0, top)
        axes.set_ylabel("density −z g″(z)", color=BLUE)
        axes.tick_params(axis="y", colors=BLUE)
    else:
        axes.set(yticks=[], ylabel="no density")
    stems = axes.twinx()
    for atom in law.atoms:
        place, mass = min(float(atom.location), 1.2), float(atom.mass)
        stems.plot([place, place], [0, mass], color=ORANGE, lw=2.5)
        stems.plot([place], [mass], "o", color=ORANGE, ms=6)
        _label(stems, place, mass, left=place > 0.85)
    stems.set_ylim(0, 1.12)
    stems.set_ylabel("probability of an atom", color=ORANGE)
    stems.tick_params(axis="y", colors=ORANGE)
    axes.set_xlim(-0.04, 1.26)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1, 1.2], ["0", "", "0.5", "", "1", "∞"])
    axes.axvline(1.1, color="grey", lw=0.8, ls=":")


def _draw_quantized(axes: Any, law: QuantizedLaw) -> None:
    """P(Lambda = j/q) by width on logarithmic axes, infinity beyond q."""
    widths = np.flatnonzero(law.probabilities)
    probabilities = law.probabilities[widths]
    everything = np.append(probabilities, law.infinite)
    floor = everything[everything > 0].min() / 3
    axes.set(xscale="log", yscale="log", title=f"law of Λ on the levels 0…{law.q}")
    beyond = law.q * (law.q + 1) ** 0.18
    # The limits come first: a law at infinity alone has no extent that matplotlib could find limits for.
    axes.set(xlabel="width Λ, in levels", ylabel="probability", xlim=(0.8, beyond * 1.35), ylim=(floor, 3))
    if len(widths) <= 300:
        axes.vlines(widths, floor, probabilities, color=GREEN, lw=0.8, alpha=0.6)
    axes.plot(widths, probabilities, "o", color=GREEN, ms=3.5 if len(widths) <= 300 else 1)
    if law.infinite > 0:
        axes.vlines([beyond], floor, law.infinite, color=ORANGE, lw=2.5)
        axes.plot([beyond], [law.infinite], "o", color=ORANGE, ms=6)
        _label(axes, beyond, law.infinite, left=True)
    axes.axvline((beyond * law.q) ** 0.5, color="grey", lw=0.8, ls=":")
    base = 2 if law.q < 50 else 10
    ticks = [base**n for n in range(6) if 2 * base**n <= law.q]
    axes.set_xticks([*ticks, law.q, beyond], [*map(str, ticks), str(law.q), "∞"])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.25, axis="y")


def _draw_allocation(axes: Any, profile: Profile, q: int, budget: int) -> None:
    """N(k)/B under g, and below it the gap between the two with its maximum eps."""
    from ecm.allocation import allocate

    found = allocate(profile, budget, q, method="exact" if q <= _EXACT_UP_TO else "slopes")
    g, split, z = profile.values(q), found.N / budget, np.arange(q + 1) / q
    axes.set_title(f"allocation of B = {budget}, eps = {found.eps:.4g}")
    axes.set_axis_off()
    upper = axes.inset_axes([0, 0.42, 1, 0.58])
    lower = axes.inset_axes([0, 0, 1, 0.34], sharex=upper)
    dots = "." if q <= 64 else ""
    upper.plot(z, g, color=BLUE, lw=2, marker=dots, label="g(k/q)")
    upper.plot(z, split, color=PURPLE, lw=1.4, marker=dots, label=f"N(k)/B, {found.method}")
    upper.set(ylabel="probability", ylim=(-0.03 * max(g[-1], 1e-9), 1.06 * max(g[-1], 1e-9)))
    upper.tick_params(labelbottom=False)
    upper.legend(loc="lower right", **_LEGEND)
    lower.set(ylabel="gap", xlabel="distance k/q", xlim=(-0.02, 1.02))
    if found.eps > 0:
        lower.fill_between(z, g - split, color=PURPLE, alpha=0.45, lw=0)
        lower.axhline(found.eps, color="black", lw=0.9, ls="--")
        lower.plot([found.worst / q], [found.eps], "v", color="black", ms=5)
        lower.set_ylim(0, found.eps * 1.25)
    else:
        lower.set(yticks=[])
        lower.text(0.5, 0.5, "none", ha="center", va="center", transform=lower.transAxes)
    for part in (upper, lower):
        part.grid(alpha=0.25)


def _label(axes: Any, x: float, mass: float, *, left: bool) -> None:
    """The mass beside the head of a stem, readable over whatever lies behind; that of a short one above the curve."""
    up = 3 if mass > 0.15 else 15
    side = {"xytext": (-8, up), "ha": "right"} if left else {"xytext": (8, up), "ha": "left"}
    behind = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
    axes.annotate(f"{mass:.3g}", (x, mass), textcoords="offset points", color=ORANGE, bbox=behind, **side)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
