"""Learning from finished models (Hinton et al. 2015): their answers to the same noisy image say more than its label.

A sample shows a small part of an image, so that the label is often a surprise even for the best classifier. The mean
of what several models answer is close to the probabilities of the classes given what is shown, which no label tells.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.errors import TrainingError
from zoo.models import Model


def require_readers(teachers: Sequence[Model], shape: Sequence[int], classes: int) -> None:
    """Raise TrainingError for a teacher that reads inputs of another shape than this, or that knows other classes."""
    for teacher in teachers:
        if list(teacher.card["model"]["input_shape"]) != list(shape) or teacher.classes != classes:
            raise TrainingError(
                f"teacher = {teacher.name}: it reads other inputs or knows other classes; teachers are models for the "
                "same data and representation, best of all for the same metric"
            )


class Teachers(nn.Module):
    """Finished models, whose mean logits a network learns to give."""

    def __init__(self, models: Sequence[Model]) -> None:
        super().__init__()
        self.members = nn.ModuleList(copy.deepcopy(model.base).eval().requires_grad_(False) for model in models)

    @torch.no_grad()
    def forward(self, shown: Tensor) -> Tensor:
        """Return the mean logits of the teachers for what is shown."""
        return torch.stack([member(shown).float() for member in self.members]).mean(0)


def surprise(logits: Tensor, told: Tensor) -> Tensor:
    """Return KL(teacher || student), the mean over the inputs: 0 where the network answers as it was told.

    >>> float(surprise(torch.zeros(3, 2), torch.zeros(3, 2)))
    0.0
    """
    return F.kl_div(logits.log_softmax(-1), told.log_softmax(-1), log_target=True, reduction="batchmean")
