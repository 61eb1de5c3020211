"""Solvers agree with the exact program, and a solver that is wrong is caught."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from ecm.allocation import integer_program
from ecm.allocation.allocation import allocate
from ecm.allocation.caps import Tube
from ecm.allocation.integer_program import Answer
from ecm.errors import AllocationError
from ecm.metric import Profile
from ecm.verification.strategies import budgets, concave_tables

SQRT = Profile.from_expr("sqrt(z)")


@pytest.mark.parametrize("text", ["sqrt(z)", "z**(1/3)"])
@pytest.mark.parametrize("solver", ["HIGHS", pytest.param("CBC", marks=pytest.mark.slow)])
def test_solvers_prove_the_exact_optimum(text: str, solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    """At q = 255, B = 1000 both solvers prove the eps of the exact program, without a word on the terminal."""
    profile = Profile.from_expr(text)
    best = allocate(profile, 1000)
    solved = allocate(profile, 1000, method="mip", solver=solver, seconds=250)
    assert solved.optimality == f"proved optimal by {integer_program.SOLVERS[solver]}"
    assert solved.eps == best.eps
    assert solved.N.sum() <= best.N.sum()
    assert capfd.readouterr() == ("", "")


@settings(max_examples=40, deadline=None)
@given(concave_tables(), budgets(40))
def test_highs_agrees_on_random_tables(values: tuple[Fraction, ...], budget: int) -> None:
    """On small random metrics HiGHS proves the same eps."""
    profile, q = Profile.from_values(values), len(values) - 1
    solved = allocate(profile, budget, q, method="mip")
    assert solved.eps == pytest.approx(allocate(profile, budget, q).eps, abs=1e-9)
    assert solved.optimality == "proved optimal by HiGHS"


def _fake(monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    """A solver whose answer is the optimum with one thing changed."""
    best = allocate(SQRT, 100, 16)
    slopes = np.diff(best.N).astype(float)
    answer = Answer(tuple(slopes), best.eps * 100, best.eps * 100, True)
    monkeypatch.setattr(integer_program, "run", lambda tube, solver, seconds: change(answer))  # type: ignore[operator]


def test_a_right_answer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers that are off by a solver's tolerance are rounded."""
    _fake(monkeypatch, lambda a: Answer(tuple(x + 1e-7 for x in a.slopes), a.objective, a.bound, True))
    assert allocate(SQRT, 100, 16, method="mip").eps == allocate(SQRT, 100, 16).eps


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: Answer((a.slopes[0] + 1, *a.slopes[1:]), a.objective, a.bound, True), "wrong answer: at k = 1 "),
        (lambda a: Answer((*a.slopes[:-1], a.slopes[-2] + 1), a.objective, a.bound, True), "wrong answer"),
        (lambda a: Answer((*a.slopes[:-1], -1.0), a.objective, a.bound, True), "wrong answer"),
        (lambda a: Answer(a.slopes[::-1], a.objective, a.bound, True), "wrong answer"),
        (lambda a: Answer(a.slopes[1:], a.objective, a.bound, True), "returned 15 slopes"),
        (lambda a: Answer((float("nan"), *a.slopes[1:]), a.objective, a.bound, True), "slopes in 0..100"),
        (lambda a: Answer((1e30, *a.slopes[1:]), a.objective, a.bound, True), "slopes in 0..100"),
        (lambda a: Answer(a.slopes, a.objective / 2, a.bound, True), "claims eps"),
        (lambda a: Answer(a.slopes, float("nan"), a.bound, True), "claims eps"),
        (lambda a: Answer((0.0,) * 16, a.objective, a.bound, True), "claims eps"),
    ],
)
def test_a_wrong_answer_raises(monkeypatch: pytest.MonkeyPatch, change: object, message: str) -> None:
    """Whatever a solver gets wrong - caps, order, sign, size, numbers, its own objective - never becomes an object."""
    _fake(monkeypatch, change)
    with pytest.raises(AllocationError, match=message):
        allocate(SQRT, 100, 16, method="mip")


def test_an_unfinished_answer_reports_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a proof the optimality text is the gap between the answer and the solver's bound."""
    _fake(monkeypatch, lambda a: Answer(a.slopes, a.objective, a.objective * 0.75, False))
    assert allocate(SQRT, 100, 16, method="mip", seconds=7).optimality == "gap 25.00% left by HiGHS after 7 s"


def test_no_time_is_an_error_or_a_gap() -> None:
    """A time limit that is too short gives a verified answer with its gap, or an error that says so."""
    try:
        text = allocate(SQRT, 1000, method="mip", seconds=0.05).optimality
    except AllocationError as error:
        text = str(error)
    assert re.search(r"gap \d|found nothing in 0.05 s", text)


def test_unknown_solver() -> None:
    """The message lists the solvers."""
    with pytest.raises(AllocationError, match="'CBC', 'HIGHS'"):
        allocate(SQRT, 100, 16, method="mip", solver="gurobi")
    with pytest.raises(AllocationError, match="positive time"):
        allocate(SQRT, 100, 16, method="mip", seconds=-1)


def test_objective_is_in_outcomes() -> None:
    """The program minimises B eps: the raw objective is the budget times eps."""
    answer = integer_program.run(Tube.of(SQRT, 100, 16), "HIGHS", 30)
    assert answer.objective == pytest.approx(100 * allocate(SQRT, 100, 16).eps, abs=1e-6)
