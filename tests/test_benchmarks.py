"""The benchmarks cannot rot: every part runs on tiny sizes, and what is stored says when and where it was measured."""

from __future__ import annotations

import importlib
import json
import socket
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks._measure import Times, child, exponent, interleaved, machine
from benchmarks._page import PARTS, page, part, read
from benchmarks._plain import PlainNoise
from benchmarks._text import duration, percent, short
from ecm import ECM
from smoothing import Noise, Scheme


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_part_runs_and_writes_its_piece_of_the_page(name: str) -> None:
    """Tiny sizes: what is measured survives a file, and the page is made from it."""
    found = json.loads(json.dumps(part(name).measure(quick=True)))
    whole = {"measured": "now", "quick": True, "seconds": 1.0, "machine": machine(), "others": 0.0, "found": found}
    text = page({"parts": {name: whole}})
    assert f"## {PARTS[name]}" in text
    assert "|---" in text
    assert "nan" not in text


def test_all_parts_are_stored_with_when_and_on_what() -> None:
    """Every part of the stored results was measured, on a machine that is described but not named."""
    results = read()
    assert list(results["parts"]) == list(PARTS)
    for found in results["parts"].values():
        assert found["measured"].endswith("UTC")
        assert found["machine"].keys() == machine().keys()
    text = json.dumps(results)
    assert socket.gethostname() not in text
    assert str(Path.home()) not in text


def test_the_plain_noise_is_the_same_noise() -> None:
    """The yardstick shows what the package shows, up to float rounding, at every sample."""
    design = ECM.lp("1/2", 2).design(600, q=64, kind="periodic")
    assert design.weights is not None
    scheme = Scheme(design, (3, 4, 4), coupling="independent", order="published")
    levels = torch.randint(0, 65, (2, 3, 4, 4), generator=torch.Generator().manual_seed(0))
    plain = PlainNoise(design.weights[0], 64, 600, scheme.shape)(levels / 64, torch.arange(600))
    ours = Noise(scheme).inputs(levels, range(600)).flatten(0, 1)
    assert (plain - ours).abs().max() < 1e-6


def test_votes_that_differ_stop_the_comparison() -> None:
    """A vote may differ only where it is called unsure."""
    from benchmarks.voting import agreement

    ours = np.array([[1, 255, 2]], dtype=np.uint8)
    assert agreement(ours, np.array([[1, 0, 2]]), 1e-4)["unsure"] == 1
    with pytest.raises(AssertionError, match="1 of 3 votes differ"):
        agreement(ours, np.array([[1, 0, 1]]), 1e-4)


def test_actions_are_measured_in_turn() -> None:
    """One unmeasured call each, then round by round: a drift of the machine meets all of them."""
    calls: list[str] = []
    found = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3)
    assert "".join(calls) == "ab" * 4
    assert len(found["a"].seconds) == 3


def test_ratios_are_taken_round_by_round() -> None:
    """A round in which everything is slower does not move the ratio."""
    assert Times((1.0, 10.0, 1.0)).over(Times((2.0, 20.0, 2.0))) == {"median": 0.5, "low": 0.5, "high": 0.5}


def test_a_child_answers_and_its_memory_is_its_own() -> None:
    """The peak of a fresh interpreter does not include what this process holds."""
    held = np.ones(2**25)
    answer, peak = child("benchmarks._measure", "exponent", [1, 2, 4], [1, 4, 16])
    assert answer == 2.0
    assert peak < held.nbytes / 2**20


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (duration(0.0274), "27.4 ms"),
        (duration(12.34), "12.3 s"),
        (short(1234.5), "1234"),
        (percent(0.5), "50%"),
        (percent(0.0123), "1.2%"),
        (exponent([1, 10], [5, 50]), 1.0),
    ],
)
def test_numbers_are_shown_short(shown: Any, text: Any) -> None:
    """Three digits at most, in the unit that suits."""
    assert shown == text


@pytest.mark.slow
@pytest.mark.parametrize("part", ["documents", "cache"])
def test_the_soak_runs(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few attempts of each kind, none of which breaks anything."""
    from benchmarks.soak._result import Options

    monkeypatch.setenv("ECM_CACHE", "")
    result = importlib.import_module(f"benchmarks.soak.{part}").soak(Options(documents=60, minutes=0.02))
    assert not result.failures
    assert sum(result.counts.values()) > 0


@pytest.mark.slow
def test_the_soak_would_find_a_checker_that_believes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs taken as they are, designs not looked at, any multiplier right: false claims are accepted, and found."""
    from benchmarks.soak._result import Options
    from benchmarks.soak.documents import soak
    from smoothing.document import checker

    monkeypatch.setattr(checker, "fraction", lambda text: Fraction(text) / 2)
    assert soak(Options(documents=200)).failures
