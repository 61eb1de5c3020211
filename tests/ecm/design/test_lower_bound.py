"""No design beats the bound; on small grids the solver's optimum, the search and the bound can be laid side by side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.optimum import budget_bound, optimal_outcomes
from ecm import ECM, Design, DesignError
from ecm.design.budget import default_budget, propose_budgets, smallest_budget
from ecm.design.frontiers import frontier
from ecm.design.greedy_start import worst_gap
from ecm.design.lower_bound import feasible, least_gap
from ecm.design.search import construct
from ecm.metric import Profile
from ecm.verification.strategies import concave_tables, designs

SQRT = ECM.from_expr("z**0.5")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@settings(deadline=None)
@given(designs())
def test_no_design_beats_the_bound(design: Design) -> None:
    """Every design's own extremes pass the propagation, and its worst gap is not below the bound."""
    outcomes = design.outcomes[0]
    caps = design.metric.floors(design.budget, design.q)[0]
    target = design.budget * design.metric.components[0].values(design.q)
    assert feasible(outcomes.most, outcomes.least)
    assert feasible(caps, outcomes.least)
    assert least_gap(caps, target) <= worst_gap(outcomes, target) + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 7).flatmap(concave_tables), st.integers(1, 30))
def test_bound_optimum_and_search_in_order(table: tuple[Fraction, ...], budget: int) -> None:
    """bound <= proved optimum <= search, and on these small grids the search is optimal."""
    profile, q = Profile.from_values(table), len(table) - 1
    caps, target = profile.floors(budget, q), budget * profile.values(q)
    best = optimal_outcomes(caps, target)
    assert best.proved
    optimum = worst_gap(best.outcomes, target)
    assert least_gap(caps, target) <= optimum + 1e-5
    assert worst_gap(construct(caps, target), target) == pytest.approx(optimum, abs=1e-5)


def test_the_bound_at_255_levels() -> None:
    """About 1.9 outcomes for roots, 0 for l1 at B = 255, all of B g below it where no divider is allowed."""
    target = 100 * (np.arange(256) / 255) ** 0.5
    assert least_gap(np.floor(target).astype(np.int64), target) == pytest.approx(1.895, abs=1e-3)
    line = np.arange(256)
    assert least_gap(line, line.astype(float)) == 0
    below = np.floor(line * 254 / 255).astype(np.int64)
    assert least_gap(below, line * 254 / 255) == pytest.approx(254)


def test_a_kind_of_design_that_is_none_is_refused() -> None:
    """Nothing is searched for it."""
    with pytest.raises(DesignError, match="'aperiodic' or 'periodic'"):
        smallest_budget(ECM.l1(), 0.1, 8, kind="other")  # type: ignore[arg-type]


def test_budgets_for_an_eps() -> None:
    """The answer reaches epsilon, lies between the bound and the periodic answer, and is exact for l1."""
    budget = smallest_budget(SQRT, 0.1, 32)
    assert SQRT.design(budget, 32).eps_max <= 0.1 + 1e-12
    assert budget_bound(SQRT, 0.1, 32) <= budget <= smallest_budget(SQRT, 0.1, 32, kind="periodic")
    assert smallest_budget(ECM.from_expr("z"), 0, 32, limit=100) == 32
    assert smallest_budget(ECM.from_expr("z"), 0, 32, kind="periodic", limit=100) == 32
    rgb = ECM.grouped([ECM.from_expr("z**0.5"), ECM.from_expr("0"), ECM.from_expr("z")])
    for kind in ("aperiodic", "periodic"):
        both = smallest_budget(rgb, 0.2, 8, kind=kind)
        assert rgb.design(both, 8, kind=kind).eps_max <= 0.2 + 1e-12
    with pytest.raises(DesignError, match="no budget up to 5"):
        smallest_budget(SQRT, 0.01, 32, limit=5)
    with pytest.raises(DesignError, match="positive"):
        smallest_budget(SQRT, 0)


def test_proposed_and_default_budgets() -> None:
    """l0: alpha; l1: q alpha; roots: 128 alpha; a zero metric needs one outcome; components share one budget."""
    texts = {"sign(z)/7": 7, "z/3": 192, "z**0.5/2": 256, "0": 1}
    assert {text: default_budget(ECM.from_expr(text), 64) for text in texts} == texts
    assert propose_budgets(ECM.from_expr("z"), 64, limit=200) == (64, 128, 192)
    assert propose_budgets(ECM.from_expr("0"), 64) == (1,)
    rgb = ECM.grouped([ECM.from_expr("z**0.5"), ECM.from_expr("0"), ECM.from_expr("z")])
    assert default_budget(rgb, 64) == 128


def test_a_metric_of_small_values_has_a_budget_too() -> None:
    """The search does not list all budgets up to 2/g(1/q); where no list of outcomes is long enough it says so."""
    assert default_budget(ECM.from_expr("z/10000000000")) == pytest.approx(255 * 10**10, rel=0.01)
    for text in ("1e-30*z", "1e-400*z"):
        with pytest.raises(DesignError, match="scale g up"):
            default_budget(ECM.from_expr(text))


def test_the_frontier_lies_between_its_bounds() -> None:
    """bound <= aperiodic <= periodic at every budget."""
    for point in frontier(SQRT, [8, 20, 40], 32):
        assert point.bound <= point.aperiodic + 1e-9 <= point.periodic + 1e-6
