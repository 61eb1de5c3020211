"""What certificates cost next to the votes they come from."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import interleaved, once
from benchmarks._shipped import NAME, made_votes, shipped
from benchmarks._text import duration, joined, percent, table
from ecm import ECM
from smoothing import Certifier, Scheme, SmoothedClassifier
from smoothing.certificates import Method

ALPHA = 18
METHODS: tuple[Method, ...] = ("paper", "integer", "vote_aware")


def measure(quick: bool) -> dict[str, Any]:
    """Every certificate of every image, the recorded votes for the shipped scheme, made ones for the others."""
    ours = shipped()
    count, voted, rounds = (1, 64, 1) if quick else (len(ours.images), 1152, 3)
    model, images = ours.model, ours.images[:count].numpy()
    schemes = {"shipped": model.scheme}
    if not quick:
        paper = ECM.lp("1/2", ALPHA).design(1000 * ALPHA, kind="periodic")
        schemes |= {
            "the paper's budget": Scheme(paper, model.scheme.shape),
            "the same, one offset per pixel": Scheme(paper, model.scheme.shape, pixel=True),
        }
    rng = np.random.default_rng(0)
    rows = []
    for name, scheme in schemes.items():
        voter = SmoothedClassifier(model.base, scheme, model.classes, tolerance=ours.tolerance)
        wanted = range(min(voted, scheme.samples))
        voting = interleaved({"votes": partial(voter.votes, ours.images[:1], wanted)}, rounds)["votes"].median
        voting *= scheme.samples / len(wanted)
        votes = ours.votes[:count] if name == "shipped" else made_votes(rng, count, scheme.samples, model.classes)
        row: dict[str, Any] = {
            "scheme": name,
            "budget": scheme.total,
            "votes": "recorded" if name == "shipped" else "made",
            "images": count,
            "voting": voting,
        }
        for method in METHODS:
            certifier = Certifier(scheme, model.classes, method)
            first = once(partial(certifier, votes[0], images[0]))[1]
            seconds = [once(partial(certifier, v, x))[1] for v, x in zip(votes, images, strict=True)]
            row[method] = {
                "median": statistics.median(seconds),
                "worst": max(seconds),
                "first": first,
                "share": statistics.median(seconds) / voting,
            }
        rows.append(row)
    return {"rows": rows}


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    rows = [
        (
            f"{row['scheme']}, B = {row['budget']:,} ({row['votes']} votes)",
            duration(row["voting"]),
            *(f"{duration(row[m]['median'])} ({percent(row[m]['share'])})" for m in METHODS),
            duration(row["vote_aware"]["worst"]),
            duration(row["vote_aware"]["first"]),
        )
        for row in found["rows"]
    ]
    return joined(
        f"""Images of 3x32x32, 10 classes, the network of `{NAME}`. Median time of a certificate over
        {found["rows"][0]["images"]} images, and in brackets its share of the time to cast that image's votes, measured
        in the same run. The first image of a scheme also pays for tables that all others share.""",
        table(("scheme", "voting", "paper's", "integer", "vote-aware", "vote-aware, worst", "vote-aware, first"), rows),
    )
