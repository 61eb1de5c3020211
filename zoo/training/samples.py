"""Random samples of a scheme: what the network sees in training, and how often it is right under the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from smoothing.scheme import Noise, Scheme
from zoo.data import Split, generator
from zoo.models import Base


def draw_samples(scheme: Scheme, shape: tuple[int, ...], *key: int | str) -> Tensor:
    """Return random samples t of the scheme, each with the share that it has in the vote."""
    drawn = torch.randint(scheme.total, shape, generator=generator(*key))
    if scheme.weights is None:
        return drawn
    return torch.searchsorted(torch.from_numpy(np.cumsum(scheme.weights)), drawn, right=True)


@torch.inference_mode()
def base_accuracy(
    base: nn.Module, noise: Noise, split: Split, limit: int | None = None, *, seed: int = 0
) -> dict[str, Any]:
    """Return the base accuracy: the fraction of images that are classified correctly at one random sample each."""
    count = len(split) if limit is None else min(limit, len(split))
    samples = draw_samples(noise.scheme, (count,), "accuracy", seed)
    base.eval()
    hits = 0
    for start in range(0, count, 250):
        part = torch.arange(start, min(count, start + 250))
        shown = noise.paired(split.take(part).to(noise.device), samples[part], channels_last=len(split.shape) == 3)
        hits += int((base(shown).argmax(-1).cpu() == split.labels[part].cpu()).sum())
    return {"value": hits / count, "images": count, "how": "one random sample per image"}


def noise_statistics(noise: Noise, split: Split, seed: int) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each shown channel over noisy training images."""
    count = min(512, len(split))
    chosen = torch.randperm(len(split), generator=generator("statistics", seed))[:count]
    samples = draw_samples(noise.scheme, (count,), "statistics", seed)
    return Base.statistics(noise.paired(split.take(chosen).to(noise.device), samples).cpu())
