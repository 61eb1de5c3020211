"""How time and memory grow with budget, features, images and classes; every point in a fresh process."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks._measure import child, exponent, interleaved, once
from benchmarks._shipped import made_images, made_votes
from benchmarks._text import duration, joined, table
from ecm import ECM
from smoothing import Certifier, Scheme, SmoothedClassifier

ALPHA, BUDGET, SHAPE, IMAGES, CLASSES = 18, 2304, (3, 32, 32), 1, 10
AXES: dict[str, list[Any]] = {
    "budget": [576, 1152, 2304, 4608, 9216, 18432],
    "features": [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 64, 64), (3, 224, 224)],
    "images": [1, 2, 4, 8, 16],
    "classes": [2, 10, 100, 1000],
}
TIMED = {"votes": "voting", "integer": "integer certificate", "vote_aware": "vote-aware certificate"}


class Cheap(nn.Module):
    """A network that costs next to nothing, so that what grows is ours: one corner of the planes, one linear layer."""

    def __init__(self, planes: int, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(planes, classes)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(x[:, :, 0, 0])
        return logits


def measure(quick: bool) -> dict[str, Any]:
    """One axis at a time, the others as in the constants."""
    axes = {"features": [(1, 8, 8)]} if quick else AXES
    grown = {}
    for axis, sizes in axes.items():
        points = []
        for size in sizes:
            setting = {"budget": BUDGET, "features": SHAPE, "images": IMAGES, "classes": CLASSES} | {axis: size}
            if quick:
                setting["budget"] = 36
            point, peak = child("benchmarks.growth", "point", *setting.values())
            count = int(np.prod(size)) if axis == "features" else size
            points.append({"size": count, "shown": _shown(size), **point, "peak_mb": peak})
        sizes_ = [p["size"] for p in points]
        slopes = {name: exponent(sizes_, [p[name] for p in points]) for name in TIMED} if len(points) > 1 else {}
        grown[axis] = {"points": points, "exponents": slopes}
    return {"axes": grown, "alpha": ALPHA}


def point(budget: int, shape: list[int], images: int, classes: int) -> dict[str, Any]:
    """Seconds of everything between a metric and its certificates, for `images` images together."""
    sizes = tuple(shape)
    design, designing = once(lambda: ECM.lp("1/2", ALPHA).design(budget))
    x = made_images(images, sizes)
    torch.manual_seed(0)

    def prepare() -> SmoothedClassifier:
        scheme = Scheme(design, sizes)
        voter = SmoothedClassifier(Cheap(2 * sizes[0], classes), scheme, classes)
        voter.votes(x[:1], [0])
        return voter

    voter, preparing = once(prepare)
    scheme = voter.scheme
    voting = interleaved({"votes": lambda: voter.votes(x)}, 3)["votes"]
    votes = made_votes(np.random.default_rng(0), max(images, 3), scheme.samples, classes)
    levels = made_images(len(votes), sizes).numpy()
    answer = {"design": designing, "prepare": preparing, "votes": voting.median}
    for method in ("integer", "vote_aware"):
        certifier = Certifier(scheme, classes, method)
        certifier(votes[0], levels[0])
        seconds = [once(partial(certifier, v, z))[1] for v, z in zip(votes, levels, strict=True)]
        answer[method] = statistics.mean(seconds) * images
    return answer


def _shown(size: Any) -> str:
    return "x".join(str(n) for n in size) if isinstance(size, tuple | list) else f"{size:,}"


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    pieces = [
        f"""g = sqrt(z)/{found["alpha"]}, aperiodic, q = 255; B = {BUDGET:,}, 3x32x32, one image and {CLASSES} classes
        unless the table says otherwise. The network is one linear layer, so that *voting* is noise and counting alone.
        Every point is a process of its own, and *peak* is all of its memory, torch and the package included (the
        smallest points take hardly more). *Design* is found once and then read from a cache, *set-up* is the scheme
        with its tables and a first vote; voting and the certificates are for all samples of all images. The last row
        is the exponent e of the fit time ~ size^e: 1 is linear growth.""",
        "![Time against budget and against features](img/bench-growth.svg)",
    ]
    for axis, grown in found["axes"].items():
        rows: list[tuple[object, ...]] = [
            (
                p["shown"],
                duration(p["design"]),
                duration(p["prepare"]),
                *(duration(p[name]) for name in TIMED),
                f"{p['peak_mb']:.0f} MB",
            )
            for p in grown["points"]
        ]
        if grown["exponents"]:
            rows.append(("exponent", "", "", *(f"{grown['exponents'][name]:.2f}" for name in TIMED), ""))
        pieces.append(table((axis, "design", "set-up", *TIMED.values(), "peak"), rows))
    return joined(*pieces)


def figure(found: dict[str, Any]) -> Any:
    """Time against budget and against features, both logarithmic."""
    from matplotlib.figure import Figure

    from ecm.figure import BLUE, ORANGE, PURPLE

    drawn = Figure(figsize=(8, 3.4), layout="constrained")
    labels = {
        axis: label for axis, label in {"budget": "outcomes B", "features": "features"}.items() if axis in found["axes"]
    }
    panels = drawn.subplots(1, len(labels), sharey=True, squeeze=False)[0]
    for axes, (axis, label) in zip(panels, labels.items(), strict=True):
        points = found["axes"][axis]["points"]
        sizes = [p["size"] for p in points]
        for (name, text), colour in zip(TIMED.items(), (BLUE, PURPLE, ORANGE), strict=True):
            axes.loglog(sizes, [p[name] for p in points], color=colour, marker="o", markersize=4, label=text)
        axes.set(xlabel=label)
        axes.grid(alpha=0.3, which="both", linewidth=0.4)
    panels[0].set_ylabel("seconds, one image")
    panels[0].legend(frameon=False, fontsize=8)
    return drawn
