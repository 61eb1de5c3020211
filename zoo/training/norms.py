"""Batch norms of averaged weights (Izmailov et al. 2018): their statistics are not the average of the statistics."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.optim.swa_utils import update_bn

from zoo.data import generator
from zoo.training.samples import draw_samples
from zoo.training.state import Run

BATCHES = 80


def renew_norms(run: Run) -> None:
    """Estimate the statistics of all batch norms of `run.base` again, on noisy training images; without such norms
    nothing happens."""
    update_bn(_shown(run), run.base)


def _shown(run: Run) -> Iterator[Tensor]:
    images, batch = run.data.train, run.recipe.batch
    passes = 1 + BATCHES * batch // len(images)
    order = torch.randperm(len(images), generator=generator("norms", run.seed)).repeat(passes)
    for k, chosen in enumerate(order[: BATCHES * batch].view(BATCHES, batch)):
        samples = draw_samples(run.noise.scheme, (len(chosen),), "norms", run.seed, k)
        levels = images.take(chosen).to(run.workers.device)
        yield run.noise.paired(levels, samples, channels_last=len(images.shape) == 3)
