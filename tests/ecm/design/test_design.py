"""A Design that breaks the inequality cannot exist, and what exists survives being written down."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM, Design, DesignError, ECMError, Outcomes, make_design
from ecm.design.lower_bound import least_gap
from ecm.verification.strategies import concave_tables, designs

SQRT = ECM.from_expr("z**0.5")
RGB = ECM.grouped([ECM.from_expr("z**0.5/2"), ECM.from_expr("0"), ECM.from_expr("z/2")])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def sound_by_hand(design: Design) -> bool:
    """Every pair, every component, with a plain count of dividers against the exact caps."""
    for outcomes, caps in zip(design.outcomes, design.metric.floors(design.budget, design.q), strict=True):
        rows = [row.tolist() for row in outcomes.rows()]
        for x in range(design.q + 1):
            for y in range(x + 1, design.q + 1):
                if sum(any(x < gap <= y for gap in row) for row in rows) > caps[y - x]:
                    return False
    return True


@settings(deadline=None)
@given(designs())
def test_every_design_is_sound_pair_by_pair(design: Design) -> None:
    """What the constructor lets through holds c(x, y) <= B g for every pair counted by hand."""
    assert sound_by_hand(design)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 32).flatmap(concave_tables), st.integers(0, 60))
def test_random_metrics_come_within_four_outcomes(table: tuple[Fraction, ...], more: int) -> None:
    """Where B > 2/g(1/q): eps_max <= 4/B, or eps_max is the lower bound of all designs, so that none does better."""
    metric = ECM.from_values(table)
    q = len(table) - 1
    budget = (int(2 / table[1]) + 1 if table[1] else 1) + more
    design = make_design(metric, budget, q)
    target = budget * metric.components[0].values(q)
    bound = least_gap(metric.floors(budget, q)[0], target)
    assert bound - 1e-6 <= design.eps_max * budget <= max(4.0, bound) + 1e-6


@settings(max_examples=30, deadline=None)
@given(designs(), st.data())
def test_rows_are_judged_alike_by_the_constructor_and_by_hand(design: Design, data: st.DataObject) -> None:
    """With a divider more in any outcome, the constructor refuses exactly what the count by hand refuses."""
    rows = [row.tolist() for row in design.outcomes[0].rows()]
    rows += [[] for _ in range(design.budget - len(rows))]
    row = data.draw(st.sampled_from(rows))
    row[:] = sorted({*row, data.draw(st.integers(1, design.q))})
    caps = design.metric.floors(design.budget, design.q)[0]
    worst = Outcomes.from_rows(rows, design.q, design.budget).most
    if bool((worst <= caps).all()):
        assert sound_by_hand(Design.from_rows(design.metric, rows, design.q, design.budget))
    else:
        with pytest.raises(DesignError, match="separate the levels"):
            Design.from_rows(design.metric, rows, design.q, design.budget)


def test_one_divider_moved_by_one_level_is_refused() -> None:
    """Full offsets of width 2 are tight for z/2 at q = 4; moving one divider to its neighbour breaks one pair."""
    metric = ECM.from_expr("Min(2*z, 1)")
    Design.from_rows(metric, [[1, 3], [2, 4]], q=4, budget=2)
    with pytest.raises(DesignError, match=r"2 of 2 outcomes separate the levels 0 and 1, but B g\(1/4\) allows 1"):
        Design.from_rows(metric, [[1, 3], [1, 4]], q=4, budget=2)


def test_a_cap_exceeded_by_one_at_one_pair_is_refused() -> None:
    """Of 32640 pairs one exceeds its cap by one: refused, with the pair named."""
    design = make_design(SQRT, 32)
    outcomes = design.outcomes[0]
    caps = SQRT.floors(32, 255)[0]
    for x, counts in enumerate(outcomes.splits()):
        tight = np.flatnonzero(counts[1:] == caps[1 : len(counts)]) + 1
        if len(tight):
            rows = [row.tolist() for row in outcomes.rows()]
            rows += [[] for _ in range(32 - len(rows))]
            inside = next(row for row in rows if not any(x < gap <= x + tight[0] for gap in row))
            inside[:] = sorted([*inside, x + 1])
            with pytest.raises(DesignError, match="separate the levels"):
                Design.from_rows(SQRT, rows, 255, 32)
            return
    pytest.fail("no tight pair")


@pytest.mark.parametrize("kind", ["aperiodic", "periodic"])
def test_json_and_npz_give_back_the_design(kind: str, tmp_path: Path) -> None:
    """Three components, one of them zero: both formats give an equal design with equal eps and provenance."""
    design = RGB.design(40, 16, kind=kind)  # type: ignore[arg-type]
    design.save(tmp_path / "d.npz")
    for again in (Design.from_json(design.to_json()), Design.load(tmp_path / "d.npz")):
        assert again == design
        assert hash(again) == hash(design)
        assert (again.eps_max, again.eps_mean, again.weights) == (design.eps_max, design.eps_mean, design.weights)
        assert dict(again.provenance) == dict(design.provenance)
    assert design.outcomes[1].finite == 0


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """A flipped byte anywhere in an npz file raises DesignError or changes nothing; it never gives another design."""
    design = make_design(SQRT, 12, 8)
    content = bytearray(design.to_bytes())
    path = tmp_path / "d.npz"
    for place in range(0, len(content), 37):
        broken = content.copy()
        broken[place] ^= 0x55
        path.write_bytes(bytes(broken))
        with contextlib.suppress(DesignError):
            assert Design.load(path) == design
    path.write_bytes(bytes(content[: len(content) // 2]))
    with pytest.raises(DesignError, match="not a readable design"):
        Design.load(path)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rows": [[[1], [1], [1], [1], [1], [1], [1], [1]]]}, "separate the levels"),
        ({"rows": [[]]}, "altered"),
        ({"budget": 13}, "altered"),
        ({"format": "other"}, "not 'ecm-design-2'"),
        ({"kind": "diagonal"}, "kind"),
        ({"kind": "periodic"}, "weights"),
    ],
)
def test_altered_json_is_refused(change: dict[str, object], word: str) -> None:
    """Unsound rows fail the check, sound but other rows fail the fingerprint."""
    data = json.loads(make_design(SQRT, 12, 8).to_json())
    with pytest.raises(DesignError, match=word):
        Design.from_json(json.dumps(data | change))


def test_the_fingerprint_follows_the_content() -> None:
    """Metric, q, budget and rows each change the fingerprint; provenance does not."""
    base = Design.from_rows(SQRT, [[1], [2]], 4, 8)
    others = [
        Design.from_rows(ECM.from_expr("z**0.4"), [[1], [2]], 4, 8),
        Design.from_rows(SQRT, [[1], [2]], 5, 8),
        Design.from_rows(SQRT, [[1], [2]], 4, 9),
        Design.from_rows(SQRT, [[1], [3]], 4, 8),
        Design.from_rows(SQRT, [[1, 2]], 4, 8),
    ]
    assert len({base.fingerprint, *(d.fingerprint for d in others)}) == 6
    assert Design.from_rows(SQRT, [[1], [2]], 4, 8, {"by": "hand"}).fingerprint == base.fingerprint


def test_a_design_is_sound_for_larger_metrics_only() -> None:
    """verify() with another metric: accepted where g is larger, refused where it is smaller."""
    design = make_design(SQRT, 32, 64)
    design.verify(ECM.from_expr("z**0.25"))
    with pytest.raises(DesignError):
        design.verify(ECM.from_expr("z**0.9"))
    with pytest.raises(DesignError, match="one list each"):
        design.verify(RGB)


CASES = [
    ("z", 255, 255, 1e-12),
    ("z/18", 255 * 18, 255, 1e-12),
    ("sign(z)/18", 18, 255, 1e-12),
    ("sign(z)/18", 36, 4095, 1e-12),
    ("0", 10, 16, 1e-12),
    ("z**0.5", 50, 255, 0.055),
    ("z**(1/3)", 50, 255, 0.055),
    ("z**0.5/18", 50 * 18, 255, 0.055 / 18),
    ("log(1+z)", 262, 255, 3.0 / 262),
    ("Min(3*z, 1)/2", 170, 255, 1e-12),
    ("z**0.5", 40, 4, 1.0 / 40),
    ("z**0.5", 32, 511, 3.0 / 32),
    ("z**0.5", 64, 4095, 4.5 / 64),
]


@pytest.mark.parametrize(("text", "budget", "q", "eps"), CASES)
def test_known_metrics_reach_known_eps(text: str, budget: int, q: int, eps: float) -> None:
    """eps_max of the fast construction over metrics, budgets and grids; 0 where a design can be exact."""
    assert make_design(ECM.from_expr(text), budget, q).eps_max <= eps


def test_scaling_only_adds_infinite_outcomes() -> None:
    """g/alpha with alpha*B outcomes has the rows of g with B outcomes."""
    one, many = make_design(SQRT, 32, 64), make_design(SQRT / 18, 32 * 18, 64)
    assert [r.tolist() for r in one.outcomes[0].rows()] == [r.tolist() for r in many.outcomes[0].rows()]
    assert many.outcomes[0].infinite == one.outcomes[0].infinite + 17 * 32


def test_the_periodic_kind_is_the_allocation() -> None:
    """The periodic design has the weights and the eps of the optimal allocation."""
    design = make_design(SQRT, 400, kind="periodic")
    allocation = SQRT.allocate(400)
    assert design.weights is not None
    assert dict(design.weights[0]) == allocation.weights
    assert design.eps_max == pytest.approx(allocation.eps, abs=1e-12)


@pytest.mark.parametrize("bad", [{"budget": 0}, {"budget": 2.5}, {"effort": "heroic"}, {"kind": "round"}])
def test_wrong_requests_are_refused(bad: dict[str, object]) -> None:
    """Budgets below 1, fractions, unknown efforts and kinds raise DesignError."""
    with pytest.raises(DesignError):
        make_design(SQRT, **({"budget": 8, "q": 8} | bad))  # type: ignore[arg-type]


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """Outcomes of another grid or budget, too few lists, and weights that are not those of the outcomes."""
    metric = ECM.from_expr("Min(2*z, 1)/2")
    comb = Outcomes.from_weights({2: 1}, 4, 4)
    assert Design(metric, 4, 4, (comb,), "periodic", [{2: 1}]).weights == ({2: 1},)
    for q, budget in ((5, 4), (4, 5), (4, 8)):
        with pytest.raises(DesignError, match="does not belong"):
            Design(metric, q, budget, (comb,))
    with pytest.raises(DesignError, match="full offset sets"):
        Design(metric, 4, 4, (comb,), "periodic", [{1: 1}])
    with pytest.raises(DesignError, match="weights belong"):
        Design(metric, 4, 4, (comb,), "aperiodic", [{2: 1}])
    for lists in ((), (comb, comb)):
        with pytest.raises(DesignError, match="one list each"):
            Design(metric, 4, 4, lists)


def test_every_component_is_judged_by_its_own_g() -> None:
    """The second list is sound for the first component only."""
    metric = ECM.grouped([ECM.l0(2), ECM.l1(2)])
    rows = [[1], [1]]
    Design.from_rows(metric, [rows, []], q=4, budget=4)
    with pytest.raises(DesignError, match="component 1: 2 of 4"):
        Design.from_rows(metric, [[], rows], q=4, budget=4)


WRITTEN = {
    "aperiodic": json.loads(Design.from_rows(SQRT, [[1, 3], [2]], q=4, budget=4).to_json()),
    "periodic": json.loads(Design.from_weights(ECM.l1(), {4: 1}, q=4, budget=4).to_json()),
}
FOREIGN = [
    None,
    [],
    {},
    "x",
    1.5,
    -1,
    10**30,
    [[]],
    [None],
    [[1.5]],
    [["1"]],
    [{"x": 1}],
    [{"1": 1.5}],
    [{"4": 10**12}],
]


@pytest.mark.parametrize("kind", WRITTEN)
def test_an_altered_text_is_refused_in_words(kind: str) -> None:
    """Whatever stands in whichever place, and where one is missing; provenance is free."""
    data = WRITTEN[kind]
    for key in data:
        missing = {name: value for name, value in data.items() if name != key}
        for altered in [missing, *({**data, key: value} for value in FOREIGN)]:
            if key == "provenance" and isinstance(altered.get(key), dict):
                continue
            with pytest.raises(ECMError):
                Design.from_json(json.dumps(altered))
    with pytest.raises(DesignError):
        Design.from_json("[" * 100_000)


def test_an_altered_header_of_a_file_is_refused_in_words(tmp_path: Path) -> None:
    """As in the text."""
    path = tmp_path / "design.npz"
    design = Design.from_weights(ECM.l1(), {4: 1}, q=4, budget=4)
    design.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    for key in header:
        for value in FOREIGN:
            if key == "provenance" and isinstance(value, dict):
                continue
            np.savez(path, **arrays | {"header": np.array(json.dumps({**header, key: value}))})
            with pytest.raises(ECMError):
                Design.load(path)


@pytest.mark.parametrize(
    "choices", [{"q": 2.5}, {"q": None}, {"budget": 2.5}, {"seed": -1}, {"seed": "1"}, {"seed": 2**70}, {"budget": 0}]
)
def test_sizes_and_seeds_are_integers(choices: dict[str, object]) -> None:
    """Nothing is cut off."""
    with pytest.raises(DesignError):
        make_design(SQRT, **{"budget": 8, "q": 4} | choices)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [10**6, 10**8])
def test_a_design_that_is_too_large_to_search_for_says_so_before_it_begins(budget: int) -> None:
    """Instead of hours, or all of the memory, there is a message that names the way out."""
    with pytest.raises(DesignError, match="kind='periodic'"):
        make_design(SQRT, budget)
