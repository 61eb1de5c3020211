"""Early stop against the full vote: how many samples decide whether an image is certified at a radius."""

from __future__ import annotations

from fractions import Fraction
from operator import methodcaller
from typing import Any

import numpy as np

import zoo
from benchmarks._measure import spread
from benchmarks._text import Aim, joined, percent, table
from smoothing import Record, decide
from smoothing.votes.early_stop import asking_order

CHUNK = 64  # samples asked for at a time
AIM = 0.5
MODELS = ("cifar10-l0.5-a18", "digits-l0.5-a4")


def measure(quick: bool) -> dict[str, Any]:
    """The recorded votes of the shipped models, replayed: at every radius of their cards, with the labels known."""
    return {"chunk": CHUNK, "models": [replay(name, 3 if quick else None, quick) for name in MODELS]}


def replay(name: str, limit: int | None, quick: bool) -> dict[str, Any]:
    """Shares of the samples that were needed (`decisive`) and asked for (`evaluated`), by radius."""
    model = zoo.load(name)
    labels = {row.idx: row.label for row in zoo.read_certification(model.path).rows}
    indices, votes = Record.open(model.path / "votes").votes()
    indices, votes = indices[:limit], votes[:limit, asking_order(model.scheme)]
    radii = [Fraction(row["radius"]) for row in model.card["certification"]["certified_accuracy"]]
    radii = [r for r in radii if r > 0][: 2 if quick else None]
    total = model.scheme.samples
    rows, every = [], []
    for radius in radii:
        wanted = methodcaller("covers_lp", radius)
        found = [
            decide(np.split(cast, range(CHUNK, total, CHUNK)), model.scheme, model.classes, wanted, label=labels[index])
            for index, cast in zip(indices.tolist(), votes, strict=True)
        ]
        shares = [one.evaluated / total for one in found]
        every += shares
        rows.append(
            {
                "radius": str(radius),
                "certified": sum(one.certified for one in found) / len(found),
                "evaluated": spread(shares),
                "mean": float(np.mean(shares)),
                "decisive": spread([one.decisive / total for one in found]),
            }
        )
    return {
        "name": name,
        "images": len(votes),
        "budget": model.scheme.total,
        "rows": rows,
        "all": spread(every) | {"mean": float(np.mean(every))},
    }


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    pieces = [
        f"""Whether an image is certified at a radius (its label being known, as for a certified accuracy) is often
        clear long before all B votes are cast; `smoothing.decide` stops there, with the same answer as the full vote.
        Recorded votes of the shipped models, {found["chunk"]} samples asked for at a time, those that show the fewest
        features first; share of the B samples, median and quartiles over the images. No rule can certify an image from
        less than half of its votes, so what is saved depends on how many are certified.""",
        "![Share of the samples that early stop needs, by radius](img/bench-early.svg)",
    ]
    for one in found["models"]:
        rows = [
            (
                row["radius"],
                percent(row["certified"]),
                percent(row["evaluated"]["median"]),
                f"{percent(row['evaluated']['low'])}–{percent(row['evaluated']['high'])}",
                percent(row["mean"]),
            )
            for row in one["rows"]
        ]
        pieces += [
            f"""`{one["name"]}`, {one["images"]} images, B = {one["budget"]:,}: over all images and radii the median is
            {percent(one["all"]["median"])} and the mean {percent(one["all"]["mean"])} of the samples.""",
            table(("l_1/2 radius", "certified", "samples, median", "quartiles", "mean"), rows),
        ]
    return joined(*pieces)


def aims(found: dict[str, Any]) -> list[Aim]:
    """Of the page's first table."""
    return [
        Aim(f"early stop saves half of the samples, median, `{m['name']}`", percent(1 - s), s <= AIM)
        for m in found["models"]
        for s in [m["all"]["median"]]
    ]


def figure(found: dict[str, Any]) -> Any:
    """Share of the samples by radius, a panel a model."""
    from matplotlib.figure import Figure

    from ecm.figure import BLUE, ORANGE

    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    panels = drawn.subplots(1, len(found["models"]), squeeze=False)[0]
    for axes, one in zip(panels, found["models"], strict=True):
        radii = [float(Fraction(row["radius"])) for row in one["rows"]]
        low, median, high = ([row["evaluated"][k] for row in one["rows"]] for k in ("low", "median", "high"))
        axes.fill_between(radii, low, high, color=BLUE, alpha=0.2, linewidth=0, label="quartiles")
        axes.plot(radii, median, color=BLUE, marker="o", markersize=4, label="median")
        axes.plot(radii, [row["mean"] for row in one["rows"]], color=ORANGE, linestyle="--", label="mean")
        axes.axhline(AIM, color="grey", linewidth=0.8)
        axes.set(title=one["name"], xlabel="certified radius asked for", ylim=(0, 1.02))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("share of the B samples")
    panels[0].legend(frameon=False)
    return drawn
