"""Random brightness and contrast of training images."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import zoo
from zoo.errors import SettingError
from zoo.training.jitter import jittered


@given(share=st.floats(0, 1), seed=st.integers(0, 99), q=st.sampled_from([16, 255]))
def test_levels_stay_levels(share: float, seed: int, q: int) -> None:
    """Jittered images are levels 0..q of the same type, in the same order of brightness; share 0 changes nothing."""
    random = torch.Generator().manual_seed(seed)
    levels = torch.randint(0, q + 1, (3, 2, 4, 4), generator=random, dtype=torch.uint8)
    draws = torch.rand(3, 2, generator=random)
    found = jittered(levels, share, q, draws)
    assert found.dtype == levels.dtype
    assert int(found.max()) <= q
    ordered = levels.flatten(1).argsort(1)
    assert (found.flatten(1).gather(1, ordered).int().diff() >= 0).all()
    assert torch.equal(jittered(levels, 0.0, q, draws), levels)


def test_brightness_and_contrast_move_by_their_shares() -> None:
    """At the ends of the draws, contrast changes by the share and brightness by half the share of the range."""
    middle, top = torch.full((1, 1, 1, 1), 100, dtype=torch.uint8), torch.tensor([[[[50, 150]]]], dtype=torch.uint8)
    assert int(jittered(middle, 0.4, 200, torch.tensor([[0.5, 0.0]]))) == 60
    assert jittered(top, 0.4, 200, torch.tensor([[1.0, 0.5]])).flatten().tolist() == [30, 170]


def test_jitter_reaches_the_training(tmp_path: Path) -> None:
    """A run with jitter ends with other weights than one without, and a share above 1 is refused."""
    settings = {"epochs": 1, "budget": 16, "progress": False}
    plain = zoo.train("z**0.5/2", "digits", out=tmp_path / "plain", **settings)
    other = zoo.train("z**0.5/2", "digits", out=tmp_path / "other", jitter=0.5, **settings)
    assert plain.card["weights"] != other.card["weights"]
    assert other.card["training"]["jitter"] == 0.5
    with pytest.raises(SettingError, match="jitter = 2: it lies between 0 and 1"):
        zoo.train("z**0.5/2", "digits", out=tmp_path / "never", jitter=2, **settings)
