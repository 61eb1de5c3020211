"""Checks a certificate again, from the stored votes: one file, standard library only, none of this project's code.

    python checker.py CERTIFICATE.json FACTS.json VOTES LEVELS

CERTIFICATE is the document of one image, FACTS what its scheme shares with all images (design rows, offsets, costs),
VOTES the raw votes (one or two bytes each, little-endian), LEVELS the raw image (four bytes a level, little-endian).
Every line printed is a claim that was recomputed; a line that starts with "on trust" was not. Exit code 0: the
certificate holds; 1: it does not, or cannot be checked.

What is checked: the digests tie votes, image and facts to the document; the counts follow from the votes; no pair of
levels is separated by more outcomes than B g allows; and the ball follows from the votes, in integers:
- paper:      d <= (need - 1)/(2B) for every rival, need = s_c - s_k - U + [c < k] (s sure votes, U unsure ones);
- integer:    d < ceil(need/2)/B;
- vote_aware: d < m*need - sum over items of max(0, max over moves of (m*gain - cost)), for the rival's stored m.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from array import array
from bisect import bisect_right
from fractions import Fraction
from math import prod
from typing import Any


class Rejected(Exception):
    """The certificate does not hold, or cannot be checked.

    >>> demand(1 > 2, "one is more than two")
    Traceback (most recent call last):
        ...
    smoothing.checker.Rejected: not so: one is more than two
    """


def demand(condition: bool, claim: str) -> None:
    """Print the claim if it holds, reject the certificate otherwise.

    >>> demand(2 > 1, "two is more than one")
    ok: two is more than one
    """
    if not condition:
        raise Rejected(f"not so: {claim}")
    print(f"ok: {claim}")


def refuse(number: str) -> None:
    """Facts are exact: a float, a NaN or an infinity has no place in them.

    >>> json.loads("[0, NaN]", parse_constant=refuse)
    Traceback (most recent call last):
        ...
    smoothing.checker.Rejected: NaN is not an integer
    """
    raise Rejected(f"{number} is not an integer")


def integers(data: bytes, size: int) -> list[int]:
    """Unsigned little-endian integers of `size` bytes each.

    >>> integers(bytes([1, 0, 2, 1]), 2)
    ok: 4 bytes are whole numbers of 2 bytes
    [1, 258]
    """
    demand(len(data) % size == 0, f"{len(data)} bytes are whole numbers of {size} bytes")
    values = array({1: "B", 2: "H", 4: "I"}[size], data)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def power(text: str) -> tuple[Fraction, Fraction] | None:
    """(p, factor) if the text of g is factor * z**p, or a step (p = 0); None for any other formula.

    >>> power("z**(1/2)/18"), power("sign(z)/4"), power("tanh(z)")
    ((Fraction(1, 2), Fraction(1, 18)), (Fraction(0, 1), Fraction(1, 4)), None)
    """
    # As Python reads it: z**1/2 is half of z, the root is z**(1/2).
    form = r"(?:(\d+)\*)?(?:z(?:\*\*(?:(\d+)|\((\d+/\d+)\)))?|(sign\(z\)))(?:/(\d+))?"
    found = re.fullmatch(form, text, re.ASCII)
    if found is None:
        return None
    factor, whole, ratio, step, divisor = found.groups()
    p = Fraction(0) if step else Fraction(whole or ratio or 1)
    return p, Fraction(factor or 1) / Fraction(divisor or 1)


def floors(text: str, scale: int, q: int) -> list[int] | None:
    """floor(scale * g(k/q)), k = 0..q, in integers, where g is a power or a table; None otherwise.

    >>> floors("z**(1/2)/2", 10, 4), floors("[0, 1/2, 3/4]", 10, 2)
    ([0, 2, 3, 4, 5], [0, 5, 7])
    """
    if text.startswith("["):  # a table of exact values on its own grid, of which q takes every step-th
        values = [Fraction(value) for value in text.strip("[]").split(",")]
        if (len(values) - 1) % q:
            raise Rejected(f"a table of {len(values)} values has none at k/{q}")
        return [scale * v.numerator // v.denominator for v in values[:: (len(values) - 1) // q]]
    known = (Fraction(1), Fraction(0)) if text == "0" else power(text)
    if known is None:
        return None
    p, factor = known
    a, b = p.numerator, p.denominator
    return [0] + [root(int((scale * factor) ** b * Fraction(k, q) ** a), b) for k in range(1, q + 1)]


def root(value: int, degree: int) -> int:
    """The largest integer whose power of that degree is at most `value`.

    >>> root(26, 3), root(27, 3)
    (2, 3)
    """
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def check_design(facts: dict[str, Any]) -> None:
    """No pair of levels x < y is separated by more than B g((y-x)/q) outcomes.

    >>> facts = {"q": 2, "budget": 4, "scale": 4, "metric": ["z/2"], "shape": [1]}
    >>> check_design(facts | {"rows": [[[1], [2]]], "costs": [[0, 1, 2]]})
    ok: the costs are 4 * (z/2), rounded down
    ok: 2 outcomes with dividers fit the budget 4
    ok: the dividers of every outcome rise within the gaps 1..2
    ok: no pair of levels is separated by more than 4 * (z/2) outcomes
    """
    q, budget, scale = facts["q"], facts["budget"], facts["scale"]
    if min(q, budget, scale, *facts["shape"]) < 1:
        raise Rejected("q, the budget, the scale and the shape are positive")
    for text, rows, costs in zip(facts["metric"], facts["rows"], facts["costs"], strict=True):
        exact, caps = floors(text, scale, q), floors(text, budget, q)
        if exact is None or caps is None:
            if scale < budget << 10:
                raise Rejected(f"costs in units of 1/{scale} are too coarse to price {budget} * ({text})")
            caps = [(cost + 1) * budget // scale for cost in costs]
            print(f"on trust: {q + 1} values of g = {text}")
            for k, (cap, cost) in enumerate(zip(caps, costs, strict=True)):
                if cap * scale > cost * budget:  # rounded down, it might be just below
                    print(f"on trust: {budget} * g({k}/{q}) >= {cap}")
        else:
            demand(costs == exact, f"the costs are {scale} * ({text}), rounded down")
        if len(costs) != q + 1 or costs[0] != 0 or sorted([*costs, scale]) != [*costs, scale]:
            raise Rejected(f"the {q + 1} costs of g = {text} do not rise from 0 to {scale} at most")
        demand(len(rows) <= budget, f"{len(rows)} outcomes with dividers fit the budget {budget}")
        rising = (all(a < b for a, b in zip([0, *row], [*row, q + 1], strict=True)) for row in rows)
        demand(all(rows) and all(rising), f"the dividers of every outcome rise within the gaps 1..{q}")
        for x in range(q + 1):
            ahead = [0] * (q + 2)  # by the first divider above x: it separates x from all levels from there on
            for row in rows:
                at = bisect_right(row, x)
                ahead[row[at] if at < len(row) else q + 1] += 1
            separated = 0
            for y in range(x + 1, q + 1):
                separated += ahead[y]
                if separated > caps[y - x]:
                    raise Rejected(f"{separated} outcomes separate {x} and {y}, B g allows {caps[y - x]}")
        demand(True, f"no pair of levels is separated by more than {budget} * ({text}) outcomes")


def components(facts: dict[str, Any]) -> list[int]:
    """The component of the metric that each feature belongs to.

    >>> components({"shape": [2, 2], "groups": [1, 0], "metric": ["z", "0"]})
    [1, 1, 0, 0]
    """
    shape = facts["shape"]
    groups = facts["groups"] or [0] * shape[0]
    if len(groups) != shape[0] or not set(groups) <= set(range(len(facts["metric"]))):
        raise Rejected(f"groups {groups} do not give each of {shape[0]} indices one of the components")
    return [group for group in groups for _ in range(prod(shape[1:]))]


def check_coupling(facts: dict[str, Any]) -> list[int]:
    """The weights of the samples. A feature meets every outcome of its list once, or with its weight.

    >>> facts = {"coupling": "global", "q": 2, "budget": 5, "weights": [1, 1, 1, 2], "rows": [[[1, 2], [1], [2]]]}
    >>> check_coupling(facts)
    ok: the weights are those of the widths in the list
    [1, 1, 1, 2]
    """
    coupling, budget, weights, q = facts["coupling"], facts["budget"], facts["weights"], facts["q"]
    if coupling != "global":
        demand(
            coupling in ("spread", "independent", "permutation") and weights is None,
            f"{coupling} samples count once each",
        )
        if coupling != "permutation":
            sites = prod(facts["shape"][1:] if facts["pixel"] else facts["shape"])
            own = len(facts["offsets"]) == sites and all(0 <= offset < budget for offset in facts["offsets"])
            demand(own, f"{sites} sites have an offset in 0..{budget - 1}")
        return [1] * budget
    (rows,), counts, at = facts["rows"], dict[int, int](), 0
    while at < len(rows):  # all offsets of one width after another; the first shows the width
        width = rows[at][1] - rows[at][0] if len(rows[at]) > 1 else q
        if rows[at : at + width] != [list(range(s + 1, q + 1, width)) for s in range(width)]:
            raise Rejected(f"the outcomes from number {at} on are not all {width} offsets of one width")
        counts[width], at = counts.get(width, 0) + 1, at + width
    expected = [count for width, count in counts.items() for _ in range(width)] + [budget - at] * (at < budget)
    demand(sorted(weights) == sorted(expected), "the weights are those of the widths in the list")
    return list(weights)


class Moves:
    """The moves of all features of one image, priced for one worth of the samples (cyclic coupling).

    >>> facts = {"q": 2, "budget": 4, "shape": [1], "groups": [], "offsets": [0], "positions": [[0, 1]],
    ...          "metric": ["z"], "rows": [[[1], [2]]], "costs": [[0, 1, 2]]}
    >>> Moves(facts, levels=[0], worth=[1, 1, 0, 0]).gains(0)  # a divider above level 0, another above level 1
    [0, 1, 2]
    """

    def __init__(self, facts: dict[str, Any], levels: list[int], worth: list[int]) -> None:
        self.facts, self.levels = facts, levels
        self.doubled = worth + worth
        self.sites = len(facts["offsets"])
        self.component = components(facts)
        self.reach: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def brings(self, feature: int) -> list[int]:
        """The worth of the samples in which the feature uses each finite outcome of its component."""
        late = self.facts["budget"] - self.facts["offsets"][feature % self.sites]
        return [self.doubled[position + late] for position in self.facts["positions"][self.component[feature]]]

    def gains(self, feature: int) -> list[int]:
        """The largest gain of moving by at most k = 0..q levels, up or down."""
        q, key = self.facts["q"], (self.component[feature], self.levels[feature])
        if key not in self.reach:
            up, down = [], []
            for row in self.facts["rows"][key[0]]:
                at = bisect_right(row, key[1])
                up.append(row[at] - key[1] if at < len(row) else q + 1)
                down.append(key[1] - row[at - 1] + 1 if at else q + 1)
            self.reach[key] = up, down
        both = []
        brings = self.brings(feature)
        for reach in self.reach[key]:
            sums, total = [0] * (q + 2), 0
            for k, gain in zip(reach, brings, strict=True):
                sums[k] += gain
            for k in range(q + 1):
                total += sums[k]
                sums[k] = total
            both.append(sums[: q + 1])
        return [max(pair) for pair in zip(*both, strict=True)]

    def evaluate(self, m: int, threat: str, below: bool = False) -> tuple[int, int]:
        """(sum over items of max(0, m*gain - cost), all attainable gain); an item is a feature, or a pixel.

        If all points of the ball are nearer than 1 (`below`), no feature changes whose every change costs 1."""
        apart, most = [0] * self.sites, [0] * self.sites
        for feature, component in enumerate(self.component):
            if below and threat == "features" and self.facts["costs"][component][1] == self.facts["scale"]:
                continue
            gains = self.gains(feature)
            best = max(m * gain - cost for gain, cost in zip(gains, self.facts["costs"][component], strict=True))
            apart[feature % self.sites] += best  # never negative: k = 0 gains and costs nothing
            most[feature % self.sites] += gains[-1]
        if threat == "pixels":  # at cost g(1) a pixel touches no more than the samples in which it shows anything
            most = [min(most[site], sum(self.brings(site))) for site in range(self.sites)]
            top = self.facts["costs"][0][-1]
            apart = [max(a, m * whole - top) for a, whole in zip(apart, most, strict=True)]
        return sum(apart), sum(most)


def check(document: dict[str, Any], facts_text: str, votes_data: bytes, levels_data: bytes) -> None:
    """Raise Rejected unless the certificate holds.

    >>> from smoothing import Scheme, certificate_document, certify, level_bytes, scheme_facts, vote_bytes
    >>> import numpy as np
    >>> scheme, image = Scheme.l1(2, shape=(3,), q=4), np.array([0, 2, 4])
    >>> votes = np.array([1, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> ball, facts = certify(votes, image, scheme, classes=2), scheme_facts(scheme)
    >>> text = certificate_document(ball, votes, image, scheme, classes=2, shared=facts)
    >>> check(json.loads(text), facts, vote_bytes(votes), level_bytes(image))
    ok: the formats are known
    ...
    ok: class 1 < 3/8 (vote_aware, features)
    """
    facts = json.loads(facts_text, parse_float=refuse, parse_constant=refuse)
    demand(document["format"] == "ecm-certificate/1" and facts["format"] == "ecm-facts/1", "the formats are known")
    demand(hashlib.sha256(facts_text.encode()).hexdigest() == document["facts_sha256"], "the facts are those meant")
    demand(hashlib.sha256(votes_data).hexdigest() == document["votes_sha256"], "the votes are those meant")
    head = f"({', '.join(map(str, document['shape']))}{',' if len(document['shape']) == 1 else ''})".encode()
    demand(hashlib.sha256(head + levels_data).hexdigest() == document["image_sha256"], "the image is the one meant")
    for name in ("shape", "q", "budget", "metric", "scheme_fingerprint"):
        demand(document[name] == facts[name], f"{name} = {document[name]}, in both files")
    print(f"on trust: the votes were cast under the scheme with the fingerprint {facts['scheme_fingerprint'][:16]}...")
    size, classes = document["vote_bytes"], document["classes"]
    votes, levels = integers(votes_data, size), integers(levels_data, 4)
    demand(
        len(levels) == len(components(facts)) and max(levels) <= facts["q"], "the image has the shape and levels meant"
    )
    check_design(facts)
    weights = check_coupling(facts)
    demand(len(votes) == len(weights), f"{len(votes)} votes, all there are")
    unsure_code = 256**size - 1
    known = classes >= 2 and all(v < classes or v == unsure_code for v in votes)
    demand(known, f"votes are classes 0..{classes - 1}, at least two, or unsure")
    counts, unsure = [0] * classes, 0
    for vote, weight in zip(votes, weights, strict=True):
        if vote == unsure_code:
            unsure += weight
        else:
            counts[vote] += weight
    demand(counts == document["counts"] and unsure == document["unsure"], f"counts {counts}, {unsure} unsure")
    chosen = document["prediction"]
    demand(chosen == counts.index(max(counts)), f"class {chosen} has most sure votes")
    if document["radius"] is None:
        print("ok: the document claims no certificate")
        return
    pixels = document["threat"] == "pixels" and facts["pixel"] and len(facts["metric"]) == 1
    demand(document["threat"] == "features" or pixels, "the threat fits")
    radius, closed, budget = Fraction(document["radius"]), document["ball"] == "closed", facts["budget"]
    demand(document["ball"] in ("open", "closed"), f"the ball is {document['ball']}")
    if document["everywhere"]:
        tops = [facts["costs"][c][-1] + 1 for c in components(facts)]
        demand(closed and radius * facts["scale"] >= sum(tops), f"no two points are further apart than {radius}")
    multipliers = dict(document["multipliers"])
    for rival in (k for k in range(classes) if k != chosen):
        need = counts[chosen] - counts[rival] - unsure + (chosen < rival)
        demand(need >= 1, f"class {rival} still needs {need}")
        paper, whole = Fraction(need - 1, 2 * budget), Fraction((need + 1) // 2, budget)
        if radius <= paper or (not closed and radius <= whole) or radius < whole:
            demand(True, f"class {rival} cannot win in the ball, by counts")
            continue
        demand(document["method"] == "vote_aware" and rival in multipliers, f"class {rival}: a multiplier is given")
        demand(
            facts["coupling"] in ("spread", "independent"),
            "the coupling is cyclic, so that this file can price the moves",
        )
        for rows, positions in zip(facts["rows"], facts["positions"], strict=True):
            places = set(positions)
            once = len(rows) == len(places) == len(positions) and places <= set(range(budget))
            demand(once, f"each of {len(rows)} outcomes with dividers has its own place in a list of {budget}")
        m = multipliers[rival] or 0
        worth = [
            0 if v in (rival, unsure_code) else (2 if v == chosen else 1) * w
            for v, w in zip(votes, weights, strict=True)
        ]
        below = radius < 1 or (radius == 1 and not closed)
        excess, attainable = Moves(facts, levels, worth).evaluate(m, document["threat"], below)
        if attainable < need:
            demand(True, f"class {rival} can gain {attainable} at most and never wins")
            continue
        bound = Fraction(m * need - excess, facts["scale"])
        holds = radius < bound or (radius == bound and not closed)
        demand(holds, f"class {rival} cannot win in the ball, by m = {m}/{facts['scale']}")
    demand(True, f"class {chosen} {'<=' if closed else '<'} {radius} ({document['method']}, {document['threat']})")


def main(arguments: list[str]) -> int:
    """The command line; the exit code.

    >>> main(["certificate.json", "facts.json", "no votes", "no levels"])
    REJECTED FileNotFoundError: [Errno 2] No such file or directory: 'certificate.json'
    1
    """
    if len(arguments) != 4:
        print(__doc__)
        return 1
    try:
        texts = [open(name, "rb").read() for name in arguments]  # noqa: SIM115
        check(json.loads(texts[0]), texts[1].decode(), texts[2], texts[3])
    except Exception as error:  # whatever a file is made of, it is no certificate that holds
        print(f"REJECTED {type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
