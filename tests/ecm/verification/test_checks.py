"""The checks of this floor: they pass on every good metric, whatever sympy makes of it, and fail on a wrong law."""

from __future__ import annotations

import pytest
import sympy

from ecm import ECM, AllocationError, verify
from ecm.verification.checks import CHECKS, Setting, _conditions, _continuous, _same_values, _split_by_definition
from ecm.verification.report import Counterexample, run_checks


@pytest.mark.parametrize("text", ["0", "1-exp(-sqrt(z))", "sqrt(sin(pi*z/2))"])
def test_formulas_that_sympy_does_not_simplify_pass_too(text: str) -> None:
    """A density in another form, a cosine in it, or no density at all is no counterexample."""
    findings = list(run_checks(CHECKS, Setting(ECM.from_expr(text), q=4, budget=8, quick=True)))
    assert [f.claim for f in findings if f.passed is None] == ["the allocation is optimal"]
    assert [f.counterexample for f in findings if f.passed is False] == []


@pytest.mark.parametrize(("text", "how"), [("sqrt(z)/2", "symbolic proof"), ("z/2-z**2/8+z**3/100", "rigorous bounds")])
def test_a_proof_is_called_what_it_is(text: str, how: str) -> None:
    """By rules alone, or with bounds of g'' on intervals."""
    assert _conditions(Setting(ECM.from_expr(text), q=4, budget=8)).how == how


def test_a_law_in_floats_passes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula whose derivatives are too long for sympy does not refute a metric."""
    monkeypatch.setattr("ecm.law.mixture._MOST_PARTS", 0)
    monkeypatch.setattr("ecm.verification.checks._MOST_PARTS", 0)
    setting = Setting(ECM.from_expr("Min(tanh(2*z), 3/4)"), q=4, budget=8)
    assert setting.metric.law().densities[0].formula.has(sympy.Derivative)
    assert _continuous(setting).how == "numeric"


def test_a_law_too_steep_for_quadrature_is_left_open() -> None:
    """For z**0.01 four percent of the mass lie below 1e-140: not checked, and not a failure."""
    assert _split_by_definition(Setting(ECM.lp("1/100"), q=4, budget=8)).how == "not checked"
    assert _split_by_definition(Setting(ECM.lp("1/10"), q=4, budget=8)).how == "numeric"


def test_a_wrong_density_is_seen_at_points() -> None:
    """Where nothing is simplified, values decide: 1e-8 too much is a counterexample, 1e-10 is rounding."""
    (piece,) = ECM.from_expr("sqrt(z)").profile.pieces()
    z = sympy.Symbol("z", positive=True)
    right = 1 / (4 * sympy.sqrt(z))
    _same_values(right + sympy.Rational(1, 10**10), piece, "the density")
    with pytest.raises(Counterexample, match="where -z g"):
        _same_values(right + sympy.Rational(1, 10**8), piece, "the density")


def test_a_budget_of_nothing_is_refused_before_the_checks() -> None:
    """Not as a failure of each of them."""
    with pytest.raises(AllocationError, match="at least 1"):
        verify("z", q=4, budget=0)
