"""What is minimised: functions of the logits of one or several noise draws of the same images."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

SHARPNESS = 4.0  # of a soft preference between two classes, per unit of their logits
WIDTH = 0.1  # of the step from certified to not certified, as a share of the samples
FIT = 0.04  # weight of the cross-entropy beside the count


class Objective(NamedTuple):
    """`loss(logits, labels, label_smoothing)` with logits [draws, N, classes]; the mean over the N images.

    `zoo.names.OBJECTIVE_SETTINGS` names the setting that the loss takes as well, if the recipe gives one.
    """

    draws: int
    loss: Callable[..., Tensor]


def noisy(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy under the noise: E[-log p_y(x~)].

    >>> round(float(noisy(torch.zeros(1, 4, 2), torch.tensor([0, 1, 1, 0]))), 4)
    0.6931
    """
    return F.cross_entropy(logits[0], labels, label_smoothing=label_smoothing)


def stability(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, divergence: float = 6.0) -> Tensor:
    """Return CE(p(x~1), y) + 6 KL(p(x~1) || p(x~2)) over two draws (stability training, as used by Levine & Feizi
    2022).

    >>> same = torch.zeros(2, 4, 2)
    >>> float(stability(same, torch.tensor([0, 1, 1, 0])) - noisy(same, torch.tensor([0, 1, 1, 0])))
    0.0
    """
    first, second = F.log_softmax(logits, -1)
    return noisy(logits, labels, label_smoothing) + divergence * F.kl_div(
        second, first, log_target=True, reduction="batchmean"
    )


def consistency(
    logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, divergence: float = 10.0, entropy: float = 0.5
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
    return fit + divergence * spread - entropy * (mean.exp() * mean).sum(-1).mean()


def radius(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, aim: float = 0.22) -> Tensor:
    """Return a smooth count of the images that are not certified at the radius `aim`, plus a little cross-entropy.

    The run-off certifies an image at `aim`, a distance in the metric, if more than 1/2 + aim of the samples rank its
    label above the strongest rival. Here each draw has a soft preference, and S is their mean over the draws. The loss
    is steep where S is near 1/2 + aim and flat elsewhere: images that are certified anyway, and images that never will
    be, leave the network to those that can be won. (MACER, Zhai et al. 2020, has the same idea for gaussian noise.)

    >>> lost, won = torch.zeros(4, 1, 2), torch.tensor([[[9.0, 0.0]]]).expand(4, 1, 2)
    >>> bool(radius(lost, torch.tensor([0])) > radius(won, torch.tensor([0])))
    True
    """
    draws, images, classes = logits.shape
    others = logits.detach().softmax(-1).mean(0).scatter(-1, labels[:, None], -1.0)
    pair = torch.stack([labels, others.argmax(-1)], -1).expand(draws, images, 2)
    label, rival = logits.gather(-1, pair).unbind(-1)
    share = torch.sigmoid(SHARPNESS * (label - rival)).mean(0)
    missed = torch.sigmoid((0.5 + aim - share) / WIDTH).mean()
    fit = F.cross_entropy(logits.reshape(-1, classes), labels.repeat(draws), label_smoothing=label_smoothing)
    return missed + FIT * fit


OBJECTIVES = MappingProxyType(
    {
        "noisy": Objective(1, noisy),
        "stability": Objective(2, stability),
        "consistency": Objective(2, consistency),
        "radius": Objective(4, radius),
    }
)
