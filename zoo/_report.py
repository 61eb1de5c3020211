"""One HTML page a run, complete in itself: pictures inline, no script, no font, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import decimal
import io
import os
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from zoo._card import describe
from zoo._certification import Certification, Row
from zoo._certify import ABOUT, read_about, read_certification
from zoo._checkpoint import write_atomically
from zoo._curves import (
    INK,
    METHOD_NAMES,
    certified_curve,
    design_figure,
    histogram,
    law_figure,
    png,
    radius_histogram,
    steps,
    svg,
)
from zoo._data import DATASETS, Dataset, load_data
from zoo._errors import DataError, ModelError
from zoo._load import find_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE, FIGURES = "report.html", "figures"
_GALLERY, _MOST_ROWS, _LONG = 24, 200, 100


def report(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    root: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the report of a certified run and its figures; returns the page's path (default: in the run's folder).

    `run` is the folder of the run (or a model's name). The gallery needs the images: they are found by the data set's
    name under `root`, or given as `data`, and are used only if they are those that were certified.
    """
    folder = Path(run) if (Path(run) / ABOUT).exists() else find_model(run)
    about, found = read_about(folder), read_certification(folder)
    if not found.rows:
        raise ModelError(f"{folder} holds no finished image yet: run `ecm certify {folder}` first")
    page = Path(out) if out is not None else folder / PAGE
    figures = page.parent / FIGURES
    try:
        figures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{figures} cannot be made: {error.strerror}; choose another place for the report") from error
    for name, figure in (("certified", certified_curve(found)), ("radii", radius_histogram(found))):
        write_atomically(figures / f"{name}.svg", svg(figure).encode())
        write_atomically(figures / f"{name}.png", png(figure))
    images = _images(about, data, root)
    write_atomically(page, render(found, about, images).encode())
    return page


def render(found: Certification, about: dict[str, Any], images: Dataset | str) -> str:
    """The page's text. `images` is the data set, or a sentence that says why there is no gallery."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["pretty"] = _pretty
    description = describe(found.scheme)
    return environment.get_template("_report.html").render(
        title=f"Certified robustness of {found.model}",
        lead=_lead(found),
        tiles=_tiles(found),
        images=found.images,
        unit=found.unit.name,
        table=_table(found),
        curve=_curve(found),
        spread=_spread(found),
        budget=f"B = {found.scheme.total}",
        levels=found.scheme.q + 1,
        components=[_component(found, description, i) for i in range(len(description["law"]))],
        facts=_facts(found, about, description),
        meaning=_meaning(found, about),
        version=version("ecm"),
        **_gallery(found, images),
    )


# ---- the parts of the page -----------------------------------------------------------------------------------------


def _lead(found: Certification) -> str:
    which = "all" if found.images == found.split_size else f"{found.images} of the"
    return (
        f"{which.capitalize()} {found.split_size} test images of {found.data}, {found.scheme.samples} votes each, "
        f"certified deterministically in the metric d(x, y) = Σ g(|x − y|) with g(z) = {_short(found.scheme.metric)}."
    )


def _tiles(found: Certification) -> list[dict[str, str]]:
    smoothed = found.smoothed_accuracy
    low, high = smoothed.interval()
    middle = found.radii[len(found.radii) // 3]
    certified = found.certified_accuracy(middle)
    radii = np.array([found.radius_of(row) if row.correct else 0.0 for row in found.rows])
    median = float(np.median(np.nan_to_num(radii)))
    return [
        {"name": "base accuracy", "value": _percent(found.base_accuracy), "note": "of all single votes are right"},
        {
            "name": "smoothed accuracy",
            "value": _percent(smoothed.share),
            "note": f"{smoothed.correct} of {smoothed.images} images; 95% interval {_percent(low)} to {_percent(high)}",
        },
        {
            "name": f"certified at {float(middle):g}",
            "value": _percent(certified.share),
            "note": f"right at every point {_within(found, float(middle))}",
        },
        {
            "name": "median radius",
            "value": down(median, 3),
            "note": f"{found.unit.name}; a wrong prediction counts as 0",
        },
        {"name": "votes an image", "value": f"{found.scheme.samples}", "note": "forward passes of the network"},
    ]


def _table(found: Certification) -> dict[str, Any]:
    return {
        "radii": [f"{float(r):g}" for r in found.radii],
        "chosen": METHOD_NAMES[found.certificate],
        "lines": [
            {
                "name": METHOD_NAMES[method],
                "best": method == found.certificate,
                "cells": [f"{100 * found.certified_accuracy(r, method).share:.1f}" for r in found.radii],
            }
            for method in found.methods
        ],
        "intervals": [
            "–".join(f"{100 * end:.0f}" for end in found.certified_accuracy(r).interval()) for r in found.radii
        ],
    }


def _curve(found: Certification) -> dict[str, Any]:
    curves = [steps(found, method) for method in found.methods]
    count = len(curves[0][0])
    kept = np.unique(np.linspace(0, max(0, count - 1), min(_MOST_ROWS, count)).astype(int))
    rows = [
        [f"{100 * curves[0][1][k]:.2f}", *(down(radii[k]) if k < len(radii) else "" for radii, _ in curves)]
        for k in kept
    ]
    shares = ", ".join(f"{100 * found.certified_accuracy(r).share:.0f}% at {float(r):g}" for r in found.radii)
    return {
        "src": _uri(certified_curve(found)),
        "alt": f"Curve of the certified accuracy by {found.unit.name}, {METHOD_NAMES[found.certificate]}: {shares}.",
        "head": ["certified accuracy (%)", *(f"up to radius, {METHOD_NAMES[method]}" for method in found.methods)],
        "rows": rows,
    }


def _spread(found: Certification) -> dict[str, Any]:
    rows = histogram(found)
    none = sum(row.balls[found.certificate].radius is None for row in found.rows)
    right, wrong = sum(row[2] for row in rows), sum(row[3] for row in rows)
    text = f"{right} images are right and {wrong} are wrong with a certificate (a wrong prediction is certified too)."
    if none:
        text += f" Without any certificate: {none}; their votes are too close, the unsure ones counted against them."
    return {
        "src": _uri(radius_histogram(found)),
        "alt": f"Histogram of the certified radii ({found.unit.name}) of {right + wrong} images.",
        "text": text,
        "head": ["from", "to", "right", "wrong"],
        "rows": [[f"{a:.4g}", f"{b:.4g}", r, w] for a, b, r, w in rows],
    }


def _component(found: Certification, description: dict[str, Any], i: int) -> dict[str, Any]:
    scheme, law = found.scheme, description["law"][i]
    design, outcomes, profile = scheme.design, scheme.design.outcomes[i], scheme.metric.components[i]
    g, pairs = profile.values(scheme.q), np.arange(scheme.q + 1, 0, -1)
    groups = [a for a, component in enumerate(scheme.metric.groups) if component == i]
    budget = design.budget
    worst = float((g - outcomes.least / budget).max())
    return {
        "g": _short(law["g"]),
        "source": _short(scheme.metric[i]),
        "formula": formula(rf"g(z) = {profile.latex()}") if len(law["g"]) <= _LONG else None,
        "zero": profile.is_zero,
        "where": f"index {', '.join(map(str, groups))} of the first axis" if groups else "",
        "proof": law["proof"],
        "law": {
            "src": _uri(law_figure([(name, share) for name, share in law["widths"]])),
            "alt": "Bars of the probability of each bin width: "
            + ", ".join(f"{name}: {share:.3g}" for name, share in law["widths"]),
            "rows": [[name, f"{share:.6g}"] for name, share in law["widths"]],
        },
        "design": {
            "src": _uri(design_figure(design, i)),
            "alt": "Left: g and the share of outcomes that separate two values, by distance. Right: the gap between "
            f"them, at most {worst:.4g}.",
            "text": f"Left: g against the {design.kind} design of {outcomes.finite} outcomes with dividers and "
            f"{outcomes.infinite} without. Right: what is lost (metric distance), at most {worst:.4g}.",
            "rows": [
                [
                    f"{k}/{scheme.q}",
                    f"{g[k]:.5f}",
                    f"{outcomes.least[k] / budget:.5f}",
                    f"{outcomes.total[k] / pairs[k] / budget:.5f}",
                    f"{outcomes.most[k] / budget:.5f}",
                    f"{g[k] - outcomes.least[k] / budget:.5f}",
                ]
                for k in range(1, scheme.q + 1)
            ],
        },
    }


def _facts(found: Certification, about: dict[str, Any], description: dict[str, Any]) -> list[dict[str, Any]]:
    card = about["card"]
    scheme = found.scheme
    return [
        {
            "name": "Noise",
            "rows": [
                ("design", f"{scheme.design.kind}, B = {scheme.total}, q = {scheme.q}"),
                ("coupling", f"{scheme.coupling}, {scheme.order} order, seed {scheme.seed}"),
                ("representation", scheme.representation),
                ("scheme fingerprint", scheme.fingerprint),
            ],
        },
        {
            "name": "Network and training",
            "rows": [("network", card["model"]["name"]), *_flat(card.get("training", {}))],
        },
        {
            "name": "Data",
            "rows": [
                ("data set", f"{card['data']['name']} (trained on), {found.data} (certified)"),
                ("digest of the data", card["data"]["digest"]),
                ("digest of the test images", about["data"]["test_digest"]),
                *_flat(card["data"].get("source", {})),
            ],
        },
        {
            "name": "Versions and files",
            "rows": [
                *_flat(card.get("versions", {})),
                ("sha256 of the weights", about["weights"]),
                ("tolerance of a vote", f"{about['tolerance']:g} (difference of the two best logits)"),
                ("unsure votes", sum(row.unsure for row in found.rows)),
            ],
        },
    ]


def _meaning(found: Certification, about: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (
            "base accuracy",
            "the share of single votes (one evaluation of the network each) that are right",
        ),
        ("smoothed accuracy", "the share of images whose most frequent vote is right"),
        (
            "certified accuracy",
            "the share of images whose most frequent vote is right at the image and at every point within the radius",
        ),
        ("radius", f"{found.unit.name}; rounded down where it is printed, decided exactly where it is counted"),
        ("paper's formula", "Levine and Feizi (2022): half the margin of the votes over B, a closed ball"),
        ("integer", "the number of votes that can change is an integer: an open ball, never smaller"),
        (
            "vote-aware",
            "prices every change by the votes that it can touch: an open ball, never smaller",
        ),
        (
            "assumption",
            "the network is a function of what it is shown. Two evaluations may differ in the last bits; a vote whose "
            f"best two logits are within {about['tolerance']:g} is unsure and counts against the prediction.",
        ),
    ]


# ---- images ----------------------------------------------------------------------------------------------------------


def _images(about: dict[str, Any], data: Any, root: str | os.PathLike[str] | None) -> Dataset | str:
    """The data set whose test images were certified, or why it cannot be shown."""
    name = about["data"]["name"]
    if data is None and name not in DATASETS:
        return f"The images of {name!r} are not known by name; pass the data to the report to see them here."
    try:
        loaded = load_data(name if data is None else data, root)
    except DataError as error:
        if data is not None:
            raise
        return f"The images could not be read here: {error}"
    if loaded.test.digest != about["data"]["test_digest"]:
        if data is not None:
            raise DataError(f"{loaded.name}: these are not the test images that were certified (another digest)")
        return f"The {name} found here has other test images than those that were certified."
    if len(loaded.shape) != 3 or loaded.shape[0] not in (1, 3):
        return f"Inputs of shape {loaded.shape} are not pictures."
    return loaded


def _gallery(found: Certification, images: Dataset | str) -> dict[str, Any]:
    empty: dict[str, Any] = {"gallery": [], "gallery_head": [], "gallery_rows": [], "seen": [], "seen_text": ""}
    if isinstance(images, str):
        return empty | {"gallery_text": images}
    rows = chosen_rows(found)
    names = images.class_names
    items, table = [], []
    for row, levels in zip(rows, images.test.take([row.idx for row in rows]).cpu().numpy(), strict=True):
        radius = found.radius_of(row)
        text = names[row.label] if row.correct else f"{names[row.label]}, taken for {names[row.predict]}"
        shown = "no certificate" if np.isnan(radius) else "no limit" if np.isinf(radius) else down(radius, 3)
        items.append(
            {
                "src": picture(levels, images.q),
                "alt": f"Test image {row.idx}: {text}; certified radius: {shown}",
                "radius": shown,
                "text": text,
                "correct": row.correct,
            }
        )
        radii = [down(found.radius_of(row, method)) for method in found.methods]
        share = f"{100 * row.hits / found.scheme.total:.1f}"
        table.append([row.idx, names[row.label], names[row.predict], share, row.unsure, *radii])
    text = (
        f"{len(items)} images, evenly spaced from the smallest to the largest {found.unit.name} (the number below). "
        "A solid frame: predicted right. A dashed frame: wrong, and certified to stay wrong within that radius."
    )
    head = ["image", "class", "predicted", "right votes (%)", "unsure", *(METHOD_NAMES[m] for m in found.methods)]
    middle = rows[len(rows) // 2]
    return {
        "gallery": items,
        "gallery_text": text,
        "gallery_head": head,
        "gallery_rows": table,
        "seen": _seen(found, images, middle),
        "seen_text": f"Test image {middle.idx}, then what is left of it at four of the {found.scheme.samples} samples: "
        "the lower and the upper end of the bin that holds each value. A pixel without a divider is black in the "
        "lower picture and white in the upper one.",
    }


def chosen_rows(found: Certification, count: int = _GALLERY) -> list[Row]:
    """Rows evenly spaced by radius, smallest first (those without a certificate before all)."""
    ranked = sorted(found.rows, key=lambda row: (np.nan_to_num(found.radius_of(row), nan=-1.0), row.idx))
    places = np.unique(np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int))
    return [ranked[k] for k in places]


def _seen(found: Certification, images: Dataset, row: Row) -> list[dict[str, Any]]:
    import torch

    from smoothing import Noise

    scheme, levels = found.scheme, images.test.take([row.idx]).cpu()
    original = (picture(levels[0].numpy(), images.q), f"Test image {row.idx} as it is")
    items: list[dict[str, Any]] = [{"pictures": [original], "text": "as it is"}]
    samples = torch.linspace(0, scheme.samples - 1, 4).round().long()
    lower, upper = Noise(scheme).bounds(levels, samples)
    for k, t in enumerate(samples.tolist()):
        pair = [
            (
                picture(ends[0, k].reshape(scheme.shape).cpu().numpy(), 2 * images.q),
                f"Sample {t}: {name} ends of the bins of test image {row.idx}",
            )
            for name, ends in (("lower", lower), ("upper", upper))
        ]
        items.append({"pictures": pair, "text": f"sample {t}: lower, upper"})
    return items


def picture(levels: NDArray[Any], q: int) -> str:
    """Levels (C, H, W), C = 1 or 3, as a PNG in a data address."""
    from PIL import Image

    pixels = np.round(levels.astype(np.float64) * (255 / q)).astype(np.uint8)
    out = io.BytesIO()
    (Image.fromarray(pixels[0]) if len(pixels) == 1 else Image.fromarray(np.moveaxis(pixels, 0, -1))).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def formula(latex: str) -> str | None:
    """The formula drawn as SVG in a data address; None if it needs more LaTeX than matplotlib's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.1, 0.1), facecolor="none")
    figure.text(0, 0, f"${latex}$", fontsize=16, color=INK)
    try:
        return _uri(figure, tight=True)
    except ValueError:
        return None


def _uri(figure: Figure, *, tight: bool = False) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg(figure, tight=tight).encode()).decode()


def _pretty(text: object) -> Markup:
    """Escaped, with l_p as one writes it."""
    return Markup(re.sub(r"\bl_(\d+(?:/\d+)?)", r"ℓ<sub>\1</sub>", str(escape(text))))


def down(radius: float, digits: int = 4) -> str:
    """A radius in so many digits, rounded down: what is printed is certified.

    >>> down(0.29999), down(float("nan"))
    ('0.2999', 'nan')
    """
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_DOWN)
    return f"{float(context.create_decimal_from_float(radius)):.{digits}g}"


def _short(text: object) -> str:
    """A formula as it is, a long table by its length."""
    words = str(text)
    if len(words) <= _LONG:
        return words
    return f"a table of {words.count(',') + 1} values" if words.startswith("[") else f"{words[:_LONG]}…"


def _within(found: Certification, radius: float) -> str:
    counted = found.unit.power is not None and found.unit.power[0] == 0
    return f"with at most {radius:g} {found.unit.name}" if counted else f"within {found.unit.name} {radius:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _flat(values: dict[str, Any]) -> Sequence[tuple[str, Any]]:
    return [(name.replace("_", " "), value) for name, value in values.items()]
