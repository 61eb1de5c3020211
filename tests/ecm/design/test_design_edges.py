"""The edges of a design: least budgets, largest seeds, and what its fingerprint covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecm import ECM, Design, DesignError, Outcomes, make_design
from ecm.design import design as module

SQRT = ECM.from_expr("z**0.5")
SOME = Outcomes.from_rows([[1, 3], [2]], q=4, budget=4)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECM_CACHE", str(tmp_path / "cache"))


def test_a_design_has_at_least_one_outcome() -> None:
    """One is enough, for a list of rows and for a search; none is refused before anything is searched for."""
    assert Design.from_rows(SQRT, [], q=4, budget=1).outcomes[0].infinite == 1
    assert Design.from_rows(SQRT, [[4]], q=4, budget=4).budget == 4
    with pytest.raises(DesignError, match="at least 1"):
        Design.from_rows(SQRT, [], q=4, budget=0)
    for kind in ("aperiodic", "periodic"):
        assert make_design(SQRT, 1, 4, kind=kind).budget == 1  # type: ignore[arg-type]
        with pytest.raises(DesignError, match="at least 1"):
            make_design(SQRT, 0, 4, kind=kind)  # type: ignore[arg-type]


def test_seeds_have_thirty_two_bits() -> None:
    """The largest is accepted, and what was asked for is remembered beside the rows."""
    largest = make_design(SQRT, 4, 4, seed=2**32 - 1)
    assert (largest.provenance["seed"], largest.provenance["effort"]) == (2**32 - 1, "fast")
    assert make_design(SQRT, 4, 4).provenance["seed"] == 0
    for seed in (2**32, -1):
        with pytest.raises(DesignError, match="seed"):
            make_design(SQRT, 4, 4, seed=seed)


def test_periodic_designs_are_optimal_up_to_the_largest_grid_that_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it the weights are rounded."""
    monkeypatch.setattr(module, "LARGEST_SEARCH", 8)
    for q, method in ((8, "exact"), (9, "slopes")):
        weights = {m: SQRT.allocate(60, q, method=m).weights for m in ("exact", "slopes")}
        assert weights["exact"] != weights["slopes"]
        found = make_design(SQRT, 60, q, kind="periodic").weights
        assert found is not None
        assert dict(found[0]) == weights[method]


def test_the_pair_that_is_named_is_the_first_that_is_split_too_often() -> None:
    """Pairs before it may be tight."""
    metric = ECM.from_expr("Min(2*z, 1)")
    with pytest.raises(DesignError, match=r"2 of 2 outcomes separate the levels 2 and 3, .* of the gaps 3\.\.3"):
        Design.from_rows(metric, [[1, 3], [3]], q=4, budget=2)


def test_provenance_is_a_mapping() -> None:
    """Pairs are none, though a dict could be made of them."""
    for provenance in ([("by", "hand")], 5, "by hand"):
        with pytest.raises(DesignError, match="provenance"):
            Design(SQRT, 4, 4, (SOME,), provenance=provenance)  # type: ignore[arg-type]


def test_the_mean_gap_is_that_of_all_pairs_and_components() -> None:
    """By its definition, with three components that are not alike."""
    metric = ECM.grouped([ECM.from_expr("z**0.5/2"), ECM.from_expr("0"), ECM.from_expr("z/2")])
    design = Design.from_rows(metric, [[[1, 3], [2]], [], [[2]]], q=4, budget=8)
    pairs = [(x, y) for x in range(5) for y in range(x + 1, 5)]
    means = []
    for outcomes, profile in zip(design.outcomes, metric.components, strict=True):
        rows, g = [row.tolist() for row in outcomes.rows()], profile.values(4)
        gaps = [g[y - x] - sum(any(x < e <= y for e in row) for row in rows) / 8 for x, y in pairs]
        means.append(sum(gaps) / len(gaps))
    assert design.eps_mean == pytest.approx(sum(means) / 3)


def test_fingerprints_do_not_change_from_version_to_version() -> None:
    """Certificates name their design by it; counts of 0 and other objects do not matter."""
    rows = Design.from_rows(ECM.grouped([SQRT, ECM.l1()]), [[[1, 3], [2]], [[4]]], q=4, budget=4)
    assert rows.fingerprint == "862bc411c3e3e01554535a6ecb468bb6a1d9b525b6c9b4f3bc6b8cb550bc04bb"
    weights = Design.from_weights(ECM.l1(), {4: 1}, q=4, budget=4)
    assert weights.fingerprint == "dbbadeb53f06ed197b91b0b2006558e237b9abb0a1b019c560d2f784be72f83d"
    assert Design.from_weights(ECM.l1(), {2: 0, 4: 1}, q=4, budget=4).fingerprint == weights.fingerprint
    assert rows != "rows"
    assert rows != weights
