"""What is minimised: functions of the logits of one or two noise draws of the same images."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Objective(NamedTuple):
    """`loss(logits, labels, label_smoothing)` with logits [draws, N, classes]; the mean over the N images.

    Where there are two draws, `weight=...` replaces the published weight of their divergence.
    """

    draws: int
    loss: Callable[..., Tensor]


def noisy(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy under the noise: E[-log p_y(x~)].

    >>> round(float(noisy(torch.zeros(1, 4, 2), torch.tensor([0, 1, 1, 0]))), 4)
    0.6931
    """
    return F.cross_entropy(logits[0], labels, label_smoothing=label_smoothing)


def stability(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, weight: float = 6.0) -> Tensor:
    """Return CE(p(x~1), y) + 6 KL(p(x~1) || p(x~2)) over two draws (stability training, as used by Levine & Feizi
    2022).

    >>> same = torch.zeros(2, 4, 2)
    >>> float(stability(same, torch.tensor([0, 1, 1, 0])) - noisy(same, torch.tensor([0, 1, 1, 0])))
    0.0
    """
    first, second = F.log_softmax(logits, -1)
    return noisy(logits, labels, label_smoothing) + weight * F.kl_div(
        second, first, log_target=True, reduction="batchmean"
    )


def consistency(
    logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, weight: float = 10.0, entropy: float = 0.5
) -> Tensor:
    """Return CE on every draw + 10 KL(mean || p(x~i)) + 0.5 H(mean), averaged over the draws (Jeong & Shin 2020).

    >>> round(float(consistency(torch.zeros(2, 4, 2), torch.tensor([0, 1, 1, 0]))), 4)
    1.0397
    """
    draws, _, classes = logits.shape
    fit = F.cross_entropy(logits.reshape(-1, classes), labels.repeat(draws), label_smoothing=label_smoothing)
    logs = F.log_softmax(logits, -1)
    mean = torch.logsumexp(logs, 0) - torch.log(torch.tensor(float(draws)))
    spread = F.kl_div(logs, mean.expand_as(logs), log_target=True, reduction="sum") / (draws * len(labels))
    return fit + weight * spread - entropy * (mean.exp() * mean).sum(-1).mean()


OBJECTIVES = MappingProxyType(
    {"noisy": Objective(1, noisy), "stability": Objective(2, stability), "consistency": Objective(2, consistency)}
)
