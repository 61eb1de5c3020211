"""The network that comes with the package, its recorded votes, and images to show it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import zoo
from smoothing import Record
from zoo._data import data_root

NAME, DATA = "cifar10-l0.5-a18", "cifar10"


class Shipped(NamedTuple):
    """Model, recorded votes [n, T], the tolerance they were cast with, and the levels [n, 3, 32, 32] of some images.

    The images are those of the record if CIFAR-10 lies under ECM_DATA (or in the user's cache), else made from a seed:
    smooth random fields, good enough to time. Nothing is downloaded. `source` says which.
    """

    model: Any
    votes: Any
    tolerance: float
    images: Tensor
    source: str


def shipped(count: int) -> Shipped:
    """The shipped model with the first `count` recorded images."""
    model = zoo.load(NAME)
    record = Record.open(model.path / "votes")
    indices, votes = record.votes()
    if any((data_root() / f"cifar-10-batches-{kind}").is_dir() for kind in ("bin", "py")):
        images, source = zoo.load_data(DATA).test.take(indices[:count].tolist()), "CIFAR-10 test images"
    else:
        images, source = made_images(count, model.scheme.shape), "made images"
    return Shipped(model, votes, record.header.tolerance, torch.as_tensor(np.asarray(images)), source)


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
