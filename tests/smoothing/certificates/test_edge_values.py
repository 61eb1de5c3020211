"""Certificates at the edges of what they are asked: nothing, everything, one too many, one too few."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import attrs
import mpmath
import numpy as np
import pytest

from ecm import ECM, Design
from ecm.errors import ECMError
from smoothing.certificates.certificate import Certificate
from smoothing.certificates.certifier import Certifier, certify
from smoothing.certificates.ranking import Packing, pack_orders, vote_dtype
from smoothing.certificates.roots import root_below
from smoothing.certificates.runoff import certify_runoff
from smoothing.certificates.tally import Tally
from smoothing.errors import InputError, VoteError
from smoothing.scheme import Scheme
from tests.smoothing.certificates.polls import runoff_changes


def ball(radius: Fraction | None, closed: bool, metric: ECM, shape: tuple[int, ...] = (2,), **more: Any) -> Certificate:
    """A certificate on the levels 0..4 with nothing special but its ball."""
    return Certificate(0, "integer", radius, closed, metric, **{"q": 4, "shape": shape} | more)


def everywhere(metric: ECM, shape: tuple[int, ...] = (2,)) -> Certificate:
    """No point at all gets another class."""
    return attrs.evolve(ball(Fraction(9), True, metric, shape), everywhere=True)


@pytest.mark.parametrize("votes", [np.zeros((1, 4), np.uint8), np.zeros((4, 1), np.uint8), np.zeros(0, np.uint8)])
def test_votes_are_those_of_one_image(votes: np.ndarray) -> None:
    """Neither a batch of them nor none."""
    with pytest.raises(VoteError, match="votes of one image"):
        Tally.of(votes, 2)


@pytest.mark.parametrize("samples", [3, 5])
def test_every_vote_has_one_weight(samples: int) -> None:
    """One more or one less would be counted against the wrong sample."""
    with pytest.raises(VoteError, match=f"4 votes for {samples} weighted samples"):
        Tally.of(np.zeros(4, np.uint8), 2, np.ones(samples, np.int64))


@pytest.mark.parametrize(("x", "y"), [([0, -1], [0, 0]), ([0, 0], [-1, 0]), ([5, 0], [0, 0]), ([0, 0], [0, 5])])
def test_points_off_the_grid_are_in_no_ball(x: list[int], y: list[int]) -> None:
    """Either of the two, below or above."""
    for question in (everywhere(ECM.l1(2)).contains, everywhere(ECM.l1(2)).distance):
        with pytest.raises(ECMError, match=r"levels 0\.\.4; they span"):
            question(x, y)


@pytest.mark.parametrize("levels", [[-1, 0], [0, 5], [0.0, 1.0], [[0], [1]], [0, 1, 2]])
def test_an_image_off_the_grid_is_not_certified(levels: list[Any]) -> None:
    """Levels are integers 0..q in the shape of the scheme, or flat."""
    votes, scheme = np.zeros(4, np.uint8), Scheme.l1(1, shape=(2,), q=4)
    with pytest.raises(InputError, match="levels"):
        certify(votes, np.array(levels), scheme, 2)


def test_flat_levels_are_those_of_the_image() -> None:
    """Both shapes are read alike."""
    votes, scheme = np.array([0, 0, 0, 1], np.uint8), Scheme.l1(1, shape=(2, 1), q=4)
    assert certify(votes, [[0], [4]], scheme, 2) == certify(votes, [0, 4], scheme, 2)


def test_an_irrational_distance_lies_between_its_bounds() -> None:
    """And they are close: log(1 + 5/4)/3 + log(1 + 15/4)/3, by mpmath."""
    found = ball(Fraction(1), True, ECM.from_expr("log(1 + 5*z)/3"))
    low, high = found.distance([0, 4], [1, 1])
    with mpmath.workdps(100):
        value = (mpmath.log(mpmath.mpf(9) / 4) + mpmath.log(mpmath.mpf(19) / 4)) / 3
        assert mpmath.mpf(low.numerator) / low.denominator < value < mpmath.mpf(high.numerator) / high.denominator
    assert 0 < high - low < Fraction(1, 1 << 200)


def test_a_pixel_of_which_one_channel_changes_costs_that_channel() -> None:
    """Also where the others stay as they are."""
    found = ball(Fraction(1, 8), True, ECM.l1(2), (2, 2), threat="pixels")
    x = np.zeros((2, 2), int)
    for feature in range(4):
        y = x.copy()
        y.flat[feature] = 1
        assert found.distance(x, y) == (Fraction(1, 8), Fraction(1, 8))
        assert found.contains(x, y)
        assert not found.contains(x, 2 * y)


@pytest.mark.parametrize("p", [0, "-1/2", 2, "3/2"])
def test_the_l1_baseline_is_for_powers_up_to_one(p: Any) -> None:
    """Above 1 the inequality of the norms is the other way round."""
    with pytest.raises(ECMError, match="0 < p <= 1"):
        ball(Fraction(1, 2), True, ECM.l1(2)).l1_to_lp(p)
    with pytest.raises(ECMError, match="0 < p <= 1"):
        ball(Fraction(1, 2), True, ECM.lp("1/2", 2)).l1_to_lp("1/2")


def test_the_l1_baseline_of_nothing_and_of_everything() -> None:
    """None and infinity; at radius 1 all norms agree; an open ball stays strictly below."""
    metric = ECM.l1(2)
    assert ball(None, False, metric).l1_to_lp("1/2") is None
    assert everywhere(metric).l1_to_lp("1/2") == math.inf
    assert ball(Fraction(1, 2), True, metric).l1_to_lp("1/2") == 1.0
    assert ball(Fraction(1, 2), False, metric).l1_to_lp("1/2") == math.nextafter(1.0, 0)
    assert ball(Fraction(1), True, metric).l1_to_lp("1/2") == 4.0
    assert ball(Fraction(1, 4), True, metric).l1_to_lp("1/2") == 0.5


COLUMNS = ECM.grouped(["sign(z)/8", "sign(z)/4", "0"], groups=[0, 0, 1, 2])


def test_the_dearest_of_the_named_features_are_counted_first() -> None:
    """Any n of them may change, so also the n that cost most; a free one always may."""
    found = ball(Fraction(1, 4), True, COLUMNS, (4,))
    assert found.features(among=[0, 1, 2]) == 1
    assert found.features(among=[0, 1]) == 2
    assert found.features(among=[2]) == 1
    assert found.features(among=[3, 3, 2]) == 3
    assert attrs.evolve(found, closed=False).features(among=[0, 1, 2]) == 0
    assert attrs.evolve(found, closed=False).features(among=[0, 1]) == 1
    assert ball(None, False, COLUMNS, (4,)).features(among=[0, 1]) is None
    assert everywhere(COLUMNS, (4,)).features(among=[0, 1, 2]) == 3


def test_no_more_features_are_counted_than_there_are() -> None:
    """Free components cost nothing, a large radius covers all, an open ball of radius 0 covers none."""
    assert ball(Fraction(1, 4), True, COLUMNS, (4,)).features() == 1
    assert ball(Fraction(50), False, COLUMNS, (4,)).features() == 4
    assert ball(Fraction(0), False, COLUMNS, (4,)).features() == 0
    assert ball(Fraction(1), True, ECM.from_expr("0")).features() == 2


def test_pixels_of_components_cost_what_their_channels_cost() -> None:
    """1/8 + 1/4 for a pixel of both; a single axis has no pixels."""
    metric = ECM.grouped(["sign(z)/8", "sign(z)/4"])
    assert ball(Fraction(3, 4), True, metric, (2, 5)).pixels() == 2
    assert ball(Fraction(3, 4), False, metric, (2, 5)).pixels() == 1
    assert ball(Fraction(50), True, metric, (2, 5)).pixels() == 5
    with pytest.raises(ECMError, match="no pixels"):
        ball(Fraction(3, 4), True, metric, (2,)).pixels()


def test_one_feature_alone_reaches_as_far_as_the_ball() -> None:
    """Not at all, up to the sphere, up to the end of the grid."""
    metric = ECM.l1(4)
    reaches = [ball(radius, True, metric).reach(1) for radius in (None, Fraction(0), Fraction(1, 8), Fraction(9))]
    assert reaches == [None, 0, 2, 4]
    assert ball(Fraction(1, 8), False, metric).reach(0) == 1
    assert everywhere(metric).reach(0) == 4


def test_balls_are_ordered_by_inclusion() -> None:
    """Absent, open, closed of the same radius, larger, everywhere."""
    metric = ECM.l1(2)
    rising = [
        ball(None, False, metric),
        ball(Fraction(0), True, metric),
        ball(Fraction(1, 4), False, metric),
        ball(Fraction(1, 4), True, metric),
        ball(Fraction(1, 2), False, metric),
        everywhere(metric),
    ]
    assert sorted(rising, key=lambda found: found.strength) == rising
    assert all(one.strength < two.strength for one, two in itertools.pairwise(rising))
    assert [found.exists for found in rising] == [False] + [True] * 5


@pytest.mark.parametrize(("base", "exponent"), [("1/3", "10"), ("2/3", "7/3"), ("7/5", "2"), ("1/2", "2")])
def test_a_root_is_the_largest_double_also_where_the_power_is_rounded_down(base: str, exponent: str) -> None:
    """The power of the C library is a first guess, which may be a step or two too small or too large."""
    b, e = Fraction(base), Fraction(exponent)
    found = root_below(b, e, strict=False)
    above = math.nextafter(found, math.inf)
    assert Fraction(found) ** e.denominator <= b**e.numerator < Fraction(above) ** e.denominator


def test_no_certificate_holds_no_point_and_everywhere_holds_all() -> None:
    """Also where distances are irrational."""
    metric = ECM("log1p(z)/2")
    assert not ball(None, False, metric).contains([0, 1], [0, 1])
    assert not ball(None, True, metric).contains([0, 1], [0, 2])
    assert everywhere(metric).contains([0, 0], [4, 4])


def test_a_pixel_whose_channels_have_rational_and_irrational_costs_counts_all_of_them() -> None:
    """sqrt(1/4) + sqrt(1/2) is more than g(1) = 1, which is what the pixel costs."""
    x, y = [[0], [0]], [[1], [2]]
    for radius, inside in (("3/4", False), ("9/8", True)):
        pixels = ball(Fraction(radius), True, ECM.lp("1/2"), (2, 1), threat="pixels")
        assert pixels.contains(x, y) == pixels.contains(y, x) == inside
        assert pixels.contains(x, [[0], [2]])


@pytest.mark.parametrize("closed", [True, False])
def test_less_than_one_feature_is_none(closed: bool) -> None:
    """A ball of l0 below the cost of one feature holds x alone."""
    found = ball(Fraction(1, 9), closed, ECM.l0(4))
    assert found.features() == 0
    assert found.lp_radius() == 0
    assert found.covers_lp(0)
    assert found.covers_lp(Fraction(1, 2))
    assert not found.covers_lp(1)


def test_an_lp_radius_is_compared_by_powers_of_both_sides() -> None:
    """p = 2/3: rho**2 < (2/8)**3 where rho < 1/8."""
    found = ball(Fraction(1, 8), False, ECM.lp("2/3", 2))
    assert found.covers_lp(Fraction(1249, 10000))
    assert not found.covers_lp(Fraction(1, 8))


def test_a_ball_of_all_points_lets_every_feature_change() -> None:
    """Although two of the dearest would cost more than any two points are apart."""
    metric = ECM.grouped([ECM.l1(2), ECM.l0(4)])
    all_points = attrs.evolve(ball(Fraction(3, 4), True, metric), everywhere=True)
    assert all_points.features() == 2
    assert all_points.features(among=[0, 1]) == 2


def test_an_irrational_cost_is_rounded_up_by_less_than_one_unit() -> None:
    """g(1) = log(2): a ball just below it lets no feature change, one just above it one."""
    below = int(mpmath.floor(mpmath.mpf(2) ** 40 * mpmath.log(2)))
    for units, count in ((below, 0), (below + 1, 1)):
        assert ball(Fraction(units, 1 << 40), True, ECM("log1p(z)")).features() == count


def lone_feature(shown: int) -> Scheme:
    """One feature with two levels, which touches `shown` of four samples at the cost shown/4 or more."""
    return Scheme(Design.from_rows(ECM.l0(2), [[1]] * shown, q=1, budget=4), (1,), coupling="independent")


def test_a_rival_that_can_gain_exactly_what_it_needs_wins() -> None:
    """Four votes for class 1, two of which the feature touches: 2 against 2 is won by class 0, at distance 1/2."""
    for method in ("vote_aware", "strongest"):
        found = certify(np.ones(4, np.uint8), [0], lone_feature(2), classes=2, certificate=method)
        assert (found.radius, found.closed, found.everywhere) == (Fraction(1, 2), False, False)
    assert certify(np.ones(4, np.uint8), [0], lone_feature(1), classes=2).everywhere


@pytest.mark.parametrize("method", ["paper", "integer", "vote_aware"])
def test_a_certificate_of_the_plurality_counts_the_first_places_of_rankings(method: Any) -> None:
    """It is that of the votes, whatever else the rankings say."""
    scheme = Scheme.l1(2, shape=(3,), q=4)
    codes = pack_orders([[2, 0, 1]] * 6 + [[0, 1, 2]] * 2)
    by_codes = Certifier(scheme, 3, method)(codes, np.array([0, 2, 4]))
    assert by_codes == Certifier(scheme, 3, method)(Packing.of(3).votes(codes), np.array([0, 2, 4]))
    assert by_codes.rule == "plurality"


def test_a_runoff_that_nobody_can_change_is_certified_everywhere() -> None:
    """As a plurality is."""
    codes = pack_orders([[1, 0, 2]] * 4)
    found = Certifier(lone_feature(1), 3)(codes, np.array([0]))
    assert found.everywhere
    assert found.closed
    assert found.rule == "runoff"


def test_unsure_samples_count_in_the_total_of_a_runoff() -> None:
    """Both of two unsure samples may vote 1: 3 against 3, and one changed sample decides."""
    assert runoff_changes([3, 1], [[0, 3], [1, 0]], unsure=2) == 1


@pytest.mark.parametrize(
    ("votes", "unsure", "prefer"),
    [
        ([[3, 5]], 0, [[0, 5], [3, 0]]),
        ([3, 5], 0, [[0, 5]]),
        ([8], 0, [[0]]),
        ([3.0, 5.0], 0, [[0, 5], [3, 0]]),
        ([3, 5], 0, [[0.0, 5.0], [3.0, 0.0]]),
        ([9, -1], 0, [[0, 5], [3, 0]]),
        ([9, 0], -1, [[0, 5], [3, 0]]),
        ([3, 4], 0, [[0, 5], [3, 0]]),
        ([3, 5, 0], 0, [[0, 9, 0], [3, 0, 0], [0, 0, 0]]),
        ([3, 5], 0, [[0, -1], [3, 0]]),
        ([3, 3, 3], -1, [[0, 4, 4], [4, 0, 4], [4, 4, 0]]),
        ([3, 5, 0], 0, [[0, 4, 8], [5, 0, 8], [0, 0, 0]]),
    ],
)
def test_numbers_that_are_no_runoff_are_refused(votes: Any, unsure: int, prefer: Any) -> None:
    """Of other shapes or types, negative, or not those of all samples."""
    with pytest.raises(VoteError):
        certify_runoff(votes, prefer, Scheme.l1(2, shape=(3,), q=4), unsure=unsure)


def test_signed_and_unsigned_numbers_of_a_runoff_may_be_mixed() -> None:
    """They are integers both."""
    prefer = np.array([[0, 1], [7, 0]], np.int64)
    assert certify_runoff(np.array([1, 7], np.uint8), prefer, Scheme.l1(2, shape=(3,), q=4)).prediction == 1


@pytest.mark.parametrize("classes", [-1, 0, 1, 65536])
def test_rankings_are_those_of_two_classes_or_more(classes: int) -> None:
    """And of no more than a vote can name."""
    for make in (vote_dtype, Packing.of):
        with pytest.raises(VoteError, match="classes"):
            make(classes)
    assert vote_dtype(65535) == np.uint16


def test_rankings_of_any_shape_are_packed_alike() -> None:
    """One ranking, a row of them, and rows of rows; with near gaps."""
    random = np.random.RandomState(0)
    orders = np.array([[random.permutation(4) for _ in range(3)] for _ in range(2)])
    near = random.rand(2, 3, 3) < 0.5
    packing, codes = Packing.of(4), pack_orders(orders, near)
    assert codes.shape == (2, 3)
    for at in np.ndindex(2, 3):
        one = pack_orders(orders[at], near[at])
        assert codes[at] == one
        for method in (packing.ranks, packing.positions, packing.votes):
            assert np.array_equal(method(codes)[at], method(one))
        assert packing.positions(one)[orders[at]].tolist() == [0, 1, 2, 3]
        ranks = packing.ranks(one)[orders[at]]
        assert (np.diff(ranks) == ~near[at]).all()
    assert np.array_equal(pack_orders(orders)[0], pack_orders(orders[0]))


@pytest.mark.parametrize("wrong", [[[0.0, 1.0]], 1, [[0, 0]], [[1, 2]], [[0, 1], [1, 1]]])
def test_orders_that_are_none_are_refused(wrong: Any) -> None:
    """Floats, a number, a class twice, a class that is not there."""
    with pytest.raises(VoteError, match="orders"):
        pack_orders(wrong)


def test_one_code_that_packs_no_ranking_is_enough() -> None:
    """The others may be rankings."""
    with pytest.raises(VoteError, match="packs no ranking"):
        Packing.of(3).unpack(np.array([17, 1 << 31], np.uint32))
