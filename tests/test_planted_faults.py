"""The verifier is itself verified: each of these faults, planted in one layer, must be found by a run.

A fault is a change of the library's code, made with monkeypatch, in the spirit of what really goes wrong: one unit too
large, one level off, a swapped pair, a tie broken the other way, a float where an integer belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import ecm.allocation.allocation
import ecm.allocation.dynamic_program
import ecm.design
import ecm.elementwise
import ecm.law.continuous
import ecm.metric.profile
import ecm.verification.checks
import smoothing.certificates.certifier
import smoothing.certificates.vote_aware
import smoothing.scheme.noise
import smoothing.scheme.representation
import smoothing.votes.early_stop
from ecm import ECM, Allocation, Design, Outcomes, Profile, QuantizedLaw
from ecm.allocation.rounding import floor_weights
from ecm.law import Law
from ecm.metric import FormulaProfile, TableProfile
from ecm.verification import Finding, Setting, all_checks
from ecm.verification.report import run_checks
from smoothing.certificates import Certificate, Packing, Tally
from smoothing.certificates.runoff import Poll
from smoothing.certificates.touch import Touch
from smoothing.scheme import Noise, Scheme

Patch = pytest.MonkeyPatch
ROOT, RGB = ECM.lp("1/2", 2), ECM.grouped([ECM.lp("1/2", 2), ECM.l1(2)])


class Fault(NamedTuple):
    """A fault and the metric at which it must show."""

    name: str
    layer: str
    plant: Callable[[Patch], None]
    metric: ECM = ROOT


def changed(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace a method or function by `change(result, *args)`."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: change(original(*args, **kwargs), *args))


def changed_property(patch: Patch, owner: type, name: str, change: Callable[[Any, Any], Any]) -> None:
    """Replace a property, cached or not, by `change(value, self)`."""
    original = owner.__dict__[name]
    read = original.func if isinstance(original, cached_property) else original.fget
    patch.setattr(owner, name, property(lambda self: change(read(self), self)))


def bumped(values: Any, index: int, by: int = 1) -> Any:
    """A copy with one entry changed."""
    copy = np.array(values)
    copy[index] += by
    return copy


# ---- the metric ------------------------------------------------------------


def unproven(table: list[Fraction]) -> ECM:
    """A metric that slipped past its proof."""
    good = Profile.from_values([Fraction(k, len(table) - 1) for k in range(len(table))])
    return ECM((attrs.evolve(good, table=tuple(table)),))


BUMP = unproven([Fraction(k, 8) - (Fraction(1, 10**30) if k == 4 else 0) for k in range(9)])
FALL = unproven([Fraction(min(k, 7), 8) - (Fraction(1, 10**30) if k == 8 else 0) for k in range(9)])
LARGE = unproven([Fraction(k, 8) * (1 + Fraction(1, 10**30)) for k in range(9)])
NEAR = ECM.from_values([Fraction(k, 8) - Fraction(k, 10**20) for k in range(9)])
OFFSET = unproven([Fraction(k + 1, 10**3) for k in range(9)])


def nothing(patch: Patch) -> None:
    """The fault is in the metric itself."""


def float_sign(patch: Patch) -> None:
    """The exact sign becomes a float comparison."""

    def rough(node: Any) -> int:
        return int(np.sign(round(float(node), 12)))

    patch.setattr(ecm.metric.profile, "sign", rough)
    patch.setattr(ecm.verification.checks, "sign", rough)


# ---- laws, allocations, designs ------------------------------------------------------------


def law_coefficient(patch: Patch) -> None:
    changed(patch, QuantizedLaw, "_one_offset", lambda terms, *_: tuple((k, c + 1) for k, c in terms))


def law_infinite(patch: Patch) -> None:
    def more(number: Any, law: QuantizedLaw, width: int) -> Any:
        return attrs.evolve(number, constant=number.constant + (width == law.INFINITE))

    changed(patch, QuantizedLaw, "probability", more)


def law_density(patch: Patch) -> None:
    def without_z(densities: Any, _: Law) -> Any:
        return tuple(attrs.evolve(d, formula=d.formula / next(iter(d.formula.free_symbols))) for d in densities)

    changed_property(patch, Law, "densities", without_z)


def law_atom(patch: Patch) -> None:
    changed_property(patch, Law, "atoms", lambda atoms, _: atoms[1:])


def caps_too_large(patch: Patch) -> None:
    for kind in (FormulaProfile, TableProfile):
        changed(patch, kind, "floors", lambda caps, *_: bumped(caps, 3))


def caps_too_small(patch: Patch) -> None:
    for kind in (FormulaProfile, TableProfile):
        changed(patch, kind, "floors", lambda caps, *_: bumped(caps, 3, -1))


def caps_by_float(patch: Patch) -> None:
    """floor(B g) in floats: B g = 30 - 6e-19 becomes 30."""
    for kind in (FormulaProfile, TableProfile):
        patch.setattr(kind, "floors", lambda p, scale, q: np.floor(scale * p.values(q)).astype(np.int64))


def allocation_too_large(patch: Patch) -> None:
    """One weight more at the widest width, and nobody looks."""

    def more(found: Allocation, *_: Any) -> Allocation:
        weights = found.weights | {found.q: found.weights.get(found.q, 0) + 1}
        return Allocation(
            found.profile, weights, found.q, found.budget, optimality=found.optimality, proved=found.proved
        )

    patch.setattr(ecm.allocation.allocation, "verify_allocation", splits_unchecked)
    changed(patch, ecm.elementwise, "allocate", more)


def splits_unchecked(_: Profile, weights: Any, q: int, budget: int) -> Any:
    pairs = dict(weights)
    return np.array([sum(w * min(j, k) for j, w in pairs.items()) for k in range(q + 1)])


def allocation_misreported(patch: Patch) -> None:
    changed(patch, ecm.allocation.allocation, "verify_allocation", lambda n, *_: bumped(n, 2, -1))


def allocation_not_optimal(patch: Patch) -> None:
    """The search stops at the law rounded down, which is sound, and says that it is done."""

    def first(tube: Any, _: Any) -> tuple[int, Any]:
        found = floor_weights(tube)
        return tube.key(found), found

    patch.setattr(ecm.allocation.dynamic_program, "least_key", first)
    patch.setattr(ecm.allocation.dynamic_program, "densest", lambda lower, upper: None)


def redesigned(patch: Patch, change: Callable[[list[np.ndarray]], list[np.ndarray]]) -> None:
    """The design's rows are changed after construction, and `Design.verify` has gone blind."""
    patch.setattr(Design, "verify", lambda *_: None)

    def alter(design: Design, *_: Any) -> Design:
        rows = change([row.copy() for row in design.outcomes[0].rows()])
        part = Outcomes.from_rows(rows, design.q, design.budget)
        return attrs.evolve(design, outcomes=(part, *design.outcomes[1:]))

    changed(patch, ecm.elementwise, "make_design", alter)


def divider_moved(patch: Patch) -> None:
    def move(rows: list[np.ndarray]) -> list[np.ndarray]:
        """Every single divider stands one gap too early where there is room: the first pairs are split too often."""
        return [np.unique(np.maximum(row - 1, 1)) for row in rows]

    redesigned(patch, move)


def outcome_repeated(patch: Patch) -> None:
    redesigned(patch, lambda rows: [*rows, rows[0], rows[0]])


def design_blind(patch: Patch) -> None:
    """The design counts one split too few at every distance."""
    changed_property(patch, Outcomes, "most", lambda most, _: np.maximum(most - 1, 0))


def design_of_another_budget(patch: Patch) -> None:
    def more(design: Design, *_: Any) -> Design:
        parts = tuple(Outcomes(o.q, o.budget + 1, o.starts, o.gaps) for o in design.outcomes)
        return attrs.evolve(design, outcomes=parts)

    patch.setattr(Design, "verify", lambda *_: None)
    changed(patch, ecm.elementwise, "make_design", more)


# ---- noise and coupling ------------------------------------------------------------


def ends_swapped(patch: Patch) -> None:
    changed(patch, Noise, "bounds", lambda ends, *_: ends[::-1])


def ends_off_by_a_step(patch: Patch) -> None:
    changed(patch, smoothing.scheme.noise, "lookup_rows", lambda rows, *_: (rows[0], np.roll(rows[1], 1, axis=1)))


def infinite_shows_a_level(patch: Patch) -> None:
    def leak(rows: Any, *_: Any) -> Any:
        lower, upper = rows
        upper[-1] = np.arange(upper.shape[1])
        return lower, upper

    changed(patch, smoothing.scheme.noise, "lookup_rows", leak)


def planes_swapped(patch: Patch) -> None:
    changed(patch, smoothing.scheme.noise, "planes", lambda shown, *_: shown[::-1].copy())


def component_ignored(patch: Patch) -> None:
    """The noise takes the first component for every feature."""
    original = Noise.__init__

    def make(self: Noise, scheme: Scheme, *args: Any, **kwargs: Any) -> None:
        real = scheme.component
        scheme.__dict__["component"] = np.zeros_like(real)
        original(self, scheme, *args, **kwargs)
        scheme.__dict__["component"] = real

    patch.setattr(Noise, "__init__", make)


def offset_outside(patch: Patch) -> None:
    changed_property(patch, Scheme, "offsets", lambda offsets, scheme: offsets + scheme.total + 1)


def outcome_seen_twice(patch: Patch) -> None:
    def repeat(lists: Any, _: Scheme) -> Any:
        copy = np.array(lists)
        copy[:, 0] = copy[:, 1]
        return copy

    changed_property(patch, Scheme, "lists", repeat)


def no_permutation(patch: Patch) -> None:
    changed(patch, Scheme, "permutation", lambda order, *_: bumped(order, 0, int(order[1] - order[0])))


def weight_lost(patch: Patch) -> None:
    changed_property(patch, Scheme, "weights", lambda weights, _: None if weights is None else bumped(weights, 0))


def pixels_apart(patch: Patch) -> None:
    """The channels of a pixel no longer share their outcomes, but the pixel's cost is still g(1)."""

    def shift(outcome: Any, scheme: Scheme, features: Any, samples: Any) -> Any:
        if not scheme.pixel:
            return outcome
        channel = np.asarray(features) // scheme.sites
        position = (np.asarray(samples) + scheme.offsets[scheme.site[features]] + 7 * channel) % scheme.total
        return scheme.lists[0, position]

    changed(patch, Scheme, "outcome", shift)


def touched_twice(patch: Patch) -> None:
    """A sample also depends on the level itself where it should see only its bin."""
    changed(patch, Noise, "bounds", lambda ends, _, x, samples: (ends[0] + (x[:, None] == 0), ends[1]))


# ---- certificates ------------------------------------------------------------


def tie_the_other_way(patch: Patch) -> None:
    def last(tally: Tally) -> int:
        return tally.classes - 1 - tally.counts[::-1].index(max(tally.counts))

    patch.setattr(Tally, "prediction", property(last))


def need_too_large(patch: Patch) -> None:
    changed(patch, Tally, "need", lambda need, *_: need + 1)


def tie_term_forgotten(patch: Patch) -> None:
    """The rival with the smaller index wins ties, and the need forgets it."""
    changed(patch, Tally, "need", lambda need, tally, rival: need + (rival < tally.prediction))


def unsure_ignored(patch: Patch) -> None:
    changed(patch, Tally, "of", lambda tally, *_: attrs.evolve(tally, unsure=0))


def paper_too_large(patch: Patch) -> None:
    changed(
        patch,
        smoothing.certificates.certifier,
        "paper_radius",
        lambda radius, tally: None if radius is None else radius + Fraction(1, tally.total),
    )


def integer_too_large(patch: Patch) -> None:
    for module in (smoothing.certificates.certifier, smoothing.certificates.vote_aware):
        name = "integer_radius" if module is smoothing.certificates.certifier else "integer_bound"
        changed(
            patch,
            module,
            name,
            lambda radius, *args: None if radius is None else radius + Fraction(1, getattr(args[0], "total", args[-1])),
        )


def open_ball_closed(patch: Patch) -> None:
    patch.setattr(Certificate, "closed", property(lambda self: True, lambda *_: None), raising=False)


def gain_halved(patch: Patch) -> None:
    """A touched sample that voted for the prediction brings the rival one vote, not two."""
    original = Touch.gains
    patch.setattr(Touch, "gains", lambda self, levels, worth: original(self, levels, np.minimum(worth, 1)))


def only_upwards(patch: Patch) -> None:
    """The attacker is taken to move levels up only."""

    def up(pair: Any, *_: Any) -> Any:
        above, below = pair
        return above, np.full_like(below, below.max())

    changed(patch, smoothing.certificates.touch, "distances", up)


def dual_too_large(patch: Patch) -> None:
    changed(
        patch, smoothing.certificates.vote_aware, "maximize", lambda found, *_: (found[0] + (found[0] >> 1), found[1])
    )


def second_choice_ignored(patch: Patch) -> None:
    """A run-off's second round is taken to need one vote more than it does."""
    changed(patch, Poll, "need", lambda need, poll, race: need + 2 * (race.kind == "duel"))


def overtaking_one_vote_too_dear(patch: Patch) -> None:
    changed(patch, Poll, "least", lambda least, poll, race: least + (race.kind == "overtake"))


def near_ties_for_the_winner(patch: Patch) -> None:
    """Rankings whose near gaps nobody looks at."""
    changed(patch, Packing, "unpack", lambda found, *_: (found[0], np.zeros_like(found[1])))


def early_too_early(patch: Patch) -> None:
    changed(patch, smoothing.votes.early_stop, "needed", lambda least, *_: None if least is None else least - 1)


FAULTS = [
    Fault("g with a convex bump of 1e-30", "metric", nothing, BUMP),
    Fault("g that falls by 1e-30", "metric", nothing, FALL),
    Fault("g(1) above 1 by 1e-30", "metric", nothing, LARGE),
    Fault("g(0) above 0", "metric", nothing, OFFSET),
    Fault("a float comparison decides signs", "metric", float_sign, BUMP),
    Fault("quantized law with a wrong coefficient", "law", law_coefficient),
    Fault("probability of infinity off by one", "law", law_infinite),
    Fault("density without its factor z", "law", law_density),
    Fault("an atom is missing", "law", law_atom),
    Fault("a cap one unit too large", "allocation", caps_too_large),
    Fault("a cap one unit too small", "allocation", caps_too_small),
    Fault("caps by float arithmetic", "allocation", caps_by_float, NEAR),
    Fault("an allocation one unit too large", "allocation", allocation_too_large),
    Fault("N(k) misreported", "allocation", allocation_misreported),
    Fault("an allocation that is not optimal", "allocation", allocation_not_optimal),
    Fault("dividers moved by one level", "design", divider_moved),
    Fault("an outcome listed again", "design", outcome_repeated),
    Fault("splits counted one too few", "design", design_blind),
    Fault("a design of another budget", "design", design_of_another_budget),
    Fault("lower and upper swapped", "noise", ends_swapped),
    Fault("a bin's end off by a step", "noise", ends_off_by_a_step),
    Fault("the infinite outcome shows the level", "noise", infinite_shows_a_level),
    Fault("the network is shown swapped planes", "noise", planes_swapped),
    Fault("the bin depends on the level", "noise", touched_twice),
    Fault("all features use the first component", "noise", component_ignored, RGB),
    Fault("an offset outside 0..B-1", "coupling", offset_outside, RGB),
    Fault("an outcome seen twice", "coupling", outcome_seen_twice),
    Fault("a permutation that is none", "coupling", no_permutation),
    Fault("a sample's weight off by one", "coupling", weight_lost),
    Fault("channels of a pixel with their own outcomes", "certificate", pixels_apart),
    Fault("a tie broken the other way", "certificate", tie_the_other_way),
    Fault("a need one unit too large", "certificate", need_too_large),
    Fault("the tie term forgotten", "certificate", tie_term_forgotten),
    Fault("unsure votes ignored", "certificate", unsure_ignored),
    Fault("the paper's radius one unit too large", "certificate", paper_too_large),
    Fault("the integer radius one unit too large", "certificate", integer_too_large),
    Fault("an open ball taken as closed", "certificate", open_ball_closed),
    Fault("a lost vote counted once", "certificate", gain_halved),
    Fault("attackers only move up", "certificate", only_upwards),
    Fault("the dual bound half as large again", "certificate", dual_too_large),
    Fault("a run-off's duel one vote too dear", "certificate", second_choice_ignored),
    Fault("overtaking in a run-off one vote too dear", "certificate", overtaking_one_vote_too_dear),
    Fault("near-ties of a run-off counted as sure", "certificate", near_ties_for_the_winner),
    Fault("an early stop one vote too early", "certificate", early_too_early),
]


def setting_of(metric: ECM) -> Setting:
    """A small run, in a setting where every fault of the table makes a difference."""
    return Setting(metric, q=8, budget=60, examples=100)


def first_failure(metric: ECM) -> Finding | None:
    """The first property that fails, or None."""
    return next((f for f in run_checks(all_checks(), setting_of(metric)) if f.passed is False), None)


@pytest.mark.parametrize("metric", [ROOT, RGB], ids=str)
def test_without_a_fault_the_run_is_green(metric: ECM) -> None:
    """The faults below are found because they are there."""
    assert first_failure(metric) is None


@pytest.mark.parametrize("fault", [pytest.param(f, id=f.name) for f in FAULTS])
def test_every_planted_fault_is_found(fault: Fault, monkeypatch: Patch, tmp_path: Any) -> None:
    """A run fails with a counterexample; a check that merely broke (the plant, say, missed its mark) does not count."""
    monkeypatch.setenv("ECM_CACHE", str(tmp_path))
    fault.plant(monkeypatch)
    found = first_failure(fault.metric)
    assert found is not None
    assert not found.note, found.counterexample


def test_there_are_faults_in_every_layer() -> None:
    """At least 25, and no layer without one."""
    assert len(FAULTS) >= 25
    assert {f.layer for f in FAULTS} >= {"metric", "law", "allocation", "design", "noise", "coupling", "certificate"}
