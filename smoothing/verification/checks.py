"""The checks of the `smoothing` floor: noise against its definition, couplings, the Lipschitz property, certificates.

They are found by `ecm.verify` through the entry point group `ecm.checks`. Whatever can be enumerated is: the noise over
all levels and outcomes at the q that was asked for, the certificates over all points of a small twin of the problem
(the same g on a coarser grid).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecm import ECM
from ecm.arrays import Ints
from ecm.design import Design
from ecm.verification import Check, Counterexample, Evidence, Setting, separated_pairs
from smoothing.certificates import Certificate, Certifier, pack_orders
from smoothing.scheme import Grid, Noise, Scheme
from smoothing.verification.brute_force import UNSURE, BruteForce
from smoothing.verification.strategies import votes as base_functions
from smoothing.votes import decide

__all__ = ["CHECKS"]

Base = Callable[[NDArray[Any], NDArray[Any]], Ints]

CLASSES = 3
METHODS: tuple[Literal["paper", "integer", "vote_aware"], ...] = ("paper", "integer", "vote_aware")
RUNOFF: tuple[Literal["runoff", "runoff_vote_aware"], ...] = ("runoff", "runoff_vote_aware")
COUNTED: tuple[Literal["paper", "integer", "runoff"], ...] = ("paper", "integer", "runoff")


# ---- noise and coupling at the q that was asked for ----------------------------------------------------------------


def ends(gaps: Ints, q: int) -> tuple[Ints, Ints]:
    """Return the bins of the levels 0..q by definition: from the last divider below (or 0) to the next above (or
    2q)."""
    level, divider = np.arange(q + 1)[None, :], gaps[:, None]
    below = np.where(divider <= level, 2 * divider - 1, 0)
    above = np.where(divider > level, 2 * divider - 1, 2 * q)
    return below.max(axis=0, initial=0), above.min(axis=0, initial=2 * q)


def _defined(design: Design) -> list[tuple[Ints, Ints]]:
    """Return the ends [finite + 1, q + 1] of every outcome and level by component; the last row has no divider."""
    tables = []
    for part in design.outcomes:
        rows = [ends(row, design.q) for row in (*part.rows(), np.zeros(0, dtype=np.int64))]
        tables.append((np.stack([low for low, _ in rows]), np.stack([high for _, high in rows])))
    return tables


def _groups(metric: ECM) -> int:
    return max(1, len(metric.groups))


def _kernel(setting: Setting) -> Evidence:
    q, design = setting.q, setting.design
    if q > 4095:
        return Evidence("not checked", 0, f"q = {q}: the definition is written out for q <= 4095 only")
    tables = _defined(design)
    shape = (_groups(setting.metric), q + 1)
    x = torch.arange(q + 1).expand(shape)[None]
    scheme = Scheme(design, shape, seed=setting.seed)
    noise = Noise(scheme)
    features = np.arange(scheme.features)
    level = x.flatten().numpy()
    cases = 0
    for start in range(0, scheme.samples, 256):
        samples = np.arange(start, min(start + 256, scheme.samples))
        lower, upper = (t[0].flatten(1).numpy() for t in noise.bounds(x, samples.tolist()))
        shown = noise.inputs(x, samples.tolist())[0].numpy().reshape(len(samples), 2, -1)
        outcome = scheme.outcome(features[None, :], samples[:, None])
        for c, (low, high) in enumerate(tables):
            mine = scheme.component == c
            row = np.minimum(outcome[:, mine], len(low) - 1)
            expected = low[row, level[mine]], high[row, level[mine]]
            for name, got, want in (("lower", lower, expected[0]), ("upper", upper, expected[1])):
                wrong = np.argwhere(got[:, mine] != want)
                if len(wrong):
                    t, i = wrong[0]
                    raise Counterexample(
                        f"{name} of level {level[mine][i]} at sample {samples[t]} is {got[:, mine][t, i]} half-steps, "
                        f"by definition {want[t, i]} (outcome {row[t, i]} of component {c})"
                    )
            for plane, want in ((1, expected[0]), (0, expected[1])):
                if not np.array_equal(shown[:, plane, mine], (want / (2 * q)).astype(np.float32)):
                    raise Counterexample(
                        f"the network is shown other values than the ends of the bins, samples {samples}"
                    )
        cases += len(samples) * scheme.features
    return Evidence("exhaustive", cases, "every level under every outcome, on tensors, against the definition")


def _coupling(setting: Setting) -> Evidence:
    cases = 0
    shape = (len(setting.metric.groups) or 2, 4)
    for name, scheme in _schemes(setting, shape):
        weights = scheme.weights if scheme.weights is not None else np.ones(scheme.samples, dtype=np.int64)
        if int(weights.sum()) != setting.budget or weights.min() < 1:
            raise Counterexample(f"{name}: the samples weigh {weights.sum()}, not B = {setting.budget}")
        if not 0 <= scheme.offsets.min() <= scheme.offsets.max() < setting.budget:
            raise Counterexample(
                f"{name}: offsets {scheme.offsets.min()}..{scheme.offsets.max()}, B = {setting.budget}"
            )
        if scheme.coupling == "spread":
            _require_lattice(name, scheme)
        if scheme.pixel:
            every = scheme.outcome(np.arange(scheme.features)[:, None], np.arange(scheme.samples)[None, :])
            if (every.reshape(*shape, -1) != every.reshape(*shape, -1)[:1]).any():
                raise Counterexample(f"{name}: the channels of a pixel do not share their outcomes")
        for feature in range(scheme.features):
            seen = scheme.outcome(feature, np.arange(scheme.samples))
            part = scheme.design.outcomes[scheme.component[feature]]
            if scheme.weights is None:
                if not np.array_equal(np.sort(seen), np.arange(setting.budget)):
                    raise Counterexample(f"{name}: feature {feature} does not see every outcome once")
            elif not np.array_equal(_weighed(part, seen, weights), _weighed(part, np.arange(setting.budget), None)):
                raise Counterexample(f"{name}: feature {feature} does not see every outcome with its weight")
            cases += scheme.samples
    return Evidence("exhaustive", cases, "every coupling, order and feature of a small input, over all samples")


def _require_lattice(name: str, scheme: Scheme) -> None:
    """No two features of one channel and component that are shown together are closer than their lattice's distance."""
    grid = Grid.of(scheme.shape, scheme.pixel)
    channel, *axes = np.indices((grid.channels, *grid.places)).reshape(1 + len(grid.places), -1)
    where = np.stack(axes, axis=1)
    for component, outcomes in enumerate(scheme.design.outcomes):
        distance = scheme.lattice(component).distance
        mine = np.flatnonzero(scheme.component[: scheme.sites] == component)
        squared = ((where[mine][:, None] - where[mine][None]) ** 2).sum(-1)
        squared[channel[mine][:, None] != channel[mine][None]] = distance
        np.fill_diagonal(squared, distance)
        close = (squared < distance) & (len(grid.places) > 1)
        shown = scheme.outcome(mine, np.arange(scheme.samples)[:, None]) < outcomes.finite
        for t in np.flatnonzero(shown.any(1)):
            together = np.flatnonzero(shown[t])
            if close[np.ix_(together, together)].any():
                raise Counterexample(
                    f"{name}: sample {t} shows features of component {component} at a squared distance below {distance}"
                )


def _weighed(part: Any, ids: Ints, weights: Ints | None) -> Ints:
    """Return the weight of each distinct row of dividers, in a canonical order, infinite outcomes first."""
    rows = [tuple(row.tolist()) for row in part.rows()]
    total: dict[tuple[int, ...], int] = {}
    for place, i in enumerate(ids.tolist()):
        row = rows[i] if i < len(rows) else ()
        total[row] = total.get(row, 0) + (1 if weights is None else int(weights[place]))
    return np.array([total[row] for row in sorted(total)])


def _schemes(setting: Setting, shape: tuple[int, ...]) -> Iterator[tuple[str, Scheme]]:
    """Yield every coupling and order that the metric allows, for inputs of that shape."""
    design = setting.design
    yield "spread", Scheme(design, shape, seed=setting.seed)
    yield "spread interleaved", Scheme(design, shape, order="interleaved", seed=setting.seed)
    yield "independent interleaved", Scheme(design, shape, coupling="independent", seed=setting.seed)
    yield "independent published", Scheme(design, shape, coupling="independent", order="published", seed=setting.seed)
    yield "permutation", Scheme(design, shape, coupling="permutation", seed=setting.seed)
    if len(design.outcomes) == 1:
        yield "spread pixel", Scheme(design, shape, pixel=True, seed=setting.seed)
        yield "independent pixel", Scheme(design, shape, coupling="independent", pixel=True, seed=setting.seed)
        periodic = setting.metric.design(design.budget, design.q, kind="periodic")
        yield "global", Scheme(periodic, shape, coupling="global", seed=setting.seed)


# ---- the Lipschitz property ----------------------------------------------------------------------------------------


def _hypothesis(setting: Setting, run: Callable[[st.DataObject], None], share: float = 1.0) -> int:
    """Run the property on examples drawn from the seed; a failure is shrunk and raised as a Counterexample."""
    count = max(1, int(setting.examples * share))
    config = settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
    )

    @seed(setting.seed)
    @config
    @given(st.data())
    def property_holds(data: st.DataObject) -> None:
        run(data)

    property_holds()
    return count


def _tally(base: Base, noise: Noise, x: Ints, classes: int) -> tuple[Ints, Ints]:
    """Return labels of all samples and weighted counts of one input."""
    scheme = noise.scheme
    lower, upper = noise.bounds(torch.from_numpy(x)[None], range(scheme.samples))
    labels = base(lower[0].numpy(), upper[0].numpy())
    weights = scheme.weights if scheme.weights is not None else np.ones(scheme.samples, dtype=np.int64)
    return labels, np.bincount(labels, weights, minlength=classes).astype(np.int64)


def _lipschitz(setting: Setting) -> Evidence:
    q, classes = setting.q, CLASSES
    if q > 4095:
        return Evidence("not checked", 0, f"q = {q}: checked for q <= 4095")
    shape = (_groups(setting.metric), 3)
    noises = [
        (name, Noise(scheme), [separated_pairs(part) for part in scheme.design.outcomes])
        for name, scheme in _schemes(setting, shape)
    ]
    levels = st.integers(0, q)

    def run(data: st.DataObject) -> None:
        name, noise, pairs = data.draw(st.sampled_from(noises))
        base = data.draw(base_functions(classes))
        size = noise.scheme.features
        x = np.array(data.draw(st.lists(levels, min_size=size, max_size=size)))
        y = np.array(data.draw(st.lists(levels, min_size=size, max_size=size)))
        # sum_i c(x_i, y_i); that c <= B g is the design's own check, over all pairs
        allowed = sum(int(pairs[c][x[i], y[i]]) for i, c in enumerate(noise.scheme.component.tolist()))
        _, here = _tally(base, noise, x.reshape(shape), classes)
        _, there = _tally(base, noise, y.reshape(shape), classes)
        if np.abs(here - there).max() > allowed:
            raise Counterexample(f"{name}: counts {here} at {x}, {there} at {y}, but only {allowed} samples may differ")

    count = _hypothesis(setting, run, 0.5)
    return Evidence("Hypothesis", count, "arbitrary base functions, all couplings, in integers")


# ---- certificates on a small twin ----------------------------------------------------------------------------------


def twin(setting: Setting) -> Setting:
    """Return the same g on a grid small enough to enumerate."""
    grid = setting.metric.grid
    q = 4 if grid is None else max(d for d in range(1, 6) if grid % d == 0)
    top = max(float(profile.values(q)[-1]) for profile in setting.metric.components)
    budget = max(8, min(120, int(np.ceil(8 / top)))) if top > 0 else 8
    return Setting(setting.metric, q, budget, setting.examples, setting.seed, setting.quick)


Case = Callable[[st.DataObject, BruteForce], int]
"""Looks at the certificates of a random classifier at a random point, and returns how many points they cover.

Raises Counterexample where a point that a certificate covers gets another class.
"""


def _on_the_twin(setting: Setting, case: Case) -> Evidence:
    """Run the case on every coupling of a small twin, whose points can all be enumerated."""
    small = twin(setting)
    groups = len(small.metric.groups)
    shape = (groups or 2, 2 if groups < 3 else 1)  # two channels at least, so that sharing offsets by pixel matters
    if (small.q + 1) ** (shape[0] * shape[1]) > 20_000:
        return Evidence("not checked", 0, f"{shape[0]} groups of features: too many points to enumerate")
    worlds = [(name, BruteForce(scheme)) for name, scheme in _schemes(small, shape)]
    certified = [0]
    where = f"{small.metric}, q = {small.q}, B = {small.budget}"

    def run(data: st.DataObject) -> None:
        name, world = data.draw(st.sampled_from(worlds))
        try:
            certified[0] += case(data, world)
        except Counterexample as found:
            raise Counterexample(f"{name}, {where}: {found}") from None

    count = _hypothesis(setting, run)
    note = f"all points of a twin with q = {small.q}, B = {small.budget}; {certified[0]:,} certified points looked at"
    return Evidence("Hypothesis", count, note)


def _certificates(setting: Setting) -> Evidence:
    return _on_the_twin(setting, _plurality_case)


def _plurality_case(data: st.DataObject, world: BruteForce) -> int:
    x = data.draw(st.integers(0, len(world.points) - 1))
    f = _voting_function(data, world)
    if data.draw(st.booleans()):
        counts = np.bincount(f[world.shown[:, x]], minlength=CLASSES)[:CLASSES]
        rivals = [k for k in range(CLASSES) if k != int(counts.argmax())]
        f = world.worst(f, x, data.draw(st.sampled_from(rivals)))
    votes = world.votes(f, x)
    balls = [Certifier(world.scheme, CLASSES, method)(votes, world.points[x]) for method in METHODS]
    if sorted(balls, key=lambda ball: ball.strength) != balls:
        radii = [f"{ball.method}: {ball.radius}" for ball in balls]
        raise Counterexample(f"the stronger certificate is smaller at x = {world.points[x].tolist()}: {radii}")
    expected = world.predictions(f, CLASSES, 0)[x]
    if UNSURE not in votes and any(ball.prediction != expected for ball in balls):
        raise Counterexample(f"class {balls[0].prediction} instead of {expected} for {votes}")
    for ball in balls:
        _refuse(
            ball, world.counterexample(ball, f, x, CLASSES), f"x = {world.points[x].tolist()}, votes {votes.tolist()}"
        )
    return sum(int(world.inside(ball, x).sum()) for ball in balls)


def _runoff(setting: Setting) -> Evidence:
    return _on_the_twin(setting, _runoff_case)


def _runoff_case(data: st.DataObject, world: BruteForce) -> int:
    classes = data.draw(st.integers(3, 4))
    x = data.draw(st.integers(0, len(world.points) - 1))
    ranks = _ranking_function(data, world.inputs, classes)
    codes = world.rankings(ranks, x)
    balls = [Certifier(world.scheme, classes, method)(codes, world.points[x]) for method in RUNOFF]
    winner = balls[0].prediction
    if balls[0].strength > balls[1].strength or balls[1].prediction != winner:
        raise Counterexample(f"vote-aware {balls[1].radius} is less than {balls[0].radius} by counts")
    others = [k for k in range(classes) if k != winner]
    first, second = data.draw(st.permutations(others).map(lambda order: order[:2]))
    orders = [np.array([k, *(j for j in others if j != k), winner]) for k in (first, second)]
    turns = ([0], [0, 1], [0, 0, 1, 1], [0, 1, 1])  # who gains by the samples that a move touches, in turn
    worst = [world.worst_rankings(ranks, x, *(orders[i] for i in turn)) for turn in turns]
    for f in (ranks, *worst):
        for ball in balls:
            _refuse(
                ball,
                world.runoff_counterexample(ball, f, x),
                f"x = {world.points[x].tolist()}, ranks {f[world.shown[:, x]].tolist()}",
            )
    return (1 + len(worst)) * sum(int(world.inside(ball, x).sum()) for ball in balls)


def _refuse(ball: Certificate, y: Ints | None, shown: str) -> None:
    """Raises Counterexample if y is a point inside the ball that gets another class."""
    if y is not None:
        raise Counterexample(
            f"{ball.method} certifies class {ball.prediction} {'up to' if ball.closed else 'below'} {ball.radius}, "
            f"{shown}, but y = {y.tolist()} gets another class"
        )


def _ranking_function(data: st.DataObject, inputs: int, classes: int) -> Ints:
    """Return the rank of every class (equal: too close to call) for every input that can be shown. Some class is often
    ahead; or it has few first places, but is nowhere far behind, so that it is easily ousted and wins every duel."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ahead = rng.permutation(classes) * data.draw(st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    score = rng.random((inputs, classes)) - ahead
    if data.draw(st.booleans()):
        liked = int(rng.integers(classes))
        rest = np.sort(np.delete(rng.random((inputs, classes)), liked, axis=1), axis=1)
        score[:, np.arange(classes) != liked] = rng.permuted(rest, axis=1)
        score[:, liked] = np.where(
            rng.random(inputs) < rng.uniform(1 / classes, 0.6), -1, (rest[:, 0] + rest[:, 1]) / 2
        )
    order = np.argsort(score, axis=1)
    near = data.draw(st.sampled_from([0.0, 0.0, 0.1]))
    ranks = np.zeros((inputs, classes), np.int64)
    np.put_along_axis(ranks, order, np.cumsum(rng.random((inputs, classes)) >= near, axis=1), axis=1)
    return ranks


def _voting_function(data: st.DataObject, world: BruteForce) -> Ints:
    """Return a class (or UNSURE) for every input that can be shown; mostly one class, so that something is
    certified."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    if data.draw(st.booleans()):  # two classes at random: ties, and margins of one vote
        return rng.permutation(CLASSES)[rng.integers(0, 2, world.inputs)].astype(np.int64)
    others = data.draw(st.floats(0, 0.6))
    unsure = data.draw(st.sampled_from([0.0, 0.0, 0.1]))
    f = np.where(rng.random(world.inputs) < others, rng.integers(0, CLASSES, world.inputs), rng.integers(CLASSES))
    return np.where(rng.random(world.inputs) < unsure, UNSURE, f).astype(np.int64)


def _early(setting: Setting) -> Evidence:
    small = twin(setting)
    scheme = Scheme(small.design, (_groups(small.metric), 2), seed=small.seed)
    label = st.one_of(st.just(0), st.sampled_from([0, 1, 2, UNSURE]))

    def run(data: st.DataObject) -> None:
        ballot: NDArray[Any] = np.array(
            data.draw(st.lists(label, min_size=small.budget, max_size=small.budget)), dtype=np.uint8
        )
        asked = Fraction(data.draw(st.integers(0, small.budget)), 2 * small.budget)
        method = data.draw(st.sampled_from(COUNTED))
        if method == "runoff":  # a second choice as well, and unsure first ones
            second = np.array(data.draw(st.lists(st.integers(1, 2), min_size=small.budget, max_size=small.budget)))
            first = np.where(ballot == UNSURE, 0, ballot).astype(np.int64)
            orders = np.stack([first, (first + second) % 3, (first + 3 - second) % 3], axis=1)
            ballot = pack_orders(orders, np.stack([ballot == UNSURE, np.zeros_like(ballot)], axis=1))
        chunks = [ballot[i : i + 3] for i in range(0, small.budget, 3)]
        full = Certifier(scheme, CLASSES, method)(ballot).covers(asked)
        early = decide(chunks, scheme, CLASSES, lambda ball: ball.covers(asked), certificate=method)
        if early.certified != full:
            raise Counterexample(f"{method}: stopped early with {early.certified} at {asked}, votes {ballot.tolist()}")

    return Evidence("Hypothesis", _hypothesis(setting, run, 0.5), "the same answer as the full vote")


CHECKS: tuple[Check[Setting], ...] = (
    Check("coupling", "every feature sees every outcome once", _coupling),
    Check("noise", "the noise kernel gives the bins of the definition", _kernel),
    Check("smoothing", "smoothed counts are Lipschitz for any base function", _lipschitz),
    Check("certificate", "every point of a certified ball keeps its class", _certificates),
    Check("certificate", "every point of a run-off's certified ball keeps its class", _runoff),
    Check("certificate", "an early stop gives the answer of the full vote", _early),
)
