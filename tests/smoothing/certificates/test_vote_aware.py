"""The vote-aware bound: its parts against their definitions, and where it stands between its neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.design import Design
from smoothing.certificates.certifier import Certifier
from smoothing.certificates.dual import FeatureItems, Items, PixelItems, exact_sum, maximize
from smoothing.certificates.tally import Tally
from smoothing.certificates.touch import Touch, distances, menu
from smoothing.certificates.vote_aware import VoteAware
from smoothing.scheme import Scheme
from smoothing.verification.strategies import small_schemes

SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(scheme=small_schemes())
def test_distances_are_those_at_which_the_bin_changes(scheme: Scheme) -> None:
    """For every outcome and level the first level above and below that is shown another bin."""
    for component, outcomes in enumerate(scheme.design.outcomes):
        lower, upper = scheme.rows(component)
        up, down = distances(outcomes, np.arange(scheme.q + 1))
        for o in range(outcomes.finite + 1):
            for x in range(scheme.q + 1):
                for found, sign in ((up, 1), (down, -1)):
                    moved = [k for k in range(1, scheme.q + 1) if 0 <= x + sign * k <= scheme.q]
                    other = (
                        k
                        for k in moved
                        if (lower[o, x], upper[o, x]) != (lower[o, x + sign * k], upper[o, x + sign * k])
                    )
                    assert found[x, o] == next(other, scheme.q + 1)


@SLOW
@given(scheme=small_schemes(), data=st.data())
def test_gains_are_sums_over_the_touched_samples(scheme: Scheme, data: st.DataObject) -> None:
    """Every coupling, feature and distance, from the bins themselves."""
    size = st.lists(st.integers(0, 5), min_size=scheme.samples, max_size=scheme.samples)
    worth = np.array(data.draw(size))
    levels = np.array(data.draw(st.lists(st.integers(0, scheme.q), min_size=scheme.features, max_size=scheme.features)))
    for component, features, gains in Touch(scheme).gains(levels, worth):
        lower, upper = scheme.rows(component)
        for feature, row in zip(features, gains, strict=True):
            ids = np.minimum(scheme.outcome(feature, np.arange(scheme.samples)), len(lower) - 1)
            x = levels[feature]
            for k, gain in zip(range(1, scheme.q + 1), row, strict=True):
                ends = [y for y in (x - k, x + k) if 0 <= y <= scheme.q] + [0, scheme.q]
                reach = [y for y in ends if abs(y - x) <= k]
                touched = [(lower[ids, x] != lower[ids, y]) | (upper[ids, x] != upper[ids, y]) for y in reach]
                assert gain == max((worth[t].sum() for t in touched), default=0)


@SLOW
@given(scheme=small_schemes(shapes=((2, 1), (2, 2), (3, 2), (1, 2)), pixel=True), data=st.data())
def test_the_whole_of_a_pixel_is_all_it_shows(scheme: Scheme, data: st.DataObject) -> None:
    """By site, the worth of the samples whose outcome has a divider: less would be unsound, more a smaller ball."""
    worth = np.array(data.draw(st.lists(st.integers(0, 5), min_size=scheme.samples, max_size=scheme.samples)))
    finite = scheme.design.outcomes[0].finite
    ids = scheme.outcome(np.arange(scheme.sites)[:, None], np.arange(scheme.samples))
    shows = np.where(ids < finite, worth, 0).sum(axis=1)
    assert Touch(scheme).whole(worth).tolist() == shows.tolist()
    levels = np.array(data.draw(st.lists(st.integers(0, scheme.q), min_size=scheme.features, max_size=scheme.features)))
    items = VoteAware(scheme, "pixels").items(levels, worth)
    assert isinstance(items, PixelItems)
    assert items.whole.tolist() == np.minimum(shows, items.gains[:, :, -1].sum(axis=0)).tolist()


@given(q=st.integers(1, 70000))
def test_the_menu_covers_all_distances_and_is_complete_up_to_512(q: int) -> None:
    """Strictly rising from 1 to q, every step below 512 levels, never more than about a thousand entries."""
    steps = menu(q)
    assert (steps[0], steps[-1]) == (1, q)
    assert (np.diff(steps) >= 1).all()
    assert (np.diff(steps[:512]) == 1).all()
    assert len(steps) < 1100


@given(
    gains=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).map(sorted), min_size=1, max_size=5),
    need=st.integers(1, 30),
    m=st.integers(0, 1 << 20),
)
def test_no_multiplier_exceeds_the_least_cost_of_an_attack(gains: list[list[int]], need: int, m: int) -> None:
    """Weak duality against all combinations of moves; the search finds at least as much as any m tried."""
    from itertools import product

    costs = np.array([200, 450, 700])
    items = FeatureItems(((np.array(gains), costs),))
    moves = [[(0, 0), *zip(row, costs.tolist(), strict=True)] for row in gains]
    attacks = [sum(c for _, c in chosen) for chosen in product(*moves) if sum(g for g, _ in chosen) >= need]
    assert (items.attainable >= need) is bool(attacks)
    if attacks:
        bound, found = maximize(items, need, 1 << 10, 30)
        assert bound == found * need - items.excess(found)[0] <= min(attacks)
        assert m * need - items.excess(m)[0] <= min(attacks)


TABLES = st.integers(1, 3).flatmap(
    lambda pixels: st.lists(
        st.lists(
            st.lists(st.integers(0, 9), min_size=3, max_size=3).map(sorted),
            min_size=pixels,
            max_size=pixels,
        ),
        min_size=1,
        max_size=3,
    )
)


@given(table=TABLES, whole=st.integers(0, 30), m=st.integers(0, 900))
@example(table=[[[0, 1, 2]] * 3, [[1, 5, 9]] * 3], whole=4, m=300)
def test_the_excess_is_that_of_the_definition(table: list[list[list[int]]], whole: int, m: int) -> None:
    """sum over items of max(0, max(m*gain - cost)): an item is a feature, or a pixel that may be bought as a whole."""
    costs = [200, 450, 700]
    best = [[max(0, *(m * g - c for g, c in zip(row, costs, strict=True))) for row in channel] for channel in table]
    features = FeatureItems(tuple((np.array(channel), np.array(costs)) for channel in table))
    assert features.excess(m)[0] == sum(map(sum, best))
    assert features.peak == max(row[-1] for channel in table for row in channel)
    pixels = PixelItems(np.array(table), np.array(costs), np.full(len(table[0]), whole))
    assert pixels.excess(m)[0] == sum(max(m * whole - costs[-1], sum(column)) for column in zip(*best, strict=True))
    assert pixels.peak == max(sum(row[-1] for row in column) for column in zip(*table, strict=True))
    assert pixels.attainable == whole * len(table[0])


@pytest.mark.parametrize("large", [1 << 20, 1 << 40, 1 << 50])
@pytest.mark.parametrize("kind", ["features", "pixels"])
def test_no_product_wraps_however_large_the_gains(large: int, kind: str) -> None:
    """The multiplier is kept so small that m * gain fits 62 bits; what is returned is the bound in whole numbers."""
    gains, costs = np.array([[0, 1], [large // 3, large], [1, large // 5]]), np.array([1 << 58, 1 << 59])
    items: Items = FeatureItems(((gains, costs),))
    if kind == "pixels":
        items = PixelItems(gains[:, None], costs, gains[:, -1].sum(keepdims=True))
    bound, m = maximize(items, 1 + large // 4, 1 << 60, 1 << 55)
    assert m * large <= 1 << 62
    rows = [[m * g - c for g, c in zip(row, costs.tolist(), strict=True)] for row in gains.tolist()]
    excess = sum(max(0, *row) for row in rows)
    if kind == "pixels":
        excess = max(excess, m * int(gains[:, -1].sum()) - (1 << 59))
    assert 0 < bound == m * (1 + large // 4) - excess


def test_sums_beyond_64_bits_are_exact() -> None:
    """A float, or a wrapped sum, would break soundness."""
    values = np.full(5000, (1 << 61) - 1)
    assert exact_sum(values) == 5000 * ((1 << 61) - 1)


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    """A periodic design for z**(1/2)/6 at q = 20, interleaved."""
    metric = ECM.lp("1/2", 6)
    allocation = ECM.lp("1/2").allocate(60, 20)
    return Scheme(Design.from_weights(metric, dict(allocation.weights), 20, 360), (3, 4, 4), seed=1)


def random_image(scheme: Scheme, seed: int, **_: Any) -> tuple[np.ndarray, np.ndarray]:
    """Votes with some majority, and levels."""
    rng = np.random.default_rng(seed)
    votes = rng.choice(4, size=scheme.samples, p=rng.dirichlet([6, 3, 2, 1])).astype(np.uint8)
    return votes, rng.integers(0, scheme.q + 1, size=scheme.shape)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_vote_aware_is_never_smaller_than_integer_never_smaller_than_paper(scheme: Scheme, seed: int) -> None:
    """As balls, on spaces too large to enumerate."""
    votes, levels = random_image(scheme, seed)
    paper, whole, aware = (Certifier(scheme, 4, m)(votes, levels) for m in ("paper", "integer", "vote_aware"))
    assert paper.strength < whole.strength <= aware.strength
    assert Certifier(scheme, 4)(votes, levels) == aware


def test_scattered_votes_give_a_clearly_larger_ball(scheme: Scheme) -> None:
    """With votes independent of the outcomes, a feature touches as many of the rival's votes as of anybody's."""
    ratios = []
    for seed in range(10):
        votes, levels = random_image(scheme, seed)
        whole, aware = (Certifier(scheme, 4, m)(votes, levels).radius for m in ("integer", "vote_aware"))
        assert whole is not None
        assert aware is not None
        ratios.append(aware / whole)
    assert sum(ratios) / len(ratios) > Fraction(11, 10)


def test_the_tables_of_large_grids_are_not_kept_and_give_the_same() -> None:
    """Where level x outcome tables would be large, distances are worked out image by image."""
    metric = ECM.lp("1/2", 2)
    small = Scheme(Design.from_rows(metric, [[3], [7], [2, 9]], q=12, budget=60), (3,))
    worth = np.arange(60)
    levels = np.array([0, 5, 12])
    kept, fresh = Touch(small), Touch(small)
    fresh.__dict__["_tables"] = None
    for a, b in zip(kept.gains(levels, worth), fresh.gains(levels, worth), strict=True):
        assert np.array_equal(a[2], b[2])


def test_the_coarse_menu_of_large_grids_is_on_the_safe_side() -> None:
    """q = 3000: the bound is at most the one with every distance priced, and close to it."""
    q = 3000
    rows = [[1500 + 47 * i] for i in range(30)]  # far from every level, where the menu is coarse
    scheme = Scheme(Design.from_rows(ECM.lp("1/2", 2), rows, q=q, budget=400), (2, 40))
    rng = np.random.default_rng(0)
    votes = rng.choice(3, p=[0.9, 0.05, 0.05], size=400).astype(np.uint8)
    levels = rng.integers(0, 700, size=80)
    coarse, full = VoteAware(scheme), VoteAware(scheme)
    full.touch.__dict__["moves"] = np.arange(1, q + 1)
    assert len(coarse.touch.moves) < 800
    one, two = (engine.hard(votes, levels, Tally.of(votes, 3)).radius for engine in (coarse, full))
    assert one is not None
    assert two is not None
    assert 0.99 * two < one <= two


def test_a_rival_out_of_reach_never_wins() -> None:
    """One feature shows something in 2 of 12 samples: no change at all can flip a vote of 12 to 0."""
    metric = ECM.lp("1/2", 2)
    scheme = Scheme(Design.from_rows(metric, [[2], [3]], q=4, budget=12), (1,))
    found = Certifier(scheme, 3)(np.zeros(12, np.uint8), np.array([1]))
    assert found.everywhere
    assert found.contains([1], [4])
    assert [m for _, m in found.multipliers] == [None, None]


def test_zero_components_are_free_and_touch_nothing() -> None:
    """Features of g = 0 may change at no cost; they are never shown, so the certificate does not depend on them."""
    metric = ECM.grouped([ECM.lp("1/2", 2), ECM.from_expr("0")])
    scheme = Scheme(Design.from_rows(metric, [[[1], [2], [3]], []], q=4, budget=12), (2, 3))
    rng = np.random.default_rng(0)
    votes = rng.choice(2, p=[0.7, 0.3], size=12).astype(np.uint8)
    levels = rng.integers(0, 5, size=(2, 3))
    other = levels.copy()
    other[1] = 4 - other[1]
    one, two = (Certifier(scheme, 2)(votes, x) for x in (levels, other))
    assert one == two
    assert one.contains(levels, other)


def test_multipliers_evaluate_to_the_radius(scheme: Scheme) -> None:
    """What the certificate carries is enough to find its bound again."""
    votes, levels = random_image(scheme, 3)
    tally, engine = Tally.of(votes, 4), VoteAware(scheme)
    bound = engine.hard(votes, levels.ravel().astype(np.int64), tally)
    values = []
    for rival, m in bound.multipliers:
        assert m is not None
        worth = 1 + (votes == tally.prediction).astype(np.int64) - (votes == rival)
        excess, _ = engine.items(levels.ravel().astype(np.int64), worth).excess(m)
        values.append(Fraction(m * tally.need(rival) - excess, bound.scale))
    assert bound.radius == min(values)


@pytest.mark.parametrize("coupling", ["spread", "independent", "permutation", "global"])
def test_chunks_do_not_matter(coupling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are gone through in chunks that fit a cache; the later ones hold no first channel of a pixel."""
    design = Design.from_weights(ECM.l1(2), {2: 1, 4: 1}, q=4, budget=16)
    scheme = Scheme(design, (3, 2, 2), coupling=coupling, pixel=True)
    votes = np.ones(scheme.samples, np.uint8)
    votes[0] = 0
    levels = np.arange(12).reshape(3, 2, 2) % 5
    expected = Certifier(scheme, 2)(votes, levels)
    monkeypatch.setattr("smoothing.certificates.touch._CELLS", 30)
    assert Certifier(scheme, 2)(votes, levels) == expected


def test_a_bound_without_the_features_that_cost_one_ends_at_one() -> None:
    """They are left out of the prices, so a ball must end before any of them changes; else nothing is cut."""
    fixed = ECM.grouped([ECM.from_expr("z/4"), ECM.from_expr("sign(z)")])
    for metric, limit in ((fixed, Fraction(1)), (ECM.from_expr("z/4"), Fraction(3, 2))):
        aware = VoteAware(Scheme(metric.design(16, q=4), (2,)))
        assert aware.limited(Fraction(3, 2)) == limit
        assert aware.limited(Fraction(1, 2)) == Fraction(1, 2)
