"""What a reader of the paper would write: its noise in floats (Definition 2, quantized), and a loop that votes.

The yardstick of the benchmarks, on purpose without anything learned since: widths and shifts are gathered for every
feature and sample, the formula is evaluated as it stands, a batch is 2 images x 128 samples, gradients stay on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn


class PlainNoise:
    """Variable-Lambda noise of a periodic design: the list of outcomes (Lambda, s), cyclically shifted by feature."""

    def __init__(self, weights: Mapping[int, int], q: int, budget: int, shape: tuple[int, ...], seed: int = 0) -> None:
        outcomes = [
            (width / q, (s + 0.5) / q) for width in sorted(weights) for _ in range(weights[width]) for s in range(width)
        ]
        outcomes += [(float("inf"), 0.0)] * (budget - len(outcomes))
        self.widths, self.shifts = torch.tensor(outcomes).T.contiguous()
        self.offsets = torch.from_numpy(np.random.RandomState(seed).randint(budget, size=shape, dtype=np.int64))
        self.budget = budget

    def __call__(self, x: Tensor, samples: Tensor) -> Tensor:
        """Upper and lower ends of the bins of `x` [N, C, H, W] in [0,1], stacked by channel: [N * S, 2C, H, W]."""
        place = (samples[:, None, None, None] + self.offsets) % self.budget
        width, shift = self.widths[place], self.shifts[place]
        ends = width * torch.ceil((x[:, None] - shift) / width) + shift
        hidden = torch.isinf(width)
        upper = torch.where(hidden, 1.0, torch.clamp(ends, max=1.0))
        lower = torch.where(hidden, 0.0, torch.clamp(ends - width, min=0.0))
        return torch.cat([upper, lower], dim=2).flatten(0, 1)


def plain_votes(
    network: nn.Module, noise: PlainNoise, x: Tensor, samples: Tensor, *, images: int = 2, batch: int = 128
) -> Tensor:
    """The votes of every image, [N, S]."""
    network.eval()
    votes = []
    for i in range(0, len(x), images):
        part = x[i : i + images]
        cast = []
        for t in range(0, len(samples), batch):
            logits = network(noise(part, samples[t : t + batch]))
            cast.append(logits.argmax(dim=1).view(len(part), -1))
        votes.append(torch.cat(cast, dim=1))
    return torch.cat(votes)
