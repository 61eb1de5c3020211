"""Models that come with the package: loadable by name, whole, small, and their votes can be cast again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import zoo
from smoothing import Record, digest
from smoothing.certificates import Certifier
from zoo.certification.rows import make_row
from zoo.folder import VOTES
from zoo.models.places import PRETRAINED, weights_path

NAMES = sorted(folder.name for folder in PRETRAINED.iterdir() if folder.is_dir())
IMAGES = "images.npz"  # a few of the voted images, for sets that are not embedded


def few(folder: Path, count: int) -> tuple[list[int], torch.Tensor, list[int]]:
    """Indices, levels and labels of a few images that the model's record is about."""
    if (folder / IMAGES).exists():
        with np.load(folder / IMAGES) as kept:
            return kept["index"][:count].tolist(), torch.from_numpy(kept["levels"][:count]), kept["labels"].tolist()
    test = zoo.load_data("digits").test
    indices = Record.open(folder / VOTES).votes()[0][:count].tolist()
    return indices, test.take(indices), test.labels[indices].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_model_is_whole_and_small(name: str) -> None:
    """Its pieces belong together, its card has measured numbers, and its weights take less than 3 MB."""
    model = zoo.load(name)
    assert weights_path(model.path).stat().st_size < 3_000_000
    found = model.card["certification"]
    assert found["images"] >= 300
    assert found["smoothed_accuracy"] >= found["certified_accuracy"][-1][found["certificate"]]
    again = zoo.read_certification(model.path)
    assert again.summary() == found


@pytest.mark.parametrize("name", NAMES)
def test_the_votes_of_a_shipped_model_can_be_cast_again(name: str) -> None:
    """On a few of the very images, votes are those of the record, up to what either calls unsure."""
    model = zoo.load(name)
    record = Record.open(model.path / VOTES)
    rows = {int(row["index"]): row for row in record.read()}
    indices, levels, _ = few(model.path, 2 if model.scheme.features > 1000 else 8)
    for index, image in zip(indices, levels, strict=True):
        assert bytes(rows[index]["digest"]).hex() == digest(image)
    again = model.smoothed(tolerance=record.header.tolerance).votes(levels)
    before = np.stack([rows[index]["votes"] for index in indices])
    unsure = np.iinfo(again.dtype).max
    sure = (again != unsure) & (before != unsure)
    assert sure.mean() > 0.99
    assert np.array_equal(again[sure], before[sure])


@pytest.mark.parametrize("name", NAMES)
def test_the_radii_of_a_shipped_model_follow_from_its_votes(name: str) -> None:
    """On a few images every certificate, computed again from the recorded votes, is the one in the table."""
    model = zoo.load(name)
    indices, levels, labels = few(model.path, 3)
    rows = {int(row["index"]): row for row in Record.open(model.path / VOTES).read()}
    kept = {row.idx: row for row in zoo.read_certification(model.path).rows}
    certifiers = {
        method: Certifier(model.scheme, model.classes, method) for method in ("paper", "integer", "vote_aware")
    }
    for index, image, label in zip(indices, levels, labels, strict=False):
        votes = rows[index]["votes"].astype(np.uint8)
        again = make_row((index, label), votes, image.numpy(), certifiers, 0.0)
        assert (again.label, again.hits, again.unsure) == (kept[index].label, kept[index].hits, kept[index].unsure)
        for method, ball in again.balls.items():
            assert (ball.radius, ball.closed) == (kept[index].balls[method].radius, kept[index].balls[method].closed)
