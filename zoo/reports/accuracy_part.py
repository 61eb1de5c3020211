"""The part of the report about accuracy and radii: its tiles, its table, its curves and its histogram."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.certification import (
    METHOD_COLORS,
    METHOD_NAMES,
    Certification,
    certified_curve,
    furthest,
    histogram,
    radius_histogram,
    steps,
)
from zoo.reports.display import down, pictures, svg_address
from zoo.reports.gallery import cut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS, _MOST_STOPS = 200, 400


def tiles(found: Certification) -> dict[str, Any]:
    """Return the numbers at the head of the page."""
    middle = found.radii[len(found.radii) // 3]
    radii = [r if row.correct else 0.0 for r, row in zip(found.all_radii[found.certificate], found.rows, strict=True)]
    return {
        "smoothed": found.smoothed_accuracy,
        "interval": found.smoothed_accuracy.interval(),
        "middle": f"{float(middle):g}",
        "certified": found.certified_accuracy(middle),
        "median": median_low([0.0 if math.isnan(r) else r for r in radii]),
    }


def accuracy_table(found: Certification) -> dict[str, Any]:
    """Return the certified accuracy of every method at the radii of the run, with the gain of the chosen one."""
    by_method = {method: [found.certified_accuracy(r, method) for r in found.radii] for method in found.methods}
    weakest, chosen = by_method[found.methods[0]], by_method[found.certificate]
    return {
        "radii": [f"{float(r):g}" for r in found.radii],
        "chosen": METHOD_NAMES[found.certificate],
        "weakest": METHOD_NAMES[found.methods[0]],
        "lines": [
            {
                "name": METHOD_NAMES[method],
                "term": method,
                "color": METHOD_COLORS[method],
                "best": method == found.certificate,
                "cells": [f"{100 * accuracy.share:.1f}" for accuracy in accuracies],
            }
            for method, accuracies in by_method.items()
        ],
        "gains": [f"{100 * (new.share - old.share):+.1f}" for new, old in zip(chosen, weakest, strict=True)],
        "intervals": ["–".join(f"{100 * end:.0f}" for end in accuracy.interval()) for accuracy in chosen],
    }


def accuracy_curve(found: Certification) -> dict[str, Any]:
    """Return the curves of all methods, with the radii of the slider and the numbers behind them."""
    radii = [steps(found, method)[0] for method in found.methods]
    most = max(map(len, radii))  # a stronger method may certify images that a weaker one does not certify at all
    certified = most - np.unique(np.linspace(0, max(0, most - 1), min(_MOST_ROWS, most)).astype(int))
    rows = [
        [f"{100 * count / found.images:.2f}", *(down(one[-count]) if count <= len(one) else "" for one in radii)]
        for count in certified.tolist()
    ]
    wide, narrow = certified_curve(found), certified_curve(found, narrow=True)
    return {
        "src": svg_address(wide),
        "narrow": svg_address(narrow),
        "head": ["certified accuracy (%)", *(f"up to radius, {METHOD_NAMES[method]}" for method in found.methods)],
        "rows": rows,
        "axis": {"wide": _axis(wide), "narrow": _axis(narrow)},
        **_slider(found),
    }


def _axis(figure: Figure) -> tuple[str, str]:
    """Return where the horizontal axis of a drawn figure begins and ends, in percent of the picture's width."""
    box = figure.axes[0].get_position()
    return f"{100 * box.x0:.2f}", f"{100 * box.x1:.2f}"


def _slider(found: Certification) -> dict[str, Any]:
    """Return the stops of the slider, k * step for k = 0..stops, and what the script counts at each: radii of right
    images.

    Radii are cut to as many digits as the stops have, so that comparing them decides as the uncut ones would.
    """
    end = furthest(*((found, method) for method in found.methods))
    unit = Fraction(10) ** math.floor(math.log10(end / _MOST_STOPS))
    step = next(size for size in (unit, 2 * unit, 5 * unit, 10 * unit) if end / size <= _MOST_STOPS)
    if counts(found):  # features and pixels are whole
        step = max(Fraction(1), step)
    return {
        "end": repr(end),
        "step": repr(float(step)),
        "stops": int(end / step),
        "start": 0,  # no image is faded before the reader moves it
        "radii": json.dumps({method: [cut(r) for r in steps(found, method)[0]] for method in found.methods}),
    }


def counts(found: Certification) -> bool:
    """Return whether a radius of the run is a number of features or pixels."""
    return found.unit.power is not None and found.unit.power[0] == 0


def spread(found: Certification) -> dict[str, Any]:
    """Return the histogram of the radii, and how many predictions are right, wrong, and without a certificate."""
    rows = histogram(found)
    return {
        **pictures(lambda narrow: radius_histogram(found, narrow=narrow)),
        "right": sum(row[2] for row in rows),
        "wrong": sum(row[3] for row in rows),
        "none": sum(row.balls[found.certificate].radius is None for row in found.rows),
        "head": ["from", "to", "right", "wrong"],
        "rows": [[f"{a:.4g}", f"{b:.4g}", r, w] for a, b, r, w in rows],
    }
