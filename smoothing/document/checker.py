"""Checks a certificate again, from the stored votes: one file, standard library only, none of this project's code.

    python checker.py CERTIFICATE.json FACTS.json VOTES LEVELS

CERTIFICATE is the document of one image, FACTS what its scheme shares with all images (design rows, offsets, costs),
VOTES the raw votes (one or two bytes each, little-endian; for a run-off packed rankings, four bytes each), LEVELS the
raw image (four bytes per level, little-endian).
Every line printed is a claim that was recomputed; a line that starts with "on trust" was not. Exit code 0: the
certificate holds; 1: it does not, or cannot be checked.

What is checked: the digests tie votes, image and facts to the document; the counts follow from the votes; no pair of
levels is separated by more outcomes than B g allows; and the ball follows from the votes, in integers:
- paper:      d <= (need - 1)/(2B) for every rival, need = s_c - s_k - U + [c < k] (s sure votes, U unsure ones);
- integer:    d < ceil(need/2)/B;
- vote_aware: d < m*need - sum over items of max(0, max over moves of (m*gain - cost)), for the rival's stored m.
For a run-off (runoff: by counts; runoff_vote_aware) every way to lose is gone through: a rival k wins the duel with the
winner c and has overtaken every third class, or two rivals have both overtaken c. See `Races` for what each step needs.
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
    smoothing.document.checker.Rejected: not so: one is more than two
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
    smoothing.document.checker.Rejected: NaN is not an integer
    """
    raise Rejected(f"{number} is not an integer")


def fraction(text: str) -> Fraction:
    """Return an exact number; no exponents, with which a short text could name a number that fills the memory.

    >>> fraction("3/8"), fraction("1e9")
    Traceback (most recent call last):
        ...
    smoothing.document.checker.Rejected: 1e9 is not a ratio of integers
    """
    if not re.fullmatch(r"\d{1,400}(/\d{1,400})?", text, re.ASCII):
        raise Rejected(f"{text[:40]} is not a ratio of integers")
    return Fraction(text)


def integers(data: bytes, size: int) -> list[int]:
    """Return unsigned little-endian integers of `size` bytes each.

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
    """Return (p, factor) if the text of g is factor * z**p, or a step (p = 0); None for any other formula.

    >>> power("z**(1/2)/18"), power("sign(z)/4"), power("tanh(z)")
    ((Fraction(1, 2), Fraction(1, 18)), (Fraction(0, 1), Fraction(1, 4)), None)
    """
    # As Python reads it: z**1/2 is half of z, the root is z**(1/2).
    n, small = r"(\d{1,40})", r"\d{1,3}"  # larger ones would take forever
    form = rf"(?:{n}\*)?(?:z(?:\*\*(?:({small})|\(({small}/{small})\)))?|(sign\(z\)))(?:/{n})?"
    found = re.fullmatch(form, text, re.ASCII)
    if found is None:
        return None
    factor, whole, ratio, step, divisor = found.groups()
    p = Fraction(0) if step else Fraction(whole or ratio or 1)
    return p, Fraction(factor or 1) / Fraction(divisor or 1)


def floors(text: str, scale: int, q: int) -> list[int] | None:
    """Return floor(scale * g(k/q)), k = 0..q, in integers, where g is a power or a table; None otherwise.

    >>> floors("z**(1/2)/2", 10, 4), floors("[0, 1/2, 3/4]", 10, 2), floors("Min(2*z, 1)", 10, 4)
    ([0, 2, 3, 4, 5], [0, 5, 7], [0, 5, 10, 10, 10])
    """
    if text.startswith("["):  # a table of exact values on its own grid, of which q takes every step-th
        values = [fraction(value.strip()) for value in text.strip("[]").split(",")]
        if (len(values) - 1) % q:
            raise Rejected(f"a table of {len(values)} values has none at k/{q}")
        return [scale * v.numerator // v.denominator for v in values[:: (len(values) - 1) // q]]
    if text.startswith("Min(") and text.endswith(", 1)"):  # alpha < 1
        inner = floors(text[4:-4], scale, q)
        return inner and [min(scale, value) for value in inner]
    known = (Fraction(1), Fraction(0)) if text == "0" else power(text)
    if known is None:
        return None
    p, factor = known
    a, b = p.numerator, p.denominator
    return [0] + [root(int((scale * factor) ** b * Fraction(k, q) ** a), b) for k in range(1, q + 1)]


def root(value: int, degree: int) -> int:
    """Return the largest integer whose power of that degree is at most `value`.

    >>> root(26, 3), root(27, 3)
    (2, 3)
    """
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def fingerprint(facts: dict[str, Any]) -> str:
    """Return sha256 of all facts but the fingerprint itself, as JSON with sorted keys and without spaces.

    >>> fingerprint({"q": 2, "scheme_fingerprint": ""})[:16]
    'f39fb134398474c0'
    """
    own = {name: value for name, value in facts.items() if name != "scheme_fingerprint"}
    return hashlib.sha256(json.dumps(own, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def listed(facts: dict[str, Any], component: int) -> list[Any]:
    """Return the divider gaps of every finite outcome of a component; of a periodic one, all offsets of each width in
    turn.

    >>> [list(row) for row in listed({"q": 3, "widths": [[[1, 1], [2, 1]]]}, 0)]
    [[1, 2, 3], [1, 3], [2]]
    """
    if facts["widths"] is None:
        return list(facts["rows"][component])
    q = facts["q"]
    combs = [([range(s + 1, q + 1, width) for s in range(width)], w) for width, w in facts["widths"][component]]
    return [row for rows, times in combs for row in rows * times]


def most_separated(facts: dict[str, Any], component: int) -> list[int]:
    """By k = 0..q, the largest number of a component's outcomes that separate two levels k apart.

    Of the j offsets of a width j, exactly min(j, k) separate any such pair.

    >>> most_separated({"q": 2, "widths": None, "rows": [[[1], [1, 2]]]}, 0)
    [0, 2, 2]
    >>> most_separated({"q": 2, "widths": [[[1, 1], [2, 3]]]}, 0)
    [0, 4, 7]
    """
    q = facts["q"]
    if facts["widths"] is not None:
        return [sum(w * min(width, k) for width, w in facts["widths"][component]) for k in range(q + 1)]
    most = [0] * (q + 1)
    for x in range(q + 1):
        ahead = [0] * (q + 2)  # by the first divider above x: it separates x from all levels from there on
        for row in facts["rows"][component]:
            at = bisect_right(row, x)
            ahead[row[at] if at < len(row) else q + 1] += 1
        separated = 0
        for y in range(x + 1, q + 1):
            separated += ahead[y]
            most[y - x] = max(most[y - x], separated)
    return most


def check_design(facts: dict[str, Any]) -> None:
    """No pair of levels x < y is separated by more than B g((y-x)/q) outcomes.

    >>> facts = {"q": 2, "budget": 4, "scale": 4, "metric": ["z/2"], "shape": [1], "widths": None}
    >>> check_design(facts | {"rows": [[[1], [2]]], "costs": [[0, 1, 2]]})
    ok: the costs are 4 * (z/2), rounded down
    ok: 2 outcomes with dividers fit the budget 4
    ok: the dividers of every outcome rise within the gaps 1..2
    ok: no pair of levels is separated by more than 4 * (z/2) outcomes
    """
    q, budget, scale = facts["q"], facts["budget"], facts["scale"]
    if not all(1 <= number < 1 << 64 for number in (q, budget, scale, *facts["shape"])):
        raise Rejected("q, the budget, the scale and the shape are positive, and below 2**64")
    lists = facts["rows"] if facts["widths"] is None else facts["widths"]
    for component, (text, rows, costs) in enumerate(zip(facts["metric"], lists, facts["costs"], strict=True)):
        if len(costs) != q + 1:
            raise Rejected(f"{len(costs)} costs of g = {text} for {q + 1} distances")
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
        if costs[0] != 0 or sorted([*costs, scale]) != [*costs, scale]:
            raise Rejected(f"the {q + 1} costs of g = {text} do not rise from 0 to {scale} at most")
        if facts["widths"] is None:
            finite = len(rows)
            rising = (all(a < b for a, b in zip([0, *row], [*row, q + 1], strict=True)) for row in rows)
            proper = f"the dividers of every outcome rise within the gaps 1..{q}", all(rows) and all(rising)
        else:
            finite = sum(width * times for width, times in rows)
            once = [width for width, _ in rows] == sorted({width for width, _ in rows})
            proper = f"widths rise within 1..{q}", once and all(1 <= width <= q and n >= 1 for width, n in rows)
        demand(finite <= budget, f"{finite} outcomes with dividers fit the budget {budget}")
        demand(proper[1], proper[0])
        for k, separated in enumerate(most_separated(facts, component)):
            if separated > caps[k]:
                raise Rejected(f"{separated} outcomes separate two levels {k} apart, B g allows {caps[k]}")
        demand(True, f"no pair of levels is separated by more than {budget} * ({text}) outcomes")


def components(facts: dict[str, Any]) -> list[int]:
    """Return the component of the metric that each feature belongs to.

    >>> components({"shape": [2, 2], "groups": [1, 0], "metric": ["z", "0"]})
    [1, 1, 0, 0]
    """
    shape = facts["shape"]
    groups = facts["groups"] or [0] * shape[0]
    if len(groups) != shape[0] or not set(groups) <= set(range(len(facts["metric"]))):
        raise Rejected(f"groups {groups} do not give each of {shape[0]} indices one of the components")
    return [group for group in groups for _ in range(prod(shape[1:]))]


def check_coupling(facts: dict[str, Any]) -> list[int]:
    """Return the weights of the samples. A feature meets every outcome of its list once, or with its weight.

    >>> facts = {"coupling": "global", "budget": 5, "widths": [[[1, 1], [2, 1]]], "weights": [1, 1, 1, 2]}
    >>> check_coupling(facts | {"samples": [[1, 0], [2, 0], [2, 1], [0, 0]]})
    ok: the weights are those of the widths in the list
    [1, 1, 1, 2]
    """
    coupling, budget, weights = facts["coupling"], facts["budget"], facts["weights"]
    if coupling != "global":
        demand(coupling in ("cyclic", "permutation") and weights is None, f"{coupling} samples count once each")
        for component, positions in zip(range(len(facts["metric"])), facts["positions"], strict=True):
            finite, places = len(listed(facts, component)), set(positions)
            once = finite == len(places) == len(positions) and places <= set(range(budget))
            demand(once, f"each of {finite} outcomes with dividers has its own place in a list of {budget}")
        if coupling == "cyclic":
            sites = prod(facts["shape"][1:] if facts["pixel"] else facts["shape"])
            own = len(facts["offsets"]) == sites and all(0 <= offset < budget for offset in facts["offsets"])
            demand(own, f"{sites} sites have an offset in 0..{budget - 1}")
        return [1] * budget
    (widths,) = facts["widths"]
    if sum(width for width, _ in widths) > len(weights):
        raise Rejected(f"{len(weights)} weights are not those of all offsets of the widths")
    expected = [[width, phase, times] for width, times in widths for phase in range(width)]
    rest = budget - sum(times for _, _, times in expected)
    expected += [[0, 0, rest]] * (rest > 0)
    found = [[*sample, weight] for sample, weight in zip(facts["samples"], weights, strict=True)]
    demand(sorted(found) == sorted(expected), "the weights are those of the widths in the list")
    return list(weights)


class Moves:
    """The moves of all features of one image, priced for one worth of the samples (cyclic coupling).

    >>> facts = {"q": 2, "budget": 4, "shape": [1], "groups": [], "offsets": [0], "positions": [[0, 1]],
    ...          "metric": ["z"], "widths": None, "rows": [[[1], [2]]], "costs": [[0, 1, 2]]}
    >>> Moves(facts, levels=[0], worth=[1, 1, 0, 0]).gains(0)  # a divider above level 0, another above level 1
    [0, 1, 2]
    """

    def __init__(self, facts: dict[str, Any], levels: list[int], worth: list[int]) -> None:
        self.facts, self.levels = facts, levels
        self.doubled = worth + worth
        self.sites = len(facts["offsets"])
        self.component = components(facts)
        self.rows = [listed(facts, c) for c in range(len(facts["metric"]))]
        self.reach: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def brings(self, feature: int) -> list[int]:
        """Return the worth of the samples in which the feature uses each finite outcome of its component."""
        late = self.facts["budget"] - self.facts["offsets"][feature % self.sites]
        return [self.doubled[position + late] for position in self.facts["positions"][self.component[feature]]]

    def gains(self, feature: int) -> list[int]:
        """Return the largest gain of moving by at most k = 0..q levels, up or down."""
        q, key = self.facts["q"], (self.component[feature], self.levels[feature])
        if key not in self.reach:
            up, down = [], []
            for row in self.rows[key[0]]:
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
        """Return (sum over items of max(0, m*gain - cost), all attainable gain); an item is a feature, or a pixel.

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


def unpack(codes: list[int], classes: int) -> tuple[list[list[int]], list[int]]:
    """Return (ranks, votes) of packed rankings. ranks[t][a] < ranks[t][b]: sample t surely prefers a to b; a vote is
    the first place, or `classes` if it is unsure.

    A code is the number of the ordered choice of the first places (mixed radix, each digit counting the smaller classes
    that are left) and then one bit for every gap between neighbours, set if they are too close to call; the last bit
    stands for all gaps from there on.

    >>> unpack([21, 19], 3)  # 2 > 1 ~ 0, and 2 ~ 0 ~ 1
    ([[1, 1, 0], [0, 0, 0]], [2, 3])
    """
    places, flags, number = 0, 0, 1
    for count in range(1, classes + 1):
        number *= classes - count + 1
        gaps = min(count, classes - 1)
        if number << min(gaps, 3) > 1 << 32:
            break
        places, flags = count, min(gaps, ((1 << 32) // number).bit_length() - 1)
    found, votes = [], []
    for code in codes:
        near = [code >> (flags - 1 - min(gap, flags - 1)) & 1 for gap in range(places)]
        rest, digits = code >> flags, []
        for place in range(places - 1, -1, -1):
            rest, digit = divmod(rest, classes - place)
            digits.append(digit)
        if rest:
            raise Rejected(f"{code} packs no ranking of {classes} classes")
        left, rank, ranks = list(range(classes)), 0, [0] * classes
        for place, digit in enumerate(reversed(digits)):
            ranks[left[digit]] = rank
            if place == 0:
                votes.append(classes if near[0] else left[digit])
            del left[digit]
            rank += not near[place]
        for behind in left:
            ranks[behind] = rank
        found.append(ranks)
    return found, votes


class Races:
    """What the rivals of a run-off's winner must do, and how near they are to it; votes == `classes` are unsure.

    - ("overtake", a, k): k gets ahead of a in the first round; need s_a - s_k - U + [a < k], a changed sample brings 2
      (it voted a), 1 (another class), 0 (k, or unsure);
    - ("together", k, l): both get ahead of c, added up; need 2 s_c - s_k - s_l - U + [c < k] + [c < l], brings 3, 1, 0;
    - ("duel", c, k): need 2 S - B + [c < k], S samples surely prefer c to k, each of which brings 2.

    >>> races = Races([[0, 1, 2]] * 4 + [[1, 0, 2]] * 3 + [[2, 1, 0]], [0] * 4 + [1] * 3 + [2], [1] * 8)
    >>> races.winner, races.need(("duel", 0, 1)), races.need(("overtake", 1, 2)), races.need(("together", 1, 2))
    (0, 1, 3, 6)
    """

    def __init__(self, ranks: list[list[int]], votes: list[int], weights: list[int]) -> None:
        self.ranks, self.votes, self.weights, self.classes = ranks, votes, weights, len(ranks[0])
        self.counts = [sum(w for v, w in zip(votes, weights, strict=True) if v == k) for k in range(self.classes)]
        self.unsure = sum(weights) - sum(self.counts)
        a, b = sorted(sorted(range(self.classes), key=lambda k: (-self.counts[k], k))[:2])
        self.winner = a if self.prefer(a, b) >= self.prefer(b, a) else b

    def prefer(self, a: int, b: int) -> int:
        """Return the weight of the samples that surely prefer a to b."""
        return sum(w for ranks, w in zip(self.ranks, self.weights, strict=True) if ranks[a] < ranks[b])

    def need(self, race: tuple[str, int, int]) -> int:
        """Return how much must be gained before the race can be won."""
        (kind, a, k), c, s = race, self.winner, self.counts
        if kind == "overtake":
            return s[a] - s[k] - self.unsure + (a < k)
        if kind == "together":
            return 2 * s[c] - s[a] - s[k] - self.unsure + (c < a) + (c < k)
        return 2 * self.prefer(c, k) - sum(self.weights) + (c < k)

    def worth(self, race: tuple[str, int, int]) -> list[int]:
        """Return what each sample brings at most if it changes."""
        (kind, a, k), c = race, self.winner
        if kind == "duel":
            return [2 * w * (ranks[c] < ranks[k]) for ranks, w in zip(self.ranks, self.weights, strict=True)]
        most = {self.classes: 0, k: 0} | ({a: 2} if kind == "overtake" else {a: 0, c: 3})
        return [w * most.get(vote, 1) for vote, w in zip(self.votes, self.weights, strict=True)]

    def events(self) -> list[list[tuple[str, int, int]]]:
        """Return every way to lose, with races that all have to be won for it."""
        c, rivals = self.winner, [k for k in range(self.classes) if k != self.winner]
        finals = [[("duel", c, k), *(("overtake", j, k) for j in rivals if j != k)] for k in rivals]
        pairs = [(k, m) for k in rivals for m in rivals if k < m]
        return finals + [[("overtake", c, k), ("overtake", c, m), ("together", k, m)] for k, m in pairs]


def check_runoff(document: dict[str, Any], facts: dict[str, Any], levels: list[int], races: Races) -> None:
    """Demand that every way to lose has a race that cannot be won within the ball.

    >>> races = Races([[0, 1, 2]] * 7 + [[1, 0, 2]], [0] * 7 + [1], [1] * 8)
    >>> claim = {"radius": "1/2", "ball": "open", "method": "runoff", "races": []}
    >>> check_runoff(claim, {"budget": 8}, [], races)
    ok: none of 3 ways to lose the run-off is open in the ball
    """
    radius, closed, budget = Fraction(document["radius"]), document["ball"] == "closed", facts["budget"]
    priced = {(kind, a, b): m for kind, a, b, m in document["races"]}
    lost: set[tuple[str, int, int]] = set()  # races that cannot be won, by their stored m

    def by_counts(race: tuple[str, int, int]) -> bool:
        whole = Fraction(-(-races.need(race) // (3 if race[0] == "together" else 2)), budget)
        return races.need(race) >= 1 and (radius < whole or (radius == whole and not closed))

    def by_price(race: tuple[str, int, int]) -> bool:
        if race in lost:
            return True
        if race not in priced or races.need(race) < 1:
            return False
        demand(facts["coupling"] not in ("permutation", "global"), "the coupling is cyclic: moves can be priced here")
        own = all(sorted(set(p)) == sorted(p) and set(p) <= set(range(budget)) for p in facts["positions"])
        demand(own and len(facts["positions"]) == len(facts["metric"]), "every outcome has its own place in a list")
        m = priced[race] or 0
        below = radius < 1 or (radius == 1 and not closed)
        excess, attainable = Moves(facts, levels, races.worth(race)).evaluate(m, document["threat"], below)
        bound = Fraction(m * races.need(race) - excess, facts["scale"])
        if attainable < races.need(race) or radius < bound or (radius == bound and not closed):
            lost.add(race)
        return race in lost

    for event in races.events():
        safe = any(map(by_counts, event)) or (document["method"] == "runoff_vote_aware" and any(map(by_price, event)))
        if not safe:
            raise Rejected(f"not so: {event} cannot all be won in the ball")
    demand(True, f"none of {len(races.events())} ways to lose the run-off is open in the ball")


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
    demand(document["format"] == "ecm-certificate/1" and facts["format"] == "ecm-facts/2", "the formats are known")
    demand(hashlib.sha256(facts_text.encode()).hexdigest() == document["facts_sha256"], "the facts are those meant")
    demand(hashlib.sha256(votes_data).hexdigest() == document["votes_sha256"], "the votes are those meant")
    head = f"({', '.join(map(str, document['shape']))}{',' if len(document['shape']) == 1 else ''})".encode()
    demand(hashlib.sha256(head + levels_data).hexdigest() == document["image_sha256"], "the image is the one meant")
    for name in ("shape", "q", "budget", "metric", "scheme_fingerprint"):
        demand(document[name] == facts[name], f"{name} = {document[name]}, in both files")
    demand(fingerprint(facts) == facts["scheme_fingerprint"], "the fingerprint is that of the facts")
    print(f"on trust: the votes were cast under the scheme with the fingerprint {facts['scheme_fingerprint'][:16]}...")
    size, classes = document["vote_bytes"], document["classes"]
    votes, levels = integers(votes_data, size), integers(levels_data, 4)
    rule = document.get("rule", "plurality")
    demand(rule in ("plurality", "runoff"), f"the class is that of a {rule}")
    demand(len(document["counts"]) == classes, f"{classes} classes have a count")
    runoff = rule == "runoff"
    ranks: list[list[int]] = []
    if runoff:
        demand(size == 4 and classes >= 2, "a run-off has rankings of four bytes")
        ranks, votes = unpack(votes, classes)
    sides = facts["shape"]  # compared before anything of that size is made
    demand(min(sides) >= 1 and len(levels) == prod(sides), f"{len(levels)} levels make an image of shape {sides}")
    demand(len(levels) == len(components(facts)) and max(levels) <= facts["q"], f"levels are 0..{facts['q']}")
    check_design(facts)
    samples = facts["weights"] if facts["coupling"] == "global" else range(facts["budget"])
    demand(len(votes) == len(samples), f"{len(votes)} votes, all there are")
    weights = check_coupling(facts)
    unsure_code = classes if runoff else 256**size - 1
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
    races = Races(ranks, votes, weights) if runoff else None
    if races is None:
        demand(chosen == counts.index(max(counts)), f"class {chosen} has most sure votes")
    else:
        demand(chosen == races.winner, f"class {chosen} wins the run-off")
    if document["radius"] is None:
        print("ok: the document claims no certificate")
        return
    pixels = document["threat"] == "pixels" and facts["pixel"] and len(facts["metric"]) == 1
    demand(document["threat"] == "features" or pixels, "the threat fits")
    radius, closed, budget = fraction(document["radius"]), document["ball"] == "closed", facts["budget"]
    demand(document["ball"] in ("open", "closed"), f"the ball is {document['ball']}")
    if document["everywhere"]:
        tops = [facts["costs"][c][-1] + 1 for c in components(facts)]
        demand(closed and radius * facts["scale"] >= sum(tops), f"no two points are further apart than {radius}")
    if races is not None:
        check_runoff(document, facts, levels, races)
    multipliers = dict(document["multipliers"])
    for rival in (k for k in range(classes) if k != chosen and not runoff):
        need = counts[chosen] - counts[rival] - unsure + (chosen < rival)
        demand(need >= 1, f"class {rival} still needs {need}")
        paper, whole = Fraction(need - 1, 2 * budget), Fraction((need + 1) // 2, budget)
        if radius <= paper or (not closed and radius <= whole) or radius < whole:
            demand(True, f"class {rival} cannot win in the ball, by counts")
            continue
        demand(document["method"] == "vote_aware" and rival in multipliers, f"class {rival}: a multiplier is given")
        demand(facts["coupling"] == "cyclic", "the coupling is cyclic, so that this file can price the moves")
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
    """Return the command line; the exit code.

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
