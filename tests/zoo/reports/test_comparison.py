"""Runs side by side: only what can be compared is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from ecm import ECMError
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Certification, DataError, certify, compare


def run(path: Path, formula: str = "z**0.5/2", limit: int | None = None, seed: int = 0) -> Certification:
    return certify(tiny_model(path, formula), tiny_data(seed=seed), limit=limit, progress=False, tolerance=1e-4)


def test_only_shared_images_are_counted(tmp_path: Path) -> None:
    """Accuracies are those of the images that every run has; how many are left out is said."""
    small, large = run(tmp_path / "a", limit=6), run(tmp_path / "b", "z**0.5/3")
    found = compare(tmp_path / "a", large, radii=["0", "1/2"])
    assert [one.images for one in found.runs.values()] == [6, 6]
    assert found.left_out == 14
    first, second = found.rows()
    assert first["smoothed_accuracy"] == small.smoothed_accuracy.share
    shared = {row.idx for row in small.rows}
    assert second["smoothed_accuracy"] == sum(row.correct for row in large.rows if row.idx in shared) / 6
    assert list(first["certified_accuracy"]) == ["0", "1/2"]
    assert (first["budget"], first["votes"]) == (12, 12)
    assert "14 that not all runs have" in repr(found)


def test_different_certificates_are_not_compared_in_silence(tmp_path: Path) -> None:
    """A run that reports the paper's certificate beside one that reports the strongest: each says which."""
    certify(tiny_model(tmp_path / "a"), tiny_data(), limit=3, certificate="paper", progress=False, tolerance=1e-4)
    run(tmp_path / "b")
    both = compare(tmp_path / "a", tmp_path / "b")
    assert list(both.runs) == ["a, paper", "b, runoff_vote_aware"]
    assert "a, paper" in repr(both)


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two folders with the same last name keep their paths."""
    for parent in ("x", "y"):
        run(tmp_path / parent / "model", limit=3)
    found = compare(tmp_path / "x" / "model", tmp_path / "y" / "model")
    assert len(found.runs) == 2


def test_an_l1_run_is_a_baseline_for_other_exponents(tmp_path: Path) -> None:
    """Its radii follow as l_p radii: exact, never below the l1 radius, and comparable with an l_p run."""
    l1, half = run(tmp_path / "l1", "z/2"), run(tmp_path / "half")
    with pytest.raises(DataError, match="different units"):
        compare(l1, half)
    baseline = l1.as_lp("1/2")
    found = compare(baseline, half, radii=["0", "1/16", "1/4", "1"])
    assert [one.unit.name for one in found.runs.values()] == ["l_1/2 radius"] * 2
    for before, after in zip(l1.rows, baseline.rows, strict=True):
        radius = baseline.radius_of(after)
        assert radius >= l1.radius_of(before)
        assert baseline.unit.covers(after.balls["vote_aware"], Fraction(radius))
        ball = before.balls["paper"]  # closed, of l1 radius R = 2r: every ||v||_1/2 <= max(R, R**2) is safe
        assert ball.radius is not None
        reach = 2 * ball.radius
        for factor, safe in ((Fraction(1), True), (Fraction(1001, 1000), False)):
            assert baseline.unit.covers(ball, max(reach, reach**2) * factor) is (safe or ball.radius == 0)
    with pytest.raises(ECMError, match="only l1 radii"):
        half.as_lp("1/2")


def test_different_units_data_and_images_are_refused(tmp_path: Path) -> None:
    """l_1/2 against l_1/3, other test images, no image in common, a single run."""
    first = run(tmp_path / "a", limit=3)
    with pytest.raises(DataError, match="different units"):
        compare(first, run(tmp_path / "b", "z**(1/3)/2", limit=3))
    run(tmp_path / "c", limit=3, seed=1)
    with pytest.raises(DataError, match="different test images"):
        compare(tmp_path / "a", tmp_path / "c")
    with pytest.raises(DataError, match="at least two"):
        compare(first)
