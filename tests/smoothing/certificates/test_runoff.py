"""The run-off: its bounds against every point of small spaces, every attack, and every order of the near-ties."""

from __future__ import annotations

import itertools
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from smoothing import (
    Certificate,
    Certifier,
    FromArrays,
    InputError,
    Scheme,
    SmoothedClassifier,
    VoteError,
    certify,
    certify_runoff,
    pack_logits,
    pack_orders,
)
from smoothing.certificates.electorate import Electorate
from smoothing.certificates.runoff import Poll, runoff_winner
from smoothing.certificates.vote_aware import VoteAware
from smoothing.verification import BruteForce
from tests.smoothing.certificates.polls import runoff_changes
from tests.smoothing.verification.test_brute_force import COUPLINGS, random_scheme

METHODS = ("runoff", "runoff_vote_aware")
SLOW = [HealthCheck.too_slow]


def random_ranks(inputs: int, classes: int, rng: np.random.Generator, near: float) -> np.ndarray:
    """Ranks [inputs, classes] of any ranking function, with near-ties; some class is often ahead, or has few first
    places but is nowhere far behind, so that it is easily ousted and wins every duel."""
    ahead = rng.dirichlet(np.full(classes, rng.choice([0.3, 1.0, 5.0]))) * rng.choice([0.0, 1.0, 3.0])
    score = rng.random((inputs, classes)) - ahead
    if rng.random() < 0.4:
        liked = int(rng.integers(classes))
        score = rng.random((inputs, classes))
        first = np.sort(np.delete(score, liked, axis=1), axis=1)
        between = first[:, :2].mean(axis=1)
        score[:, liked] = np.where(rng.random(inputs) < rng.uniform(1 / classes, 0.6), -1, between)
    order = np.argsort(score, axis=1)
    behind = np.cumsum(rng.random((inputs, classes)) >= near, axis=1)
    ranks = np.zeros((inputs, classes), np.int64)
    np.put_along_axis(ranks, order, behind, axis=1)
    return ranks


def attacks(world: BruteForce, ranks: np.ndarray, x: int, winner: int) -> list[np.ndarray]:
    """The ranking functions that do most against the winner: all else to one rival, or to two of them, mixed in a few
    ways."""
    rivals = [k for k in range(ranks.shape[1]) if k != winner]
    orders = {k: np.array([k, *(j for j in rivals if j != k), winner]) for k in rivals}
    alone = [world.worst_rankings(ranks, x, orders[k]) for k in rivals]
    mixed = [
        world.worst_rankings(ranks, x, *(orders[(k, m)[i]] for i in turns))
        for k, m in itertools.combinations(rivals, 2)
        for turns in ([0, 1], [0, 0, 1, 1], [0, 1, 1], [0, 0, 1])
    ]
    return alone + mixed


def balls_of(world: BruteForce, ranks: np.ndarray, x: int, threat: str) -> list[Certificate]:
    codes, classes = world.rankings(ranks, x), ranks.shape[1]
    return [
        certify(codes, world.points[x], world.scheme, classes, certificate=method, threat=threat)  # type: ignore[arg-type]
        for method in METHODS
    ]


@pytest.mark.parametrize("coupling", COUPLINGS)
@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(seed=st.integers(0, 2**40), classes=st.integers(2, 4), near=st.sampled_from([0.0, 0.0, 0.05, 0.3]))
def test_no_point_of_a_certified_ball_has_another_class(coupling: str, seed: int, classes: int, near: float) -> None:
    """Random and worst ranking functions, every coupling and design, both certificates, every jitter of near-ties."""
    rng = np.random.default_rng(seed)
    scheme = random_scheme(rng, COUPLINGS[coupling])
    world = BruteForce(scheme)
    ranks, x = random_ranks(world.inputs, classes, rng, near), int(rng.integers(len(world.points)))
    for threat in ("features", "pixels") if scheme.pixel else ("features",):
        balls = balls_of(world, ranks, x, threat)
        assert balls[0].strength <= balls[1].strength
        assert balls[0].prediction == balls[1].prediction
        for function in [ranks, *attacks(world, ranks, x, balls[0].prediction)]:
            # The two balls are about one class and the second holds the first, so it is the one to look at.
            assert world.runoff_counterexample(balls[1], function, x) is None, balls[1]


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_ball_one_vote_too_large_is_caught(coupling: str) -> None:
    """The vote-aware one, in seeded cases; that the bound by counts is tight shows below, over all electorates."""
    caught = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scheme = random_scheme(rng, COUPLINGS[coupling])
        world = BruteForce(scheme)
        ranks, x = random_ranks(world.inputs, 3, rng, 0.0), int(rng.integers(len(world.points)))
        ball = balls_of(world, ranks, x, "features")[1]
        if ball.radius is not None and not ball.everywhere:
            larger = attrs.evolve(ball, radius=ball.radius + Fraction(1, scheme.total))
            worst = attacks(world, ranks, x, ball.prediction)
            caught += any(world.runoff_counterexample(larger, f, x) is not None for f in worst)
    assert caught >= 2


@pytest.mark.parametrize(("classes", "voters"), [(3, 6), (4, 4)])
def test_the_bound_by_counts_holds_for_every_electorate(classes: int, voters: int) -> None:
    """Exhaustive: no M - 1 changed rankings change the winner; and often M do, for the bound is nearly tight."""
    kinds = list(itertools.permutations(range(classes)))
    rng = np.random.default_rng(0)
    everyone = list(itertools.combinations_with_replacement(kinds, voters))
    tight = total = 0
    for k in rng.permutation(len(everyone))[:400].tolist():
        before = everyone[k]
        winner, changes = outcome(before, classes)
        for some in {changes - 1, min(changes, voters)}:
            lost = any(
                outcome((*kept, *new), classes)[0] != winner
                for kept in set(itertools.combinations(before, voters - some))
                for new in itertools.combinations_with_replacement(fewest(kinds, winner), some)
            )
            assert not (lost and some < changes)
            tight += lost
        total += 1
    assert tight > 0.8 * total


def fewest(kinds: list[tuple[int, ...]], winner: int) -> list[tuple[int, ...]]:
    """The rankings with the winner last: no other change does more against it."""
    return [kind for kind in kinds if kind[-1] == winner]


def outcome(rankings: tuple[tuple[int, ...], ...], classes: int) -> tuple[int, int]:
    poll = Electorate.of(pack_orders(np.array(rankings)), classes).poll
    return poll.winner, poll.changes


def test_a_rival_must_first_overtake_the_other_finalist() -> None:
    """Two changes are needed where the second round alone would take one; counts of 15 samples."""
    counts, pairs = [8, 6, 1], [[0, 9, 8], [6, 0, 14], [7, 1, 0]]
    assert runoff_changes(counts, pairs) == 2
    assert certify_runoff(counts, pairs, Scheme.l1(5, shape=(2,), q=3)).radius == Fraction(2, 15)


def test_a_runoff_of_two_classes_is_a_plurality() -> None:
    """The same class and the same balls, unsure votes included."""
    rng = np.random.default_rng(0)
    scheme = Scheme.l1(4, shape=(2, 3), q=8)
    for _ in range(30):
        codes = pack_logits(np.round(rng.normal([0.6, 0.0], 1, size=(32, 2)), 1), 0.15)
        levels = rng.integers(0, 9, size=(2, 3))
        pairs = (("integer", "runoff"), ("vote_aware", "runoff_vote_aware"))
        for one, two in pairs:
            a, b = (certify(codes, levels, scheme, 2, certificate=m) for m in (one, two))  # type: ignore[arg-type]
            assert (a.prediction, a.radius, a.everywhere) == (b.prediction, b.radius, b.everywhere)


def test_more_classes_than_places_are_sound() -> None:
    """40 classes keep five places; the others count as not sure among each other."""
    rng = np.random.default_rng(1)
    scheme = Scheme.l1(6, shape=(2,), q=4)
    for _ in range(8):
        logits = rng.normal(size=(24, 40))
        logits[:, :3] += rng.choice([0.0, 4.0, 8.0], size=3)
        full = np.argsort(np.argsort(-logits, axis=1), axis=1)
        poll = Electorate.of(pack_logits(logits), 40).poll
        pairs = (full[:, :, None] < full[:, None, :]).sum(axis=0)
        exact = Poll(poll.counts, 0, 24, tuple(map(tuple, pairs.tolist())))
        assert (np.array(poll.prefers) <= pairs).all()
        found = certify(pack_logits(logits), None, scheme, 40)
        if found.exists:
            assert found.prediction == exact.winner
            assert poll.changes <= exact.changes


def test_the_rule_and_the_certificate_must_fit() -> None:
    """Each error says what to pass."""
    scheme, codes = Scheme.l1(2, shape=(3,), q=4), pack_orders([[0, 1, 2]] * 8)
    with pytest.raises(VoteError, match="the other rule"):
        Certifier(scheme, 3, "paper", rule="runoff")
    with pytest.raises(VoteError, match="the other rule"):
        Certifier(scheme, 3, "runoff", rule="plurality")
    with pytest.raises(VoteError, match="plurality, runoff"):
        Certifier(scheme, 3, rule="borda")  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="pass its rankings"):
        Certifier(scheme, 3, rule="runoff")(np.zeros(8, np.uint8))
    with pytest.raises(InputError, match="levels as well"):
        Certifier(scheme, 3, "runoff_vote_aware")(codes)
    with pytest.raises(VoteError, match="7 votes"):
        Certifier(scheme, 3)(codes[:7])
    assert Certifier(scheme, 3)(codes).rule == "runoff"
    assert Certifier(scheme, 3, rule="plurality")(codes).rule == "plurality"


class Scores(nn.Module):
    """Three scores of what is shown, with many exact ties."""

    def forward(self, x: Tensor) -> Tensor:
        return (x.flatten(1)[:, :3] * 4).round()


def test_the_classifier_predicts_what_it_certifies() -> None:
    """By both rules, the class of the full count from the logits; `forward` has it as the largest share."""
    rng = np.random.default_rng(0)
    scheme, images = Scheme.l1(3, shape=(4,), q=6), rng.integers(0, 7, size=(20, 4))
    for x in images:
        found = []
        for rule in ("plurality", "runoff"):
            smoothed = SmoothedClassifier(Scores(), scheme, 3, rule=rule)  # type: ignore[arg-type]
            (ball,), (shares,) = smoothed.certify(x[None]), smoothed(x[None])
            (predicted,) = smoothed.predict(x[None])
            assert int(shares.argmax()) == predicted
            assert ball.rule == rule
            assert not ball.exists or ball.prediction == predicted
            found.append(int(predicted))
        logits = np.concatenate([out.numpy()[0] for _, _, out in smoothed.outputs(smoothed.levels(x[None]))])
        votes = [int(row.argmax()) if (row == row.max()).sum() == 1 else None for row in logits]
        counts = [votes.count(k) for k in range(3)]
        pairs = [[sum(r[a] > r[b] or (r[a] == r[b] and a < b) for r in logits) for b in range(3)] for a in range(3)]
        assert found[1] == runoff_winner(counts, pairs)


def test_labels_of_a_function_have_no_second_choice() -> None:
    """Where the base gives labels only, all that voted for neither finalist count against the winner."""
    label = FromArrays(lambda lower, upper: (lower.mean(axis=1) > 0.2).astype(int), classes=3)
    smoothed = SmoothedClassifier(label, Scheme.l1(2, shape=(3,), q=4), 3, rule="runoff")
    (ball,) = smoothed.certify(np.array([[4, 4, 4]]))
    votes = smoothed.votes(np.array([[4, 4, 4]]))[0]
    assert ball.prediction == np.bincount(votes).argmax()
    assert ball.exists


def first_loss(world: BruteForce, orders: np.ndarray, x: int, winner: int) -> int:
    """The least distance in levels at which the best attack makes the winner lose: all touched samples rank it last,
    any number of them with one rival first, the others with another. One feature; q + 1 if there is none."""
    classes = orders.shape[1]
    rivals = [k for k in range(classes) if k != winner]
    for distance in range(1, world.scheme.q + 1):
        for y in {x - distance, x + distance} & set(range(world.scheme.q + 1)):
            touched = world.shown[:, x] != world.shown[:, y]
            for k, m in itertools.permutations(rivals, 2):
                new = [np.array([a, b, *(j for j in rivals if j not in (a, b)), winner]) for a, b in ((k, m), (m, k))]
                for split in range(int(touched.sum()) + 1):
                    after = orders.copy()
                    after[touched] = [new[i >= split] for i in range(int(touched.sum()))]
                    if Electorate.of(pack_orders(after), classes).poll.winner != winner:
                        return distance
    return world.scheme.q + 1


def well_liked(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Orders of three classes in which one class is never last: few votes are needed to oust it, many to beat it."""
    liked, k, m = rng.permutation(3).tolist()
    orders = np.array([[liked, k, m], [liked, m, k], [k, liked, m], [m, liked, k]])
    return orders[rng.choice(4, size=samples, p=[0.2, 0.2, 0.3, 0.3])]


def too_large(seeds: range) -> int:
    """How many vote-aware balls of such elections reach a point at which the winner loses. Every sample shows the one
    feature differently, so an attack of k levels touches k samples."""
    scheme, wrong = Scheme.l1(1, shape=(1,), q=15, coupling="independent"), 0
    world = BruteForce(scheme)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        orders, x = well_liked(rng, scheme.samples), int(rng.integers(16))
        ball = Certifier(scheme, 3, "runoff_vote_aware")(pack_orders(orders), np.array([x]))
        loss = first_loss(world, orders, x, ball.prediction)
        wrong += loss <= 15 and ball.covers(Fraction(loss, 15))
    return wrong


def test_two_rivals_may_share_what_they_take_from_the_winner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact attack never wins within the ball; it does if a bound on two rivals together is a little larger."""
    seeds = range(60)
    assert too_large(seeds) == 0
    worth, least = Electorate.worth, Poll.least
    with monkeypatch.context() as patch:  # a sample that leaves the winner helps one rival, not both
        patch.setattr(
            Electorate, "worth", lambda e, race: np.minimum(worth(e, race), 2 if race.kind == "together" else 9)
        )
        assert too_large(seeds) > 0
    with monkeypatch.context() as patch:
        patch.setattr(Poll, "least", lambda poll, race: least(poll, race) + (race.kind == "together"))
        assert too_large(seeds) > 0


@pytest.mark.parametrize("seed", range(12))
def test_the_vote_aware_bound_is_the_least_of_all_events(seed: int) -> None:
    """Without any shortcut: every race of every event is priced, an event takes the most of its races."""
    rng = np.random.default_rng(seed)
    scheme = random_scheme(rng, list(COUPLINGS.values())[seed % len(COUPLINGS)])
    lead = rng.choice([0.1, 0.3, 0.6], size=4)
    people = Electorate.of(pack_logits(rng.random((scheme.samples, 4)) + lead, tolerance=0.02), 4, scheme.weights)
    levels, poll, engine = rng.integers(0, scheme.q + 1, scheme.features), people.poll, VoteAware(scheme)
    distances = []
    for event in poll.events():
        least = Fraction(max(map(poll.least, event)), poll.total)
        open_races = [race for race in event if poll.need(race) > 0]
        prices = [engine.against(levels, people.worth(race), poll.need(race))[0] for race in open_races]
        if None not in prices:
            distances.append(max([least, *(price for price in prices if price is not None)]))
    assert people.bound(engine, levels).radius == min(distances, default=None)
