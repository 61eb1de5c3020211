"""Whether a certificate is true, by trying every point: slow, simple, and without a line of the checker's reasoning."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import prod
from typing import Any


def is_true(document: dict[str, Any], facts: dict[str, Any], votes: bytes, levels: bytes) -> bool:
    """Whether no point of the document's ball can get another class, whatever the touched samples vote there.

    Facts are taken as they are (small q, few features, one byte per vote): the outcome of each feature at every sample,
    and distances by the costs, which are rounded down, so that the ball is if anything larger.
    """
    if document["radius"] is None:
        return True
    q, budget, scale = facts["q"], facts["budget"], facts["scale"]
    x = [int.from_bytes(levels[4 * i : 4 * i + 4], "little") for i in range(prod(facts["shape"]))]
    groups = facts["groups"] or [0] * facts["shape"][0]
    component = [group for group in groups for _ in range(len(x) // len(groups))]
    sites = len(x) // facts["shape"][0] if facts["pixel"] else len(x)
    tables = [_table(facts, c) for c in range(len(facts["metric"]))]
    radius, closed = Fraction(document["radius"]), document["ball"] == "closed"
    chosen, classes = document["prediction"], document["classes"]
    for y in itertools.product(range(q + 1), repeat=len(x)):
        costs = [facts["costs"][component[i]][abs(a - b)] for i, (a, b) in enumerate(zip(x, y, strict=True))]
        if document["threat"] == "pixels":
            top = facts["costs"][0][-1]
            distance = sum(min(top, sum(costs[site::sites])) for site in range(sites))
        else:
            distance = sum(costs)
        inside = distance <= radius * scale if closed else distance < radius * scale
        if not inside and not document["everywhere"]:
            continue
        touched = set()
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            low, high = min(a, b), max(a, b)
            for t in range(budget):
                row = tables[component[i]][(t + facts["offsets"][i % sites]) % budget]
                if any(low < divider <= high for divider in row):
                    touched.add(t)
        for rival in (k for k in range(classes) if k != chosen):
            ours = sum(vote == chosen and t not in touched for t, vote in enumerate(votes))
            theirs = sum(vote in (rival, 255) or (t in touched and vote != 255) for t, vote in enumerate(votes))
            if theirs > ours or (theirs == ours and rival < chosen):
                return False
    return True


def _table(facts: dict[str, Any], component: int) -> list[list[int]]:
    """The dividers at every position of a component's arranged list."""
    if facts["widths"] is None:
        rows = facts["rows"][component]
    else:
        rows = [
            list(range(s + 1, facts["q"] + 1, width))
            for width, times in facts["widths"][component]
            for _ in range(times)
            for s in range(width)
        ]
    table: list[list[int]] = [[] for _ in range(facts["budget"])]
    for row, position in zip(rows, facts["positions"][component], strict=True):
        table[position] = row
    return table
