"""How eps falls with the budget, for both kinds of design and the bound below all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from ecm.design.budget import default_budget, worst_found
from ecm.design.lower_bound import least_gap
from ecm.design.search import Effort

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecm.elementwise import ECM


@attrs.frozen
class FrontierPoint:
    """eps_max at one budget: of the aperiodic design found, of the best periodic one, and a bound below all designs."""

    budget: int
    aperiodic: float
    periodic: float
    bound: float


def frontier(
    metric: ECM, budgets: Iterable[int], q: int = 255, *, seed: int = 0, effort: Effort = "fast"
) -> tuple[FrontierPoint, ...]:
    """Return eps_max against B, in the order given, for both kinds of design and the propagation bound.

    >>> from ecm import ECM
    >>> point, = frontier(ECM.from_expr("z**0.5"), [20], q=16)
    >>> point.bound <= point.aperiodic < point.periodic
    True
    """
    points = []
    for budget in budgets:
        parts = list(zip(metric.components, metric.floors(budget, q), strict=True))
        bound = max(least_gap(caps, budget * profile.values(q)) for profile, caps in parts)
        periodic = max(metric[i].allocate(budget, q).eps for i in range(len(parts)))
        found = worst_found(metric, budget, q, seed, effort)
        points.append(FrontierPoint(budget, found / budget, periodic, bound / budget))
    return tuple(points)


def plot_frontier(metric: ECM, budgets: Iterable[int] | None = None, q: int = 255, **options: Any) -> Figure:
    """Return the frontier as a figure: eps_max of both kinds and the lower bound against B, both axes logarithmic.

    Without budgets: about ten, from an eighth of the default budget to eight times it. `options` go to `frontier`.

    >>> from ecm import ECM
    >>> plot_frontier(ECM.from_expr("z**0.5"), [8, 16], q=16).axes[0].get_xlabel()
    'budget B (forward passes a certificate)'
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

    if budgets is None:
        middle = default_budget(metric, q)
        budgets = sorted({max(1, round(middle * 2.0**e)) for e in np.arange(-3, 3.1, 2 / 3)})
    points = frontier(metric, budgets, q, **options)
    figure = Figure(figsize=(6.4, 4.4), dpi=120, layout="constrained")
    axes = figure.subplots()
    x = [p.budget for p in points]
    curves = (
        ("periodic, optimal", "#D55E00", "s-", [p.periodic for p in points]),
        ("aperiodic, found", "#0072B2", "o-", [p.aperiodic for p in points]),
        ("lower bound for any design", "#555555", "--", [p.bound for p in points]),
    )
    for label, colour, style, y in curves:
        axes.plot(x, [v if v > 0 else np.nan for v in y], style, color=colour, label=label, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axes.set_xlabel("budget B (forward passes a certificate)")
    axes.set_ylabel("eps_max = max (g - c/B)")
    texts = ", ".join(p.text for p in metric.components)
    axes.set_title(f"g = {texts if len(texts) < 60 else texts[:57] + '...'}, q = {q}")
    axes.grid(which="both", alpha=0.25)
    axes.legend()
    return figure
