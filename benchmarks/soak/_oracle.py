"""Whether a certificate is true, by trying every point: slow, simple, and without a line of the checker's reasoning."""

from __future__ import annotations

import functools
import itertools
import re
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothing import Packing


def is_true(document: dict[str, Any], facts: dict[str, Any], votes: bytes, levels: bytes) -> bool:
    """Whether no point of the document's ball can get another class, whatever the touched samples vote there.

    Facts are taken as they are (small q, few features, few classes): the outcome of each feature at every sample.
    Distances are exact where g is linear or a step, else by the costs, which are rounded down, so that the ball is if
    anything larger.
    """
    if document["radius"] is None:
        return True
    q, budget, scale = facts["q"], facts["budget"], facts["scale"]
    x = [int.from_bytes(levels[4 * i : 4 * i + 4], "little") for i in range(prod(facts["shape"]))]
    groups = facts["groups"] or [0] * facts["shape"][0]
    component = [group for group in groups for _ in range(len(x) // len(groups))]
    sites = len(x) // facts["shape"][0] if facts["pixel"] else len(x)
    tables = [_table(facts, c) for c in range(len(facts["metric"]))]
    prices = [_prices(text, costs, scale) for text, costs in zip(facts["metric"], facts["costs"], strict=True)]
    radius, closed = Fraction(document["radius"]), document["ball"] == "closed"
    chosen, classes = document["prediction"], document["classes"]
    if document.get("rule") == "runoff":
        allowed = _allowed(votes, classes)
        loses = functools.cache(lambda touched: runoff_loses(allowed, touched, chosen, classes))
    else:
        loses = functools.cache(lambda touched: _plurality_loses(votes, touched, chosen, classes))
    for y in itertools.product(range(q + 1), repeat=len(x)):
        costs = [prices[component[i]][abs(a - b)] for i, (a, b) in enumerate(zip(x, y, strict=True))]
        if document["threat"] == "pixels":
            top = prices[0][-1]
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
        if loses(frozenset(touched)):
            return False
    return True


def _prices(text: str, costs: list[int], scale: int) -> list[Fraction]:
    """The distance of two levels k = 0..q apart, times the scale."""
    known = re.fullmatch(r"(?:(\d+)\*)?(z|sign\(z\))(?:/(\d+))?", text)
    if known is None:
        return [Fraction(cost) for cost in costs]
    factor = Fraction(scale * int(known[1] or 1), int(known[3] or 1))
    q = len(costs) - 1
    return [factor * (Fraction(k, q) if known[2] == "z" else min(k, 1)) for k in range(q + 1)]


def _plurality_loses(votes: bytes, touched: frozenset[int], chosen: int, classes: int) -> bool:
    """Whether a rival can have more votes, if touched and unsure samples vote as the rival likes."""
    for rival in (k for k in range(classes) if k != chosen):
        ours = sum(vote == chosen and t not in touched for t, vote in enumerate(votes))
        theirs = sum(vote in (rival, 255) or (t in touched and vote != 255) for t, vote in enumerate(votes))
        if theirs > ours or (theirs == ours and rival < chosen):
            return True
    return False


def _allowed(votes: bytes, classes: int) -> list[tuple[int, ...]]:
    """For each sample the numbers of the orders of the classes that agree with all it is sure of."""
    ranks = Packing.of(classes).ranks(np.frombuffer(votes, "<u4"))
    orders = list(itertools.permutations(range(classes)))
    return [
        tuple(n for n, order in enumerate(orders) if all(own[a] <= own[b] for a, b in itertools.pairwise(order)))
        for own in ranks
    ]


def runoff_loses(allowed: list[tuple[int, ...]], touched: frozenset[int], chosen: int, classes: int) -> bool:
    """Whether any completion lets another class than the chosen one win: all of them are gone through.

    >>> abc, cba = (0,), (5,)  # the orders 0 > 1 > 2 and 2 > 1 > 0
    >>> [runoff_loses([abc, abc, abc, cba], frozenset(range(n)), 0, 3) for n in (0, 1, 2)]
    [False, False, True]
    """
    orders = list(itertools.permutations(range(classes)))
    free = tuple(range(len(orders)))
    kinds = [free if t in touched else own for t, own in enumerate(allowed)]
    counts = np.zeros((1, len(orders)), dtype=np.int64)  # by order, of every completion
    for kind in sorted(set(kinds)):
        ways = _compositions(kinds.count(kind), len(kind))
        part = np.zeros((len(ways), len(orders)), dtype=np.int64)
        part[:, list(kind)] = ways
        counts = (counts[:, None] + part[None]).reshape(-1, len(orders))
        counts = np.unique(counts, axis=0) if len(kind) < len(free) else counts
    first = np.stack([counts[:, [o[0] == k for o in orders]].sum(1) for k in range(classes)], axis=1)
    two = np.sort(np.argsort(-first, axis=1, kind="stable")[:, :2], axis=1)
    winner = np.empty(len(counts), dtype=np.int64)
    for a, b in itertools.combinations(range(classes), 2):
        final = (two == (a, b)).all(1)
        for_a = counts[:, [o.index(a) < o.index(b) for o in orders]].sum(1)
        winner[final] = np.where(2 * for_a >= counts.sum(1), a, b)[final]
    return bool((winner != chosen).any())


@functools.cache
def _compositions(number: int, parts: int) -> NDArray[np.int64]:
    """Every way to write `number` as a sum of `parts` numbers from 0 on."""
    bars = itertools.combinations(range(number + parts - 1), parts - 1)
    cut = np.array([(-1, *places, number + parts - 1) for places in bars], dtype=np.int64)
    return np.diff(cut, axis=1) - 1


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
