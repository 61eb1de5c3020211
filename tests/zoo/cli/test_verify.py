"""`ecm verify`: a table, data or a page, and an exit code that says whether everything holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ecm import Outcomes
from zoo.cli.command import app

RUN = ["verify", "z**0.5/2", "--q", "4", "--budget", "20", "--quick", "--examples", "5"]


def test_a_sound_metric_passes_with_a_table_and_a_page(tmp_path: Path) -> None:
    """Exit code 0; the page stands alone."""
    page = tmp_path / "report.html"
    result = CliRunner().invoke(app, [*RUN, "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert "all properties hold" in result.output
    text = page.read_text()
    assert "P(split) = g" in text
    assert "http" not in text
    assert "<script" not in text


def test_json_is_all_that_is_printed() -> None:
    """A program can read stdout."""
    result = CliRunner().invoke(app, [*RUN, "--json"])
    report = json.loads(result.stdout)
    assert report["passed"] is True
    assert {f["how"] for f in report["findings"]} > {"exhaustive", "Hypothesis", "symbolic proof"}
    assert all(f["cases"] > 0 for f in report["findings"] if f["passed"])


def test_a_fault_gives_exit_code_1_and_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is shown with the case that shows it."""
    splits: Any = Outcomes.splits
    monkeypatch.setattr(Outcomes, "splits", lambda self: (row * 0 for row in splits(self)))
    result = CliRunner().invoke(app, RUN)
    assert result.exit_code == 1
    assert "counterexample" in result.output


def test_time_that_is_used_up_leaves_properties_open() -> None:
    """What was not reached is reported as not checked, never as passed."""
    result = CliRunner().invoke(app, [*RUN, "--json", "--minutes", "0"])
    report = json.loads(result.stdout)
    assert all(f["passed"] is None and "time" in f["note"] for f in report["findings"])
    assert report["passed"] is False
    assert result.exit_code == 1


def test_a_page_that_cannot_be_written_does_not_cost_the_report() -> None:
    """Minutes of checks are shown before the page is written."""
    result = CliRunner().invoke(app, [*RUN, "--minutes", "0", "--html", "/proc/no/page.html"])
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "/proc/no/page.html: No such file or directory" in result.stderr


def test_a_formula_that_is_no_metric_is_bad_input() -> None:
    """Exit code 2, with the failing condition."""
    result = CliRunner().invoke(app, ["verify", "z**2"])
    assert result.exit_code == 2
    assert "concave" in result.output


def test_a_model_is_attacked_inside_its_certificates() -> None:
    """`--model` instead of a formula; both at once, or neither, is refused."""
    result = CliRunner().invoke(app, ["verify", "--model", "digits-l0.5-a4", "--limit", "1", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [f["how"] for f in report["findings"]] == ["attack"]
    for wrong in (["verify"], ["verify", "z", "--model", "digits-l0.5-a4"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2
