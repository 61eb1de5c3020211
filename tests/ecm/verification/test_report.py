"""`ecm.verify` on the metrics of the first hour: all green, and honest about what was not checked."""

from __future__ import annotations

import json

import pytest

import ecm
from ecm import ECM, Report
from ecm.verification.report import Check, Counterexample, Evidence, Finding, run_checks

ACCEPTED = [
    "z",
    "z/18",
    "z**0.5/18",
    "z**(1/3)",
    "z**0.9",
    "log(1+5*z)/log(6)",
    "log1p(z)",
    "1-exp(-3*z)",
    "tanh(2*z)",
    "atan(3*z)/2",
    "asinh(5*z)/3",
    "sin(z)",
    "z/(z+1/4)",
    "Min(3*z,1)/18",
    "Min(sqrt(z)/0.5,1)",
    "sign(z)/18",
    "Piecewise((3*z,z<1/4),(z/3+2/3,True))",
    "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8",
    "sqrt(log1p(z))",
    "2*z-z**2",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_every_metric_of_the_first_hour_verifies(text: str) -> None:
    """Every layer holds on a coarse grid; only the solver's optimality is left out of a quick run."""
    report = ecm.verify(text, q=12, quick=True, examples=5)
    assert report.passed, str(report)
    assert [f.claim for f in report.findings if f.passed is None] == ["the allocation is optimal"]


def test_a_grid_metric_has_no_continuous_law_to_check() -> None:
    """What cannot be checked is open, with its reason."""
    report = ecm.verify(ECM.from_values(["0", "1/2", "3/4", "3/4"]), q=3, budget=20, quick=True, examples=5)
    assert report.passed
    assert all("grid" in f.note for f in report.findings if f.layer == "law" and f.passed is None)


def test_a_crash_of_a_check_is_a_failure() -> None:
    """An exception never counts as a pass, and a counterexample is kept as text."""

    def crash(_: None) -> Evidence:
        raise RuntimeError("broken")

    def fail(_: None) -> Evidence:
        raise Counterexample("x = 3")

    def skip(_: None) -> Evidence:
        return Evidence("not checked", 0, "no time")

    checks = [Check("a", "crashes", crash), Check("b", "fails", fail), Check("c", "skips", skip)]
    crashed, failed, skipped = run_checks(checks, None)
    assert (crashed.passed, failed.passed, skipped.passed) == (False, False, None)
    assert "broken" in crashed.counterexample
    assert failed.counterexample == "x = 3"
    report = Report("g", {}, (crashed, failed, skipped))
    assert not report.passed
    assert report.failures == (crashed, failed)
    assert "x = 3" in str(report)
    assert json.loads(report.to_json())["passed"] is False


def test_a_report_of_nothing_has_not_passed() -> None:
    """If no property was established, nothing was verified."""
    assert not Report("g", {}, ()).passed
    assert not Report("g", {}, (Finding("a", "b", "not checked", 0, 0.0, None),)).passed
