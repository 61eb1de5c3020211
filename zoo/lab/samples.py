"""What the network sees of a picture: the two ends of every feature's bin at a few samples, and one sample of the
independent and of the spread coupling beside each other."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np

from ecm.arrays import Ints
from ecm.design import Kind
from zoo.lab.results import SHAPES, Inputs, design_of

if TYPE_CHECKING:
    from ecm.design import Design
    from smoothing.scheme import Noise, Scheme


SAMPLES = 4
COUPLINGS: tuple[Literal["independent", "spread"], ...] = ("independent", "spread")


@attrs.frozen(eq=False)
class Seen:
    """A picture as levels 0..q, and its bins at some samples as half-steps 0..2q; all (C, H, W)."""

    q: int
    levels: Ints
    samples: tuple[int, ...]
    lower: tuple[Ints, ...]
    upper: tuple[Ints, ...]
    shown: float
    """Fraction of the features, over these samples, whose bin is not the whole range."""
    compared: tuple[tuple[str, Ints, float], ...]
    """Coupling, middle of every bin at the first of the samples (quarter-steps 0..4q) and the fraction shown there."""


@lru_cache(maxsize=16)
def picture(name: str, q: int) -> Ints:
    """Return one of the pictures that come with scikit-learn, in the levels 0..q: (C, H, W)."""
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
    levels: Ints = np.rint(values * q).astype(np.int64)
    return levels


@lru_cache(maxsize=4)
def _noise(design: Design, name: str, coupling: Literal["independent", "spread"]) -> Noise:
    from smoothing.scheme import Noise, Scheme

    return Noise(Scheme(design, SHAPES[name], coupling=coupling))


def _bins(noise: Noise, levels: Ints, samples: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the lower and upper ends of every bin at these samples, in half-steps 0..2q."""
    import torch

    lower, upper = noise.bounds(torch.from_numpy(levels)[None], samples)
    return lower[0].numpy().astype(np.int64), upper[0].numpy().astype(np.int64)


def middle(scheme: Scheme, levels: Ints, sample: int) -> tuple[Ints, float]:
    """Return the middle of every feature's bin at one sample, in quarter-steps 0..4q, and the fraction that is shown.

    A hidden feature has the whole range as its bin, so its middle is 2q: grey.
    """
    from smoothing.scheme import Noise

    return _middle(Noise(scheme), levels, sample)


def _middle(noise: Noise, levels: Ints, sample: int) -> tuple[Ints, float]:
    lower, upper = _bins(noise, levels, (sample,))
    return (lower + upper)[0], float(((lower > 0) | (upper < 2 * noise.scheme.q)).mean())


def seen(inputs: Inputs, budget: int, kind: Kind) -> Seen:
    """Return the picture at the samples first, first + 1, ... (modulo B), under a design of that kind."""
    q, levels = inputs.q, picture(inputs.picture, inputs.q)
    design = design_of(inputs.formula, q, budget, kind)
    noise = {name: _noise(design, inputs.picture, name) for name in COUPLINGS}
    samples = tuple((inputs.first + t) % budget for t in range(min(SAMPLES, budget)))
    lower, upper = _bins(noise["spread"], levels, samples)
    shown = float(((lower > 0) | (upper < 2 * q)).mean())
    compared = tuple((name, *_middle(noise[name], levels, samples[0])) for name in COUPLINGS)
    return Seen(q, levels, samples, tuple(lower), tuple(upper), shown, compared)
