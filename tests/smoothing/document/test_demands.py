"""Everything that the checker demands is needed: a claim that is wrong in this one thing is rejected for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecm import ECM
from ecm.design import Design
from smoothing.certificates import Certifier, pack_orders
from smoothing.document import checker
from smoothing.document.document import certificate_document, level_bytes, scheme_facts, vote_bytes
from smoothing.scheme import Scheme

Claim = tuple[dict[str, Any], str, bytes, bytes]
SCALE = 1 << 40


def claimed(scheme: Scheme, votes: list[int], levels: list[int], method: Any = "strongest", classes: int = 2) -> Claim:
    """An honest claim."""
    cast, image, facts = np.array(votes, np.uint8), np.array(levels).reshape(scheme.shape), scheme_facts(scheme)
    ball = Certifier(scheme, classes, method)(cast, image)
    text = certificate_document(ball, cast, image, scheme, classes=classes, shared=facts)
    return json.loads(text), facts, vote_bytes(cast), level_bytes(image)


def plain() -> Claim:
    """Seven votes against one for class 1, d = l1/2, q = 4, B = 8: d < 3/8."""
    return claimed(Scheme.l1(2, shape=(3,), q=4), [1, 1, 1, 0, 1, 1, 1, 1], [0, 2, 4], "integer")


def sealed(document: dict[str, Any], facts: dict[str, Any], votes: bytes, levels: bytes) -> Claim:
    """All digests and the fingerprint anew, so that nothing but the claim itself can be wrong."""
    facts = {**facts, "scheme_fingerprint": checker.fingerprint(facts)}
    text = json.dumps(facts)
    digests = {
        "scheme_fingerprint": facts["scheme_fingerprint"],
        "facts_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "votes_sha256": hashlib.sha256(votes).hexdigest(),
        "image_sha256": hashlib.sha256(str(tuple(document["shape"])).encode() + levels).hexdigest(),
    }
    return {**document, **digests}, text, votes, levels


def changed(
    document: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    votes: list[int] | None = None,
    levels: list[int] | None = None,
) -> Callable[[], Claim]:
    """The plain claim with these changes, sealed."""

    def make() -> Claim:
        own, text, cast, image = plain()
        cast = cast if votes is None else bytes(votes)
        image = image if levels is None else level_bytes(levels)
        return sealed(own | (document or {}), json.loads(text) | (facts or {}), cast, image)

    return make


def unsealed(place: int, change: Callable[[Any], Any]) -> Callable[[], Claim]:
    """The plain claim with one file changed and no digest."""

    def make() -> Claim:
        claim = list(plain())
        claim[place] = change(claim[place])
        return claim[0], claim[1], claim[2], claim[3]

    return make


def borrowed() -> Claim:
    """Other offsets under the fingerprint of the honest ones, in both files."""
    document, text, votes, levels = plain()
    facts = json.loads(text) | {"offsets": [0, 0, 0]}
    text = json.dumps(facts)
    return document | {"facts_sha256": hashlib.sha256(text.encode()).hexdigest()}, text, votes, levels


WRONG: dict[str, tuple[Callable[[], Claim], str]] = {
    "another format": (changed({"format": "ecm-certificate/2"}), "formats"),
    "facts of another format": (changed(facts={"format": "ecm-facts/1"}), "formats"),
    "other facts": (unsealed(1, lambda text: text + " "), "the facts are those meant"),
    "votes in another order": (unsealed(2, lambda votes: votes[::-1]), "the votes are those meant"),
    "levels in another order": (unsealed(3, lambda levels: levels[8:] + levels[:8]), "the image is the one meant"),
    "another shape": (changed({"shape": [3, 1]}), "shape = "),
    "another grid": (changed({"q": 5}), "q = 5"),
    "another budget": (changed({"budget": 9}), "budget = 9"),
    "another metric": (changed({"metric": ["z/3"]}), "metric = "),
    "a borrowed fingerprint": (borrowed, "the fingerprint is that of the facts"),
    "an unknown rule": (changed({"rule": "approval"}), "the class is that of"),
    "a class without a count": (changed({"classes": 3}), "3 classes have a count"),
    "a level beyond the grid": (changed(levels=[0, 2, 5]), r"levels are 0\.\.4"),
    "a level too many": (changed(levels=[0, 2, 4, 4]), "4 levels make an image"),
    "a vote too few": (changed({"counts": [1, 6]}, votes=[1, 1, 1, 0, 1, 1, 1]), "7 votes, all there are"),
    "a vote too many": (changed({"counts": [1, 8]}, votes=[1] * 8 + [0]), "9 votes, all there are"),
    "a vote for no class": (changed(votes=[2] + [1] * 7), "votes are classes"),
    "a vote missing from the counts": (changed({"counts": [1, 6]}), "counts"),
    "an unsure vote not told": (changed({"counts": [1, 6]}, votes=[1, 1, 1, 0, 1, 1, 1, 255]), "1 unsure"),
    "the smaller class": (changed({"prediction": 0}), "has most sure votes"),
    "the later class of a tie": (changed({"counts": [4, 4]}, votes=[0, 1] * 4), "has most sure votes"),
    "an unknown threat": (changed({"threat": "rows"}), "the threat fits"),
    "pixels that share nothing": (changed({"threat": "pixels"}), "the threat fits"),
    "half a ball": (changed({"ball": "half"}), "the ball is half"),
    "a tie after the unsure votes": (
        changed({"counts": [2, 4], "unsure": 2}, votes=[0, 0, 255, 255, 1, 1, 1, 1]),
        "class 0 still needs 0",
    ),
    "a closed ball up to where a rival can win": (changed({"ball": "closed"}), "a multiplier is given"),
    "a ball beyond the counts": (changed({"radius": "49/128"}), "a multiplier is given"),
    "a price under a method that has none": (
        changed({"radius": "49/128", "multipliers": [[0, 1 << 36]]}),
        "a multiplier is given",
    ),
    "a price of another rival": (
        changed({"radius": "49/128", "method": "vote_aware", "multipliers": [[1, 1 << 36]]}),
        "a multiplier is given",
    ),
    "a price that proves less": (
        changed({"radius": "49/128", "method": "vote_aware", "multipliers": [[0, 1]]}),
        "by m = 1/",
    ),
    "no price": (changed({"radius": "49/128", "method": "vote_aware", "multipliers": [[0, None]]}), "by m = 0/"),
    "an offset below 0": (changed(facts={"offsets": [0, 1, -1]}), "have an offset"),
    "an offset too many": (changed(facts={"offsets": [0, 1, 2, 3]}), "3 sites have an offset"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_claim_is_rejected_for_what_is_wrong_in_it(name: str) -> None:
    """And for nothing else: the message names it."""
    make, reason = WRONG[name]
    with pytest.raises(checker.Rejected, match=reason):
        checker.check(*make())


@pytest.mark.parametrize(("radius", "ball"), [("3/8", "open"), ("47/128", "closed"), ("5/16", "closed"), ("0", "open")])
def test_every_ball_that_the_counts_allow_is_accepted(radius: str, ball: str) -> None:
    """Seven to one, ties to the smaller class: need 6, so three of eight votes may change before the third."""
    checker.check(*changed({"radius": radius, "ball": ball})())


@pytest.mark.parametrize("winner", [0, 1])
def test_ties_go_to_the_smaller_class(winner: int) -> None:
    """So class 0 needs one vote more to be overtaken than class 1, and each has its own largest ball."""
    votes = [winner] * 6 + [1 - winner] * 2
    document, *files = claimed(Scheme.l1(2, shape=(3,), q=4), votes, [0, 2, 4], "paper")
    checker.check(document, *files)
    assert document["radius"] == ("1/4" if winner == 0 else "3/16")
    with pytest.raises(checker.Rejected):
        checker.check({**document, "radius": "3/8" if winner == 0 else "1/4"}, *files)


def test_a_ball_of_all_points_reaches_beyond_all_distances() -> None:
    """One feature shows something in 2 of 12 samples, so no rival can ever win; still the radius has to be right."""
    scheme = Scheme(Design.from_rows(ECM.lp("1/2", 2), [[2], [3]], q=4, budget=12), (1,))
    document, *files = claimed(scheme, [0] * 12, [1])
    checker.check(document, *files)
    assert document["everywhere"]
    assert document["ball"] == "closed"
    smaller = Fraction(document["radius"]) - Fraction(1, SCALE)
    for wrong in ({"radius": str(smaller)}, {"ball": "open"}):
        with pytest.raises(checker.Rejected, match="no two points are further apart"):
            checker.check({**document, **wrong}, *files)
    checker.check({**document, "radius": str(smaller), "everywhere": False}, *files)


def test_a_price_is_only_checked_where_samples_are_cyclic() -> None:
    """Permutations are not among the facts, so nothing is believed about what they touch."""
    scheme = Scheme(ECM.l1(2).design(16, q=4), (3,), coupling="permutation")
    document, *files = claimed(scheme, [1] * 15 + [0], [0, 2, 4])
    radius = Fraction(document["radius"]) + Fraction(1, 4)
    with pytest.raises(checker.Rejected, match="the coupling is cyclic"):
        checker.check({**document, "radius": str(radius), "multipliers": [[0, 1 << 36]]}, *files)


FIXED = ECM.grouped([ECM.lp("1/2", 2), ECM.from_expr("sign(z)")])


@pytest.mark.parametrize(
    ("ball", "radius", "holds"), [("open", "1", True), ("closed", "1", False), ("open", "5/4", False)]
)
def test_features_whose_every_change_costs_one_stay_out_of_smaller_balls(ball: str, radius: str, holds: bool) -> None:
    """Within d < 1 only the other feature changes, which never changes the class; at d = 1 this one does."""
    design = Design.from_rows(FIXED, [[[2], [3]], [[1], [2], [3], [4], [1], [2], [3], [4], [1], [2], [3], [4]]], 4, 12)
    document, *files = claimed(Scheme(design, (2,)), [0] * 12, [1, 2])
    assert (document["radius"], document["ball"]) == ("1", "open")
    claim = {**document, "radius": radius, "ball": ball}
    if holds:
        checker.check(claim, *files)
    else:
        with pytest.raises(checker.Rejected):
            checker.check(claim, *files)


def ranked(scheme: Scheme, orders: list[list[int]], levels: list[int], method: Any = "runoff_vote_aware") -> Claim:
    """An honest claim about a run-off."""
    codes, image, facts = pack_orders(orders), np.array(levels).reshape(scheme.shape), scheme_facts(scheme)
    classes = len(orders[0])
    ball = Certifier(scheme, classes, method)(codes, image)
    text = certificate_document(ball, codes, image, scheme, classes=classes, shared=facts)
    return json.loads(text), facts, vote_bytes(codes), level_bytes(image)


@pytest.mark.parametrize(
    ("ball", "radius", "holds"), [("open", "1", True), ("closed", "1", False), ("open", "5/4", False)]
)
def test_the_same_of_a_runoff(ball: str, radius: str, holds: bool) -> None:
    """Within d < 1 nobody changes the features that cost 1."""
    design = Design.from_rows(FIXED, [[[2], [3]], [[1], [2], [3], [4], [1], [2], [3], [4], [1], [2], [3], [4]]], 4, 12)
    document, *files = ranked(Scheme(design, (2,)), [[0, 1, 2]] * 12, [1, 2])
    assert (document["radius"], document["ball"], document["everywhere"]) == ("1", "open", False)
    claim = {**document, "radius": radius, "ball": ball}
    if holds:
        checker.check(claim, *files)
    else:
        with pytest.raises(checker.Rejected):
            checker.check(claim, *files)


@pytest.mark.parametrize("runoff", [False, True])
def test_a_rival_that_can_gain_exactly_what_it_needs_is_not_harmless(runoff: bool) -> None:
    """Four votes for class 1, two of which the one feature touches: class 0 wins the tie, at distance 1/2."""
    scheme = Scheme(Design.from_rows(ECM.l0(2), [[1], [1]], q=1, budget=4), (1,), coupling="independent")
    document, *files = ranked(scheme, [[1, 0]] * 4, [0]) if runoff else claimed(scheme, [1] * 4, [0])
    checker.check(document, *files)
    assert (document["radius"], document["ball"]) == ("1/2", "open")
    harmless = {"multipliers": [[0, None]], "races": [["duel", 1, 0, None], ["overtake", 1, 0, None]]}
    for claim in ({"ball": "closed"}, {"radius": "3/4"}, {"radius": "3/4", **harmless}):
        with pytest.raises(checker.Rejected):
            checker.check({**document, **claim}, *files)


def test_a_race_is_only_priced_where_samples_are_cyclic() -> None:
    """Permutations are not among the facts."""
    scheme = Scheme(ECM.l1(2).design(16, q=4), (3,), coupling="permutation")
    document, *files = ranked(scheme, [[1, 0]] * 15 + [[0, 1]], [0, 2, 4])
    radius = Fraction(document["radius"]) + Fraction(1, 4)
    with pytest.raises(checker.Rejected, match="the coupling is cyclic"):
        checker.check({**document, "radius": str(radius), "races": [["duel", 1, 0, 1 << 36]]}, *files)


DESIGN: dict[str, Any] = {"q": 4, "budget": 8, "scale": SCALE, "metric": ["z/2"], "shape": [3], "rows": None}
COSTS = [[SCALE * k // 8 for k in range(5)]]


@pytest.mark.parametrize(
    "widths", [[[0, 1]], [[5, 1]], [[4, 0]], [[2, 1], [2, 1]], [[4, 1], [2, 1]], [[2, -1], [4, 1]]]
)
def test_widths_rise_within_the_grid(widths: list[list[int]]) -> None:
    """Each once, and at least once in the list."""
    checker.check_design(DESIGN | {"costs": COSTS, "widths": [[[4, 1]]]})
    with pytest.raises(checker.Rejected, match="widths rise"):
        checker.check_design(DESIGN | {"costs": COSTS, "widths": [widths]})


@pytest.mark.parametrize("row", [[], [0], [5], [2, 1], [2, 2], [0, 2], [2, 5]])
def test_dividers_rise_within_the_gaps(row: list[int]) -> None:
    """An outcome without dividers is not listed, and none stands outside of the grid."""
    facts = DESIGN | {"costs": COSTS, "widths": None}
    checker.check_design(facts | {"rows": [[[2]]]})
    with pytest.raises(checker.Rejected, match="the dividers of every outcome rise"):
        checker.check_design(facts | {"rows": [[row]]})


@pytest.mark.parametrize("rows", [[[1], [1]], [[1, 2], [1, 3]], [[4], [1, 4]], [[1, 3], [2, 3]], [[1, 2, 3, 4]] * 2])
def test_a_pair_that_is_separated_once_too_often_is_found(rows: list[list[int]]) -> None:
    """8 * g(1/4) = 1 outcome may separate two neighbours, wherever they stand."""
    facts = DESIGN | {"costs": COSTS, "widths": None}
    checker.check_design(facts | {"rows": [[[1], [2], [3], [4]]]})
    checker.check_design(facts | {"rows": [[[1, 3], [2, 4]]]})
    with pytest.raises(checker.Rejected, match="2 outcomes separate two levels 1 apart, B g allows 1"):
        checker.check_design(facts | {"rows": [rows]})


@pytest.mark.parametrize("wrong", [{"q": 0}, {"budget": 0}, {"scale": 0}, {"shape": [0]}, {"scale": 1 << 64}])
def test_sizes_are_positive_and_small_enough(wrong: dict[str, Any]) -> None:
    """A power of a number of thousands of digits would take forever."""
    with pytest.raises(checker.Rejected, match="positive"):
        checker.check_design(DESIGN | {"costs": COSTS, "widths": [[[4, 1]]]} | wrong)


@pytest.mark.parametrize("costs", [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
def test_every_distance_has_a_cost(costs: list[int]) -> None:
    """One for each of 0..q."""
    with pytest.raises(checker.Rejected, match="costs of g"):
        checker.check_design(DESIGN | {"metric": ["tanh(z)/2"], "costs": [costs], "widths": [[]]})


@pytest.mark.parametrize(
    ("costs", "sound"), [([0, 1, 2, 2, 2], True), ([1, 2, 3, 4, 5], False), ([0, 3, 2, 4, 5], False)]
)
def test_costs_on_trust_rise_from_nothing_to_one(costs: list[int], sound: bool) -> None:
    """What cannot be recomputed is at least a metric."""
    for high, holds in ((SCALE // 8, sound), (SCALE, False)):
        facts = DESIGN | {"metric": ["tanh(z)/2"], "costs": [[high * cost for cost in costs]], "widths": [[]]}
        if holds:
            checker.check_design(facts)
        else:
            with pytest.raises(checker.Rejected, match="do not rise from 0"):
                checker.check_design(facts)


def test_costs_on_trust_are_fine_enough_to_compare_with() -> None:
    """1,024 units a sample, no less; and a value just below a whole number of samples is not taken for it."""
    facts = DESIGN | {"metric": ["tanh(z)/2"], "widths": [[]]}
    checker.check_design(facts | {"scale": 8 << 10, "costs": [[0, 1, 2, 3, 4]]})
    with pytest.raises(checker.Rejected, match="too coarse"):
        checker.check_design(facts | {"scale": (8 << 10) - 1, "costs": [[0, 1, 2, 3, 4]]})
    one = facts | {"q": 1, "budget": 2, "shape": [1], "widths": None, "rows": [[[1]]]}
    checker.check_design(one | {"costs": [[0, SCALE // 2 - 1]]})  # g(1) may be 1/2
    with pytest.raises(checker.Rejected, match="1 outcomes separate two levels 1 apart, B g allows 0"):
        checker.check_design(one | {"costs": [[0, SCALE // 2 - 2]]})  # it is less


def test_two_bytes_a_vote_are_read_as_such() -> None:
    """Above 255 classes; UNSURE is then 65535."""
    scheme, image = Scheme.l1(2, shape=(3,), q=4), np.array([0, 2, 4])
    votes = np.array([299] * 7 + [65535], np.uint16)
    facts = scheme_facts(scheme)
    text = certificate_document(Certifier(scheme, 300)(votes, image), votes, image, scheme, classes=300, shared=facts)
    checker.check(json.loads(text), facts, vote_bytes(votes), level_bytes(image))
    assert json.loads(text)["unsure"] == 1


def test_a_document_may_claim_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """That is accepted as such, and said."""
    checker.check(*claimed(Scheme.l1(2, shape=(3,), q=4), [1, 1, 1, 0, 0, 0, 255, 1], [0, 2, 4]))
    assert "claims no certificate" in capsys.readouterr().out


def test_values_that_cannot_be_recomputed_are_not_guessed() -> None:
    """A table has values on its own grid only, and of the functions of two arguments only Min with 1 is known."""
    assert checker.floors("[0, 1/4, 1/2]", 8, 2) == [0, 2, 4]
    with pytest.raises(checker.Rejected, match="a table of 10 values has none at k/4"):
        checker.floors(str([0] * 10), 8, 4)  # every second one would be five values, but not those at k/4
    for text in ("Max(2*z, 1)", "Min(z, 1/3)", "Min(z, 1/2)", "tan(2*z, 1)"):
        assert checker.floors(text, 8, 4) is None


PIXELS = Scheme(
    Design.from_rows(ECM.l1(2), [[1], [2], [3], [4], [1, 3]], q=4, budget=16),
    (2, 2),
    pixel=True,
    coupling="independent",
)
FEATURES = Scheme(ECM.lp("1/2", 2).design(24, q=4), (2, 2))


@pytest.mark.parametrize("scheme", [PIXELS, FEATURES], ids=["pixels", "features"])
@pytest.mark.parametrize("seed", range(8))
def test_the_largest_ball_is_accepted_and_no_larger_one(scheme: Scheme, seed: int) -> None:
    """Of votes and of run-offs, by counts and by prices; a unit of the costs more is too much."""
    random = np.random.RandomState(seed)
    levels = random.randint(5, size=4).tolist()
    votes = np.where(random.rand(scheme.samples) < 0.25, random.randint(3, size=scheme.samples), 1)
    orders = np.argsort(-random.rand(scheme.samples, 3) - [0.1, 0.4, 0.2 * (seed % 3)], axis=1)
    for document, *files in (
        claimed(scheme, votes.tolist(), levels, "vote_aware", classes=3),
        claimed(scheme, votes.tolist(), levels, "integer", classes=3),
        ranked(scheme, orders.tolist(), levels),
        ranked(scheme, orders.tolist(), levels, "runoff"),
    ):
        checker.check(document, *files)
        if document["radius"] is None or document["everywhere"]:
            continue
        more = Fraction(document["radius"]) + Fraction(1, json.loads(files[0])["scale"])
        for wrong in ({"radius": str(more)}, {"ball": "closed"}):
            with pytest.raises(checker.Rejected):
                checker.check({**document, **wrong}, *files)


def test_a_list_of_places_for_every_component() -> None:
    """Facts that leave one out are no facts."""
    two = ECM.grouped([ECM.l1(2), ECM.l0(4)])
    scheme = Scheme(Design.from_rows(two, [[[1], [3]], [[2]]], q=4, budget=8), (2, 1), coupling="independent")
    document, text, *files = claimed(scheme, [1] * 8, [0, 2], "integer")
    facts = json.loads(text)
    for name in ("positions", "costs", "rows"):
        with pytest.raises((checker.Rejected, ValueError, IndexError)):
            checker.check(*sealed(document, {**facts, name: facts[name][:1]}, *files))


def test_a_code_that_packs_no_ranking_is_rejected() -> None:
    """Whatever its lower bits say."""
    with pytest.raises(checker.Rejected, match="packs no ranking"):
        checker.unpack([21, 21 + (24 << 2)], 3)


def test_the_program_in_this_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four files in their order; 0 if the certificate holds, 1 if not, 1 and the help for anything else."""
    document, text, votes, levels = plain()
    names = [str(tmp_path / name) for name in ("certificate", "facts", "votes", "levels")]
    for name, content in zip(names, (json.dumps(document).encode(), text.encode(), votes, levels), strict=True):
        Path(name).write_bytes(content)
    assert checker.main(names) == 0
    assert "ok: class 1 < 3/8" in capsys.readouterr().out
    for wrong in (names[::-1], [names[0], names[1], names[3], names[2]], [*names[:3], names[2]]):
        assert checker.main(wrong) == 1
        assert "REJECTED" in capsys.readouterr().out
    for few in ([], names[:3], [*names, names[0]]):
        assert checker.main(few) == 1
        assert "python checker.py CERTIFICATE" in capsys.readouterr().out


@pytest.mark.parametrize(("budget", "rest"), [(3, []), (4, [[0, 0, 1]]), (5, [[0, 0, 2]])])
def test_the_samples_of_a_global_width_are_all_there_and_no_more(budget: int, rest: list[list[int]]) -> None:
    """What the widths leave of the budget is the weight of one sample more; a sample of weight 0 is one too many."""
    expected = [[1, 0, 1], [2, 0, 1], [2, 1, 1], *rest]

    def check(samples: list[list[int]], weights: list[int]) -> list[int]:
        facts = {"coupling": "global", "budget": budget, "widths": [[[1, 1], [2, 1]]]}
        return checker.check_coupling(facts | {"samples": samples, "weights": weights})

    samples, weights = [sample[:2] for sample in expected], [sample[2] for sample in expected]
    assert check(samples, weights) == weights
    for more in (0, 1):
        with pytest.raises(checker.Rejected):
            check([*samples, [0, 0]], [*weights, more])
    for kept in (slice(0, -1), slice(1, None)):
        with pytest.raises(checker.Rejected):
            check(samples[kept], weights[kept])
    with pytest.raises(ValueError, match="shorter"):
        check([*samples, [0, 0]], weights)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", [ECM.l0(2), ECM.lp("1/2", 2), ECM.l1(1)], ids=str)
def test_a_pixel_is_priced_as_one_item(metric: ECM, seed: int) -> None:
    """For every m, no change of a pixel, whose channels share their outcomes, gains more than its price."""
    q, budget, draw = 3, 6, np.random.RandomState(seed)
    scheme = Scheme(Design.from_rows(metric, [[1], [3], [2]][: 1 + seed], q, budget), (2, 1, 3), pixel=True)
    facts, costs = json.loads(scheme_facts(scheme)), [int(c) for c in metric.floors(SCALE, q)[0]]
    levels, worth = draw.randint(q + 1, size=6).tolist(), draw.randint(3, size=budget).tolist()
    moves = checker.Moves(facts, levels, worth)
    rows = [row.tolist() for row in scheme.design.outcomes[0].rows()] + [[]] * budget
    for m in (0, 1, SCALE // 12, SCALE // 5, SCALE):
        least, most, priced, whole = 0, 0, 0, 0
        for site in range(3):
            shown = [rows[outcome] for outcome in scheme.outcome(site, np.arange(budget))]
            x = (levels[site], levels[site + 3])
            found = []
            for y in ((a, b) for a in range(q + 1) for b in range(q + 1)):
                split = [any(min(p) < e <= max(p) for e in row for p in zip(x, y, strict=True)) for row in shown]
                cost = min(costs[q], sum(costs[abs(a - b)] for a, b in zip(x, y, strict=True)))
                found.append((m * sum(w for w, s in zip(worth, split, strict=True) if s) - cost, split))
            least += max(excess for excess, _ in found)
            most += max(sum(w for w, s in zip(worth, split, strict=True) if s) for _, split in found)
            gains = [moves.gains(site), moves.gains(site + 3)]
            all_there_is = min(gains[0][-1] + gains[1][-1], sum(moves.brings(site)))
            apart = sum(max(m * gain - cost for gain, cost in zip(part, costs, strict=True)) for part in gains)
            priced += max(apart, m * all_there_is - costs[q])
            whole += all_there_is
        assert moves.evaluate(m, "pixels") == (priced, whole)
        assert least <= priced
        assert most <= whole


def test_the_checker_says_what_it_has_shown_and_what_is_on_trust(capsys: pytest.CaptureFixture[str]) -> None:
    """Every rival has a line, and so has every bound on g that the checker cannot recompute."""
    design = Design.from_rows(ECM.from_expr("Min(z, 1/3)"), [[1]], q=4, budget=6)
    checker.check(*claimed(Scheme(design, (2,)), [0] * 6, [0, 4], "integer", classes=3))
    lines = capsys.readouterr().out.splitlines()
    trust = [line.removeprefix("on trust: ") for line in lines if line.startswith("on trust")]
    assert trust[0].startswith("the votes were cast under the scheme with the fingerprint ")
    assert trust[1:] == ["5 values of g = Min(z, 1/3)", "6 * g(2/4) >= 2", "6 * g(3/4) >= 2", "6 * g(4/4) >= 2"]
    assert all(f"ok: class {rival} cannot win in the ball, by counts" in lines for rival in (1, 2))
    checker.check(*claimed(Scheme.l1(2, shape=(2,), q=4), [0] * 8, [2, 2], "vote_aware"))
    lines = capsys.readouterr().out.splitlines()
    assert "ok: class 1 can gain 8 at most and never wins" in lines
    assert sum(line.startswith("on trust") for line in lines) == 1
