"""The demo: everything it promises, on a smaller budget of epochs and votes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import zoo.cli.demo
from zoo import read_certification
from zoo.cli.command import app


@pytest.mark.slow
def test_the_demo_goes_from_a_formula_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivation, training, every test image certified, three certificates, the report; then again without new work."""
    monkeypatch.setattr(zoo.cli.demo, "BUDGET", 96)
    monkeypatch.setattr(zoo.cli.demo, "RECIPE", {"model": "mlp", "epochs": 25})
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.stderr
    for words in ("Proof", "Lambda", "Design(", "base accuracy", "paper", "integer", "vote_aware", "report.html"):
        assert words in done.stdout
    found = read_certification(tmp_path / "demo")
    assert found.images == found.split_size == 359
    assert found.smoothed_accuracy.share > 0.85
    assert found.certified_accuracy(1).share > 0.2
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    table = (tmp_path / "demo" / "certify.tsv").read_bytes()
    assert CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")]).exit_code == 0
    assert (tmp_path / "demo" / "certify.tsv").read_bytes() == table  # times included: no image was done again
