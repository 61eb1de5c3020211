"""Models that come with the package: loadable by name, whole, small, and their votes can be cast again."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from smoothing import Record
from zoo._load import PRETRAINED, VOTES

NAMES = sorted(folder.name for folder in PRETRAINED.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_model_is_whole_and_small(name: str) -> None:
    """Its pieces belong together, its card has measured numbers, and its weights take less than 3 MB."""
    model = zoo.load(name)
    assert (model.path / "weights.safetensors").stat().st_size < 3_000_000
    found = model.card["certification"]
    assert found["images"] >= 300
    assert found["smoothed_accuracy"] >= found["certified_accuracy"][-1][found["certificate"]]
    again = zoo.read_certification(model.path)
    assert again.summary() == found


def test_the_votes_of_the_digits_model_can_be_cast_again() -> None:
    """The record's votes are those of the weights, up to what the record itself calls unsure."""
    model = zoo.load("digits-l0.5-a4")
    record = Record.open(model.path / VOTES)
    indices, votes = record.votes()
    images = zoo.load_data("digits").test.take(indices[:8].tolist())
    again = model.smoothed(tolerance=record.header.tolerance).votes(images)
    unsure = np.iinfo(again.dtype).max
    sure = (again != unsure) & (votes[:8] != unsure)
    assert sure.mean() > 0.99
    assert np.array_equal(again[sure], votes[:8][sure])
