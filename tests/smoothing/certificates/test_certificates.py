"""What a certificate says in other units, and the certificates from counts, run-off and soft sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.design import Design
from ecm.errors import ECMError
from smoothing.certificates.certificate import Certificate
from smoothing.certificates.certifier import Certifier, certify, certify_all, diameter
from smoothing.certificates.integer import integer_radius
from smoothing.certificates.paper import paper_radius
from smoothing.certificates.roots import root_below
from smoothing.certificates.runoff import certify_runoff, runoff_winner
from smoothing.certificates.soft import certify_soft, certify_soft_sums
from smoothing.certificates.tally import Tally
from smoothing.errors import InputError, VoteError
from smoothing.scheme import Scheme
from tests.smoothing.certificates.polls import runoff_changes

COUNTS = st.lists(st.integers(0, 30), min_size=2, max_size=5).filter(any)
FRACTIONS = st.fractions(0, 50, max_denominator=2000)


def ball(radius: Fraction | None, closed: bool = False, metric: ECM | None = None, **more: object) -> Certificate:
    """A certificate with nothing special but its ball."""
    fields: dict[str, object] = {"q": 255, "shape": (3, 4, 4)} | more
    return Certificate(0, "integer", radius, closed, metric or ECM.lp("1/2", 6), **fields)  # type: ignore[arg-type]


def ballots(counts: list[int]) -> np.ndarray:
    """Votes with these counts."""
    return np.repeat(np.arange(len(counts)), counts).astype(np.uint8)


# ---- counts ----------------------------------------------------------------------------------------------


@given(counts=COUNTS)
def test_paper_and_integer_radii_are_those_of_the_definitions(counts: list[int]) -> None:
    """(n_c - n_k - [k<c])/(2B), closed, and (floor of the half + 1)/B, open, the least over rivals."""
    total, c = sum(counts), counts.index(max(counts))
    scheme = Scheme.l1(total, shape=(1,), q=1)
    margin = min(counts[c] - n - (k < c) for k, n in enumerate(counts) if k != c)
    paper, whole = (certify(ballots(counts), None, scheme, len(counts), certificate=m) for m in ("paper", "integer"))
    assert (paper.prediction, paper.radius, paper.closed) == (c, Fraction(margin, 2 * total), True)
    assert (whole.prediction, whole.radius, whole.closed) == (c, Fraction(margin // 2 + 1, total), False)
    assert whole.strength > paper.strength


@given(counts=COUNTS, unsure=st.integers(0, 40))
def test_unsure_votes_all_count_against_the_prediction(counts: list[int], unsure: int) -> None:
    """No certificate as soon as they alone could make a rival win; never a radius of 0 in its place."""
    votes = np.concatenate([ballots(counts), np.full(unsure, 255, np.uint8)])
    tally = Tally.of(votes, len(counts))
    found = certify(votes, None, Scheme.l1(len(votes), shape=(1,), q=1), len(counts))
    flips = any(
        Tally.of(np.concatenate([ballots(counts), np.full(unsure, k, np.uint8)]), len(counts)).prediction
        != tally.prediction
        for k in range(len(counts))
    )
    assert found.exists is not flips
    assert found.radius is None or found.radius > 0
    assert (paper_radius(tally) is None) is flips


def test_a_need_of_nothing_is_no_certificate() -> None:
    """An unsure vote that may make a tie in the rival's favour leaves neither ball, not even one of radius 0."""
    tally = Tally((1, 2), unsure=1, total=4)
    assert tally.least_need == 0
    assert paper_radius(tally) is None
    assert integer_radius(tally) is None


def test_votes_that_cannot_be_counted_are_refused() -> None:
    """Wrong type, wrong class, wrong number, missing levels: each error names what is wrong."""
    scheme = Scheme.l1(1, shape=(2,), q=4)
    good = np.zeros(4, np.uint8)
    with pytest.raises(VoteError, match="dtype"):
        certify(good.astype(np.int64), None, scheme, 2)
    with pytest.raises(VoteError, match="sample 3 is 7"):
        certify(np.array([0, 0, 1, 7], np.uint8), None, scheme, 2)
    with pytest.raises(VoteError, match="3 votes"):
        certify(good[:3], None, scheme, 2)
    with pytest.raises(VoteError, match="strongest"):
        certify(good, None, scheme, 2, certificate="best")  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="pixel=True"):
        certify(good, None, scheme, 2, threat="pixels")
    with pytest.raises(VoteError, match="one of features, pixels"):
        certify(good, None, scheme, 2, threat="pixel")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pass its levels as well"):
        certify(good, None, scheme, 2, certificate="vote_aware")
    with pytest.raises(InputError, match=r"0\.\.4"):
        certify(good, np.array([0, 5]), scheme, 2)
    with pytest.raises(InputError, match="shape"):
        certify(good, np.array([0, 1, 2]), scheme, 2)


def test_more_than_255_classes_vote_in_two_bytes() -> None:
    """UNSURE is then 65535, and 255 is a class like any other."""
    votes = np.array([255, 255, 299, 65535], np.uint16)
    assert Tally.of(votes, 300) == Tally(tuple(2 * (k == 255) + (k == 299) for k in range(300)), 1, 4)


@pytest.mark.parametrize("classes", [1, 256])
def test_a_byte_holds_2_to_255_classes(classes: int) -> None:
    """The 256th class could not be told from UNSURE, and a single class has no rival."""
    assert Tally.of(np.array([254, 255], np.uint8), 255).counts[254] == 1
    with pytest.raises(VoteError, match=r"hold 2\.\.255"):
        Tally.of(np.zeros(2, np.uint8), classes)


def test_the_first_class_that_is_not_there_is_refused() -> None:
    """With 3 classes a vote for class 3 is wrong, wherever it stands."""
    with pytest.raises(VoteError, match=r"sample 1 is 3, but the classes are 0\.\.2"):
        Tally.of(np.array([2, 3], np.uint8), 3)


def test_a_batch_gives_what_single_images_give() -> None:
    """certify_all shares the tables of the scheme and nothing else."""
    rng = np.random.default_rng(0)
    scheme = Scheme.l1(2, shape=(2, 3), q=8)
    votes = rng.choice(3, p=[0.7, 0.2, 0.1], size=(5, 16)).astype(np.uint8)
    levels = rng.integers(0, 9, size=(5, 2, 3))
    assert list(certify_all(votes, levels, scheme, 3)) == [
        certify(v, x, scheme, 3) for v, x in zip(votes, levels, strict=True)
    ]
    assert list(certify_all(votes, None, scheme, 3)) == [certify(v, None, scheme, 3) for v in votes]
    for fewer in ((votes, levels[:4]), (votes[:4], levels)):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            list(certify_all(*fewer, scheme, 3))


# ---- units -----------------------------------------------------------------------------------------------


@given(base=FRACTIONS, exponent=st.sampled_from(["1", "2", "3", "1/2", "10", "7/3"]), strict=st.booleans())
def test_roots_are_the_largest_double_that_fits(base: Fraction, exponent: str, strict: bool) -> None:
    """Decided by comparing integer powers, below and just above."""
    e = Fraction(exponent)
    found = root_below(base, e, strict=strict)

    def fits(value: float) -> bool:
        left, right = Fraction(value) ** e.denominator, base**e.numerator
        return left < right if strict else left <= right

    assert (found == 0.0 and base == 0) or (fits(found) and not fits(math.nextafter(found, math.inf)))


def test_a_root_beyond_the_doubles_is_the_largest_double() -> None:
    """Never infinity, which would certify everything."""
    assert root_below(Fraction(10) ** 200, Fraction(2), strict=False) == math.nextafter(math.inf, 0)


@given(radius=FRACTIONS, closed=st.booleans(), rho=FRACTIONS)
def test_lp_radius_and_covers_lp_agree(radius: Fraction, closed: bool, rho: Fraction) -> None:
    """covers_lp decides exactly; lp_radius is the largest double it covers."""
    found = ball(radius, closed)
    value = found.lp_radius()
    assert value is not None
    if radius:
        assert found.covers_lp(Fraction(value))
        assert not found.covers_lp(Fraction(math.nextafter(value, math.inf)))
    assert not (found.covers_lp(rho) and math.nextafter(value, math.inf) <= rho)
    assert found.covers_lp(rho) == (rho <= (6 * radius) ** 2 if closed else rho < (6 * radius) ** 2)


def test_absent_zero_and_everywhere_are_three_different_things() -> None:
    """None covers nothing, 0 (closed) covers x, everywhere covers all."""
    absent, zero = ball(None), ball(Fraction(0), closed=True)
    whole = attrs.evolve(ball(Fraction(100), closed=True), everywhere=True)
    assert [c.covers(0) for c in (absent, zero, whole)] == [False, True, True]
    assert [c.lp_radius() for c in (absent, zero, whole)] == [None, 0.0, math.inf]
    assert [c.covers_lp(0) for c in (absent, zero, whole)] == [False, True, True]
    assert [c.covers_lp(10**9) for c in (absent, zero, whole)] == [False, False, True]
    assert [c.features() for c in (absent, zero, whole)] == [None, 0, 48]
    assert [c.pixels() for c in (absent, zero, whole)] == [None, 0, 16]
    assert absent.strength < zero.strength < whole.strength
    x, y = np.zeros((3, 4, 4), int), np.full((3, 4, 4), 255)
    assert [c.contains(x, y) for c in (absent, zero, whole)] == [False, False, True]
    assert [c.contains(x, x) for c in (absent, zero, whole)] == [False, True, True]


def test_the_diameter_is_just_above_every_distance() -> None:
    """sum_i g_i(1), each rounded up in units of 2**-40: what a certificate of all points gives as its radius."""
    metric = ECM.grouped([ECM.lp("1/2", 2), ECM.log1p(5, 3)])
    scheme = Scheme(Design.from_rows(metric, [[[2]], [[3]]], q=4, budget=12), (2, 3))
    (root, logs), unit = metric.floors(1 << 40, 4), Fraction(1, 1 << 40)
    assert diameter(scheme) == 3 * (int(root[-1]) + int(logs[-1]) + 2) * unit
    assert root[-1] == 1 << 39


def test_l0_counts_features_and_pixels() -> None:
    """floor(alpha r) in a closed ball; at equality an open one has one less; a pixel costs its channels or g(1)."""
    metric = ECM.l0(12)
    assert ball(Fraction(1, 2), True, metric).features() == 6
    assert ball(Fraction(1, 2), False, metric).features() == 5
    assert [ball(Fraction(13, 24), closed, metric).features() for closed in (True, False)] == [6, 6]
    assert ball(Fraction(1, 2), True, metric).pixels() == 2
    assert ball(Fraction(1, 2), True, metric, threat="pixels").pixels() == 6
    assert ball(Fraction(1, 2), False, metric, threat="pixels").pixels() == 5
    irrational = ECM.from_expr("log(1 + z)/3")  # g(1) = 0.231
    for q in (1, 2, 255):
        assert ball(Fraction(1), False, irrational, q=q).features() == 4
        assert ball(Fraction(1), False, irrational, q=q).pixels() == 1
        assert ball(Fraction(1), False, irrational, q=q, threat="pixels").pixels() == 4


def test_l0_radii_in_lp_are_counts() -> None:
    """The l_0 'norm' is a number of features, whatever the step is written as."""
    found = ball(Fraction(1, 2), False, ECM.l0(12))
    assert found.lp_radius() == 5.0
    assert found.covers_lp(5)
    assert not found.covers_lp(6)


def test_contains_decides_ties_exactly() -> None:
    """sqrt(1/4)/2 + sqrt(1/4)/2 = 1/2 is on the sphere: in the closed ball only; 0.1 + 0.2 <= 0.3 as fractions."""
    metric = ECM.lp("1/2", 2)
    x, y = np.array([0, 0]), np.array([1, 1])
    for closed in (True, False):
        found = ball(Fraction(1, 2), closed, metric, q=4, shape=(2,))
        assert found.contains(x, y) is closed
        assert not found.contains(x, np.array([1, 2]))
    tenths = ECM.from_values([0, "1/10", "2/10"])
    assert ball(Fraction(3, 10), True, tenths, q=2, shape=(2,)).contains(x, np.array([1, 2]))
    logs = ECM.log1p(1, 2)  # (log2(4/3) + log2(3/2))/2 = 1/2 exactly, which no precision can tell: outside
    assert not ball(Fraction(1, 2), True, logs, q=6, shape=(2,)).contains(x, np.array([2, 3]))
    with pytest.raises(ECMError, match="levels"):
        ball(Fraction(1), True, metric, q=4, shape=(2,)).contains(x, np.array([0, 5]))
    for wrong in (np.array([0, 1, 2]), np.array([0.0, 1.0])):
        with pytest.raises(ECMError, match="integer levels"):
            ball(Fraction(1), True, metric, q=4, shape=(2,)).contains(x, wrong)


def test_pixels_cost_no_more_than_g_of_one() -> None:
    """Three channels changed by a quarter: 3/2 as features, min(1, 3/2) * g(1) as a pixel."""
    metric = ECM.lp("1/2", 1)
    x, y = np.zeros((3, 1), int), np.ones((3, 1), int)
    fields = {"q": 4, "shape": (3, 1)}
    assert not ball(Fraction(1), True, metric, **fields).contains(x, y)
    assert ball(Fraction(1), True, metric, threat="pixels", **fields).contains(x, y)
    assert not ball(Fraction(1), False, metric, threat="pixels", **fields).contains(x, y)


def test_irrational_distances_add_up_alike() -> None:
    """A pixel of two channels moved to the end costs g(1) = log(6)/3 = 0.597 as a pixel, twice that as features."""
    metric, (x, y) = ECM.from_expr("log(1 + 5*z)/3"), (np.zeros((2, 1), int), np.full((2, 1), 4))
    for threat, cost in (("pixels", "0.597253"), ("features", "1.194506")):
        inside, outside = Fraction(cost) + Fraction(1, 10**6), Fraction(cost) - Fraction(1, 10**6)
        assert ball(inside, False, metric, q=4, shape=(2, 1), threat=threat).contains(x, y)
        assert not ball(outside, False, metric, q=4, shape=(2, 1), threat=threat).contains(x, y)


def test_metrics_that_are_no_powers_have_no_lp_radius() -> None:
    """The error says what to use instead."""
    found = ball(Fraction(1, 9), metric=ECM.log1p(3, 5))
    for question in (found.lp_radius, lambda: found.covers_lp(1), lambda: found.l1_to_lp(1)):
        with pytest.raises(ECMError, match="z"):
            question()


@settings(max_examples=60)
@given(radius=st.fractions(0, 3, max_denominator=60), p=st.sampled_from(["1/2", "1/3", "1"]), data=st.data())
def test_the_l1_baseline_holds_for_every_point_of_the_lp_ball(radius: Fraction, p: str, data: st.DataObject) -> None:
    """||v||_p <= max(r, r**(1/p)) implies ||v||_1 within the l1 ball, on [0,1]^n."""
    found = ball(radius / 6, False, ECM.l1(6))
    value = found.l1_to_lp(p)
    assert value is not None
    power = float(Fraction(p))
    assert value == pytest.approx(max(float(radius), float(radius) ** (1 / power)))
    v = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=6))
    norm = sum((k / 20) ** power for k in v) ** (1 / power)
    if norm <= value * (1 - 1e-9):
        assert Fraction(sum(v), 20) <= radius


# ---- run-off and soft sums -------------------------------------------------------------------------------


def tabulate(rankings: tuple[tuple[int, ...], ...], classes: int) -> tuple[list[int], list[list[int]]]:
    """First choices and pairwise preferences of these rankings."""
    counts = [sum(r[0] == k for r in rankings) for k in range(classes)]
    pairs = [[sum(r.index(a) < r.index(b) for r in rankings) for b in range(classes)] for a in range(classes)]
    return counts, [[0 if a == b else n for b, n in enumerate(row)] for a, row in enumerate(pairs)]


def test_fewer_changes_than_the_runoff_bound_never_change_the_winner() -> None:
    """Exhaustive over every electorate of five voters and three classes, and every way to change some of them."""
    kinds = list(itertools.permutations(range(3)))
    electorates = list(itertools.combinations_with_replacement(kinds, 5))
    results = {e: tabulate(e, 3) for e in electorates}
    for before, (counts, pairs) in results.items():
        winner, safe = runoff_winner(counts, pairs), runoff_changes(counts, pairs) - 1
        for kept in set(itertools.combinations(before, 5 - safe)):
            for new in itertools.combinations_with_replacement(kinds, safe):
                assert runoff_winner(*results[tuple(sorted(kept + new))]) == winner


def test_near_ties_count_against_the_winner_of_a_runoff() -> None:
    """Four voters, some of whom surely prefer one class and waver between the others: however they settle, and
    whatever fewer than M change to, the winner stays; where M = 0 they alone decide."""
    strict = list(itertools.permutations(range(3)))
    settled = {kind: [s for s in strict if s[: len(kind)] == kind] for kind in [*strict, (0,), (1,), (2,)]}
    results = {e: tabulate(e, 3) for e in itertools.combinations_with_replacement(strict, 4)}

    def outcomes(electorate: tuple[tuple[int, ...], ...]) -> set[tuple[tuple[int, ...], ...]]:
        return {tuple(sorted(e)) for e in itertools.product(*(settled[kind] for kind in electorate))}

    for before in itertools.combinations_with_replacement(settled, 4):
        counts = results[next(iter(outcomes(before)))][0]
        pairs = np.min([results[e][1] for e in outcomes(before)], axis=0).tolist()
        winner, changes = runoff_winner(counts, pairs), runoff_changes(counts, pairs)
        if not changes:
            assert len({runoff_winner(*results[e]) for e in outcomes(before)}) == 2
            continue
        for kept in set(itertools.combinations(before, 5 - changes)):
            for new in itertools.combinations_with_replacement(strict, changes - 1):
                assert {runoff_winner(*results[e]) for e in outcomes(kept + new)} == {winner}


def test_runoff_and_its_ball() -> None:
    """M changes are needed, so the open ball of radius M/B holds; unsure votes all count against the winner."""
    scheme = Scheme.l1(3, shape=(2,), q=4)
    rankings = tuple([(0, 1, 2)] * 7 + [(1, 0, 2)] * 3 + [(2, 0, 1)] * 2)
    counts, pairs = tabulate(rankings, 3)
    found = certify_runoff(counts, pairs, scheme)
    assert (found.prediction, found.radius, found.closed) == (0, Fraction(4, 12), False)
    assert certify_runoff([6, 3, 2], pairs, scheme, unsure=1).radius == Fraction(3, 12)
    unsure = [[0, 5, 5], [3, 0, 5], [2, 2, 0]]
    assert certify_runoff([5, 3, 2], unsure, scheme, unsure=2).radius is None
    with pytest.raises(VoteError, match="12"):
        certify_runoff([6, 3, 2], pairs, scheme)
    with pytest.raises(VoteError, match="one of the two"):
        certify_runoff(counts, np.full((3, 3), 7), scheme)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 4))
def test_soft_certificates_hold_for_every_point(seed: int, classes: int) -> None:
    """Outputs on a grid of 1/10, worst outputs wherever another input is shown, every point of the space."""
    from smoothing.verification import BruteForce

    rng = np.random.default_rng(seed)
    scheme = Scheme.l1(int(rng.integers(1, 4)), shape=(2,), q=int(rng.integers(2, 6)), seed=int(rng.integers(99)))
    world, unit = BruteForce(scheme), 10
    f = rng.integers(0, unit + 1, size=(world.inputs, classes))
    f[:, 0] = np.minimum(unit, f[:, 0] + rng.integers(0, 8))
    x = int(rng.integers(len(world.points)))
    outputs = f[world.shown[:, x]]
    plain = certify_soft_sums(outputs.sum(axis=0), unit, scheme)
    aware = certify_soft(outputs, unit, world.points[x], scheme)
    assert aware.strength >= plain.strength
    for rival in range(classes):
        worst = np.zeros_like(f)
        worst[:, rival] = unit
        worst[world.shown[:, x]] = outputs
        sums = worst[world.shown].sum(axis=0)
        for found in (plain, aware):
            wrong = world.inside(found, x) & (np.argmax(sums, axis=1) != found.prediction)
            assert not wrong.any()


def test_soft_ties_and_wrong_outputs() -> None:
    """A tie for the top has no certificate; outputs outside [0, 1] are refused."""
    scheme = Scheme.l1(1, shape=(2,), q=4)
    assert certify_soft_sums([5, 5], 10, scheme).radius is None
    with pytest.raises(VoteError, match=r"\[0, 1\]"):
        certify_soft(np.full((4, 2), 11), 10, np.zeros(2, int), scheme)
    with pytest.raises(VoteError, match="dtype"):
        certify_soft(np.full((4, 2), 0.5), 10, np.zeros(2, int), scheme)


def test_a_certifier_uses_the_pixel_threat_where_offsets_are_shared() -> None:
    """And it says so in the certificate."""
    votes = np.zeros(8, np.uint8)
    shared, apart = (Scheme.l1(2, shape=(2, 3), q=4, pixel=p) for p in (True, False))
    assert Certifier(shared, 2)(votes).threat == "pixels"
    assert Certifier(apart, 2)(votes).threat == "features"


CHANNELS = Scheme.l1(2, shape=(3, 2), q=4)


@pytest.mark.parametrize("threat", ["pixels", "features of a pixel"])
def test_the_pixel_threat_needs_shared_offsets(threat: str) -> None:
    """For every certificate: channels with offsets of their own touch more samples than g(1) a pixel allows."""
    soft, image = np.array([[0, 1]] * 8), np.zeros((3, 2), int)
    with pytest.raises(VoteError, match="threat"):
        certify(np.ones(8, np.uint8), image, CHANNELS, 2, threat=threat)  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="threat"):
        certify_runoff([1, 7], [[0, 1], [7, 0]], CHANNELS, threat=threat)  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="threat"):
        certify_soft_sums([0, 8], 1, CHANNELS, threat=threat)  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="threat"):
        certify_soft(soft, 1, image, CHANNELS, threat=threat)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sums", "unit"), [([1.9, 2.0], 1), ([8], 1), ([1, 9], 1), ([-1, 7], 1), ([0, 0], 0), ([1, 7], -1), ([[1, 7]], 1)]
)
def test_sums_that_no_outputs_have_are_refused(sums: list[float], unit: int) -> None:
    """Cut off, a margin of 0.1 would count as 1; beyond B, a radius could be anything."""
    with pytest.raises(VoteError, match="sums"):
        certify_soft_sums(sums, unit, CHANNELS)


@pytest.mark.parametrize(
    ("counts", "pairs", "unsure"),
    [([9, -1], [[0, 8], [0, 0]], 0), ([8, 1], [[0, 8], [0, 0]], -1), ([8, 0], [[0, 2], [6, 0]], 0)],
)
def test_preferences_that_contradict_the_votes_are_refused(
    counts: list[int], pairs: list[list[int]], unsure: int
) -> None:
    """Who votes for a class prefers it."""
    with pytest.raises(VoteError):
        certify_runoff(counts, pairs, CHANNELS, unsure=unsure)


def test_small_integers_are_added_without_wrapping() -> None:
    """250 + 50 is 300 in bytes, too."""
    pairs = np.array([[0, 250], [50, 0]], np.uint8)
    ball = certify_runoff(np.array([250, 50], np.uint8), pairs, Scheme.l1(75, shape=(3,), q=4))
    assert ball.radius == Fraction(101, 300)


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (ball(None), "class 0 without a certificate"),
        (ball(Fraction(9), everywhere=True), "class 0 for every input"),
        (
            ball(Fraction(1, 8), closed=True),
            "class 0 for every y with d(x, y) <= 1/8, that is within l_1/2 radius 0.5625",
        ),
        (ball(Fraction(3), metric=ECM.lp("1/2", 10**4)), "d(x, y) < 3, that is within l_1/2 radius 899999999.9999"),
        (ball(Fraction(1, 4), metric=ECM.l0(8)), "d(x, y) < 1/4, that is with any 1 features changed"),
        (ball(Fraction(1, 4), metric=ECM.from_expr("1 - exp(-z)")), "class 0 for every y with d(x, y) < 1/4"),
    ],
)
def test_a_certificate_reads_as_a_sentence_that_never_says_too_much(certificate: Certificate, said: str) -> None:
    """The radius is cut, not rounded."""
    assert str(certificate).endswith(said)
