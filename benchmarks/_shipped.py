"""The network that comes with the package, its recorded votes, and images to show it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import zoo
from smoothing import Record

NAME = "cifar10-l0.5-a18"


class Shipped(NamedTuple):
    """The model, the levels [n, 3, 32, 32] of the test images that come with it, their recorded votes [n, T], and the
    tolerance these were cast with."""

    model: Any
    images: Tensor
    votes: Any
    tolerance: float


def shipped() -> Shipped:
    """A CIFAR-10 model by name, with everything that is needed to vote again."""
    model = zoo.load(NAME)
    record = Record.open(model.path / "votes")
    indices, votes = record.votes()
    with np.load(model.path / "images.npz") as kept:
        rows = [indices.tolist().index(index) for index in kept["index"]]
        return Shipped(model, torch.from_numpy(kept["levels"]), votes[rows], record.header.tolerance)


def made_images(count: int, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """Smooth random fields of levels 0..255."""
    coarse = torch.rand((count, shape[0], 4, 4), generator=torch.Generator().manual_seed(seed))
    fine = torch.nn.functional.interpolate(coarse, shape[1:], mode="bicubic", align_corners=False)
    return (255 * fine.clamp(0, 1)).round().to(torch.uint8)


def made_votes(rng: np.random.Generator, count: int, samples: int, classes: int) -> list[np.ndarray[Any, Any]]:
    """Votes of `count` images from clear to contested: shares from a Dirichlet law, samples independent."""
    kind = np.uint8 if classes <= 255 else np.uint16
    shares = [rng.dirichlet(np.full(classes, 4 / classes)) for _ in range(count)]
    return [rng.choice(classes, size=samples, p=share).astype(kind) for share in shares]
