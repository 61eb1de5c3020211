"""What the network sees of a picture: the two ends of every feature's bin, at a few samples."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.design import Kind
from zoo.lab.results import SHAPES, Inputs, design_of

if TYPE_CHECKING:
    from smoothing.scheme import Noise

Levels = NDArray[np.int64]

SAMPLES = 4


@attrs.frozen(eq=False)
class Seen:
    """A picture as levels 0..q, and its bins at some samples as half-steps 0..2q; all (C, H, W)."""

    q: int
    levels: Levels
    samples: tuple[int, ...]
    lower: tuple[Levels, ...]
    upper: tuple[Levels, ...]
    shown: float
    """The share of features, over these samples, whose bin is not the whole range."""


@lru_cache(maxsize=16)
def picture(name: str, q: int) -> Levels:
    """One of the pictures that come with scikit-learn, in the levels 0..q: (C, H, W)."""
    from sklearn.datasets import load_digits, load_sample_image

    if name == "digit":
        values = load_digits().images[0][None] / 16
    else:
        from PIL import Image

        side = SHAPES[name][1:]
        photo = Image.fromarray(load_sample_image("flower.jpg"))
        left = (photo.width - photo.height) // 2
        small = photo.crop((left, 0, left + photo.height, photo.height)).resize(side, Image.Resampling.LANCZOS)
        values = np.moveaxis(np.asarray(small) / 255, -1, 0)
    levels: Levels = np.rint(values * q).astype(np.int64)
    return levels


@lru_cache(maxsize=2)
def _noise(formula: str, q: int, budget: int, kind: Kind, name: str) -> Noise:
    from smoothing.scheme import Noise, Scheme

    return Noise(Scheme(design_of(formula, q, budget, kind), SHAPES[name]))


def seen(inputs: Inputs, budget: int, kind: Kind) -> Seen:
    """The picture at the samples first, first + 1, ... (modulo B), under a design of that kind."""
    import torch

    q = inputs.q
    noise, levels = _noise(inputs.formula, q, budget, kind, inputs.picture), picture(inputs.picture, q)
    samples = tuple((inputs.first + t) % budget for t in range(min(SAMPLES, budget)))
    lower, upper = (ends[0].numpy().astype(np.int64) for ends in noise.bounds(torch.from_numpy(levels)[None], samples))
    shown = float(((lower > 0) | (upper < 2 * q)).mean())
    return Seen(q, levels, samples, tuple(lower), tuple(upper), shown)
