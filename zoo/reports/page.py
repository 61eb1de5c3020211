"""One HTML page a run, complete in itself: pictures inline, no font, nothing loaded from anywhere.

The page reads without its script, which only moves a radius along the curve. The policy in the page names the script by
its hash: what a class or a run may be called cannot run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from zoo.certification import (
    INK,
    METHOD_COLORS,
    METHOD_NAMES,
    Certification,
    certified_curve,
    design_figure,
    find_run,
    furthest,
    histogram,
    law_figure,
    png,
    radius_histogram,
    read_about,
    read_certification,
    steps,
    svg,
)
from zoo.data import Dataset
from zoo.errors import ModelError
from zoo.files import write_atomically
from zoo.folder import FIGURES, PAGE
from zoo.models import PRETRAINED, RUNS, describe
from zoo.reports.attack_part import attack_of, attack_section
from zoo.reports.display import down, pretty
from zoo.reports.gallery import cut, gallery, images_of
from zoo.reports.statement import spec_of
from zoo.reports.table_rows import table_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zoo.attacks import Attack
    from zoo.models import Model

_MOST_ROWS, _LONG, _MOST_STOPS = 200, 100, 400


def report(
    run: Certification | Model | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    root: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the report of a certified run and its figures to the path `out`, and return it (default: in the run's
    folder, for a model of the package in `runs/<name>`).

    `run` is the folder of the run, a model or its name, or what `certify` gave. The gallery needs the images: they are
    found by the data set's name under `root`, or given as `data`, and are used only if they are those certified.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     page = report("digits-l0.5-a4", f"{out}/page.html")
    ...     "Certified robustness of digits-l0.5-a4" in page.read_text()
    True
    """
    folder = find_run(run)
    about, found = read_about(folder), read_certification(folder)
    if not found.rows:
        raise ModelError(f"{folder} holds no finished {found.things[:-1]} yet: run `ecm certify {folder}` first")
    page = Path(out) if out is not None else (RUNS / folder.name if folder.parent == PRETRAINED else folder) / PAGE
    figures = page.parent / FIGURES
    try:
        figures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{figures} cannot be made: {error.strerror}; choose another place for the report") from error
    for name, figure in (("certified", certified_curve(found)), ("radii", radius_histogram(found))):
        write_atomically(figures / f"{name}.svg", svg(figure).encode())
        write_atomically(figures / f"{name}.png", png(figure))
    images = images_of(about, data, root)
    write_atomically(page, render(found, about, images, attack_of(folder, about)).encode())
    return page


def render(found: Certification, about: dict[str, Any], images: Dataset | str, attacked: Attack | None = None) -> str:
    """Return the page's text. `images` is the data set, or a sentence that says why there is no gallery."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["pretty"] = pretty
    description, spec = describe(found.scheme), spec_of(about)
    names = () if spec is None else spec.names
    script = (Path(__file__).parent / "page.js").read_text()
    return environment.get_template("page.html").render(
        title=f"Certified robustness of {found.model}",
        lead=_lead(found),
        tiles=_tiles(found),
        images=found.images,
        unit=found.unit.name,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        table=_table(found),
        curve=_curve(found),
        spread=_spread(found),
        budget=f"B = {found.scheme.total}",
        levels=found.scheme.q + 1,
        components=[_component(found, description, i, names) for i in range(len(description["law"]))],
        facts=_facts(found, about),
        fingerprints=_fingerprints(found, about),
        meaning=_meaning(found, about),
        version=version("ecm"),
        things=found.things,
        **table_rows(found, about, images),
        attack=attack_section(attacked, images),
        **gallery(found, images),
    )


# ---- the parts of the page -----------------------------------------------------------------------------------------


def _lead(found: Certification) -> str:
    which = "all" if found.images == found.split_size else f"{found.images} of the"
    return (
        f"{which.capitalize()} {found.split_size} test {found.things} of {found.data}, {found.scheme.samples} votes "
        "each, certified deterministically in the metric d(x, y) = Σ g(|x − y|) with "
        f"g(z) = {_short(found.scheme.metric)}."
    )


def _tiles(found: Certification) -> list[dict[str, str]]:
    smoothed = found.smoothed_accuracy
    low, high = smoothed.interval()
    middle = found.radii[len(found.radii) // 3]
    certified = found.certified_accuracy(middle)
    radii = [r if row.correct else 0.0 for r, row in zip(found.all_radii[found.certificate], found.rows, strict=True)]
    median = median_low([0.0 if math.isnan(r) else r for r in radii])
    return [
        {
            "name": "base accuracy",
            "term": "base",
            "value": _percent(found.base_accuracy),
            "note": "of all single votes are right",
        },
        {
            "name": "smoothed accuracy",
            "term": "smoothed",
            "value": _percent(smoothed.share),
            "note": f"{smoothed.correct} of {smoothed.images} {found.things}; "
            f"95% interval {_percent(low)} to {_percent(high)}",
        },
        {
            "name": f"certified at {float(middle):g}",
            "term": "certified",
            "value": _percent(certified.share),
            "note": f"right at every point {_within(found, float(middle))}",
        },
        {
            "name": "median radius",
            "term": "radius",
            "value": down(median, 3),
            "note": f"{found.unit.name}; a wrong prediction and a missing certificate count as 0",
        },
        {
            "name": f"votes per {found.things[:-1]}",
            "term": "",
            "value": f"{found.scheme.samples}",
            "note": "forward passes of the network",
        },
    ]


def _table(found: Certification) -> dict[str, Any]:
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


def _curve(found: Certification) -> dict[str, Any]:
    radii = [steps(found, method)[0] for method in found.methods]
    most = max(map(len, radii))  # a stronger method may certify images that a weaker one does not certify at all
    certified = most - np.unique(np.linspace(0, max(0, most - 1), min(_MOST_ROWS, most)).astype(int))
    rows = [
        [f"{100 * count / found.images:.2f}", *(down(one[-count]) if count <= len(one) else "" for one in radii)]
        for count in certified.tolist()
    ]
    wide, narrow = certified_curve(found), certified_curve(found, narrow=True)
    return {
        "src": _uri(wide),
        "narrow": _uri(narrow),
        "alt": f"Curves of the certified accuracy by {found.unit.name}; the table below has their values.",
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
    if found.unit.power is not None and found.unit.power[0] == 0:  # features and pixels are whole
        step = max(Fraction(1), step)
    return {
        "end": repr(end),
        "step": repr(float(step)),
        "stops": int(end / step),
        "start": 0,  # no image is faded before the reader moves it
        "radii": json.dumps({method: [cut(r) for r in steps(found, method)[0]] for method in found.methods}),
    }


def _spread(found: Certification) -> dict[str, Any]:
    rows = histogram(found)
    none = sum(row.balls[found.certificate].radius is None for row in found.rows)
    right, wrong = sum(row[2] for row in rows), sum(row[3] for row in rows)
    text = (
        f"{right} {found.things} are right and {wrong} are wrong with a certificate "
        "(a wrong prediction is certified too)."
    )
    if none:
        text += f" Without any certificate: {none}; their votes are too close, the unsure ones counted against them."
    return {
        **_pictures(lambda narrow: radius_histogram(found, narrow=narrow)),
        "alt": f"Histogram of the certified radii ({found.unit.name}) of {right + wrong} {found.things}.",
        "text": text,
        "head": ["from", "to", "right", "wrong"],
        "rows": [[f"{a:.4g}", f"{b:.4g}", r, w] for a, b, r, w in rows],
    }


def _component(
    found: Certification, description: dict[str, Any], i: int, names: tuple[str, ...] = ()
) -> dict[str, Any]:
    scheme, law = found.scheme, description["law"][i]
    design, outcomes, profile = scheme.design, scheme.design.outcomes[i], scheme.metric.components[i]
    g, pairs = profile.values(scheme.q), np.arange(scheme.q + 1, 0, -1)
    groups = [a for a, component in enumerate(scheme.metric.groups) if component == i]
    where = f"index {', '.join(map(str, groups))} of the first axis" if groups else ""
    if groups and names:
        where = "columns " * (len(groups) > 1) + ", ".join(names[a] for a in groups)
    budget = design.budget
    worst = float((g - outcomes.least / budget).max())
    return {
        "g": _short(law["g"]),
        "source": _short(scheme.metric[i]),
        "formula": formula(rf"g(z) = {profile.latex()}") if len(law["g"]) <= _LONG else None,
        "zero": profile.is_zero,
        "where": where,
        "proof": law["proof"],
        "law": {
            **_pictures(lambda narrow: law_figure([(name, share) for name, share in law["widths"]], narrow=narrow)),
            "alt": "Bars of the probability of each bin width: "
            + ", ".join(f"{name}: {share:.3g}" for name, share in law["widths"]),
            "rows": [[name, f"{share:.6g}"] for name, share in law["widths"]],
        },
        "design": {
            **_pictures(lambda narrow: design_figure(design, i, narrow=narrow)),
            "alt": "First: g and the share of outcomes that separate two values, by distance. Second: the gap between "
            f"them, at most {worst:.4g}.",
            "text": f"First: g against the {design.kind} design of {outcomes.finite} outcomes with dividers and "
            f"{outcomes.infinite} without. Second: what is lost (metric distance), at most {worst:.4g}.",
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


def _facts(found: Certification, about: dict[str, Any]) -> list[dict[str, Any]]:
    card = about["card"]
    scheme = found.scheme
    return [
        {
            "name": "Noise",
            "rows": [
                ("design", f"{scheme.design.kind}, B = {scheme.total}, q = {scheme.q}"),
                ("coupling", f"{scheme.coupling}, {scheme.order} order, seed {scheme.seed}"),
                ("representation", scheme.representation),
            ],
        },
        {
            "name": "Network and training",
            "rows": [("network", card["model"]["name"]), *_readable(card.get("training", {}))],
        },
        {
            "name": "Data",
            "rows": [
                ("trained on", card["data"]["name"]),
                ("certified", f"{found.images} of {found.split_size} test {found.things} of {found.data}"),
                *_readable(card["data"].get("source", {})),
            ],
        },
        {
            "name": "Votes and versions",
            "rows": [
                ("rule", "run-off" if found.rule == "runoff" else "plurality"),
                ("tolerance of a vote", f"{about['tolerance']:g} (difference of the two best logits)"),
                ("unsure votes", sum(row.unsure for row in found.rows)),
                *_readable(card.get("versions", {})),
            ],
        },
    ]


def _fingerprints(found: Certification, about: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the sha256 that fix the run: another one means another scheme, other weights or other data."""
    data = about["card"]["data"]
    return [
        ("scheme", found.scheme.fingerprint),
        ("weights", about["weights"]),
        ("data", data["digest"]),
        (f"test {found.things}", about["data"]["test_digest"]),
        *(
            (name, text)
            for part in (data.get("source", {}), about["card"].get("training", {}))
            for name, text in _flat(part)
            if _is_digest(text)
        ),
    ]


def _readable(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return all but the digests, which stand together."""
    return [(name, text) for name, text in _flat(values) if not _is_digest(text)]


def _is_digest(text: object) -> bool:
    return re.fullmatch(r"[0-9a-f]{32,}", str(text)) is not None


def _meaning(found: Certification, about: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (key, name, text): explained where the name stands in the page, and all together at its end."""
    wins = "class by the run-off" if found.rule == "runoff" else "most frequent vote"
    every = [
        ("base", "base accuracy", "the share of single votes (one evaluation of the network each) that are right"),
        ("smoothed", "smoothed accuracy", f"the share of {found.things} whose {wins} is right"),
        (
            "certified",
            "certified accuracy",
            f"the share of {found.things} whose {wins} is right at the {found.things[:-1]} itself and at every point "
            "within the radius",
        ),
        ("radius", "radius", f"{found.unit.name}; rounded down where it is printed, decided exactly where it counts"),
        ("paper", METHOD_NAMES["paper"], "Levine and Feizi (2022): half the margin of the votes over B, a closed ball"),
        (
            "integer",
            METHOD_NAMES["integer"],
            "the number of votes that can change is an integer: an open ball, never smaller than the paper's",
        ),
        (
            "vote_aware",
            METHOD_NAMES["vote_aware"],
            "prices every change by the votes that it can touch: an open ball, never smaller than the integer one",
        ),
        (
            "runoff",
            METHOD_NAMES["runoff"],
            "the two most frequent votes meet in a second round, in which every sample is for the one that it ranks "
            "higher (after Rezaei and others, 2023): an open ball, from the counts of both rounds. The lines of the "
            "plurality are about the most frequent vote, from the same evaluations",
        ),
        (
            "runoff_vote_aware",
            METHOD_NAMES["runoff_vote_aware"],
            "prices every change by what it can do in both rounds: an open ball, never smaller than the run-off's",
        ),
        (
            "assumption",
            "assumption",
            "the network is a function of what it is shown. Two evaluations may differ in the last bits; a vote whose "
            f"best two logits are within {about['tolerance']:g} is unsure and counts against the prediction.",
        ),
    ]
    return [row for row in every if row[0] not in METHOD_NAMES or row[0] in found.methods]


# ---- words and pictures ----------------------------------------------------------------------------------------------


def formula(latex: str) -> str | None:
    """Return the formula drawn as SVG in a data address; None if it needs more LaTeX than matplotlib's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.1, 0.1), facecolor="none")
    figure.text(0, 0, f"${latex}$", fontsize=16, color=INK)
    try:
        return _uri(figure, tight=True)
    except ValueError:
        return None


def _pictures(draw: Callable[[bool], Figure]) -> dict[str, str]:
    """Return the figure for a wide page and for a phone."""
    return {"src": _uri(draw(False)), "narrow": _uri(draw(True))}


def _uri(figure: Figure, *, tight: bool = False) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg(figure, tight=tight).encode()).decode()


def _short(text: object) -> str:
    """Return a formula as it is, a long table by its length."""
    words = str(text)
    if len(words) <= _LONG:
        return words
    return f"a table of {words.count(',') + 1} values" if words.startswith("[") else f"{words[:_LONG]}…"


def _within(found: Certification, radius: float) -> str:
    counted = found.unit.power is not None and found.unit.power[0] == 0
    return f"with at most {radius:g} {found.unit.name}" if counted else f"within {found.unit.name} {radius:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _flat(values: dict[str, Any], of: str = "") -> list[tuple[str, str]]:
    """Return names and values as one reads them; what lies in a part of a card is named after that part.

    >>> _flat({"bf16": True, "start": {"name": "a", "weights": None}})
    [('bf16', 'yes'), ('start name', 'a'), ('start weights', 'none')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = of + key.replace("_", " ")
        if isinstance(value, dict):
            rows += _flat(value, f"{name} ")
        else:
            said = {None: "none", True: "yes", False: "no"}
            rows.append((name, said[value] if value is None or isinstance(value, bool) else str(value)))
    return rows
