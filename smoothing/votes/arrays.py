"""A base that is not a network: any function of (lower, upper) arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from ecm.arrays import Singles
from smoothing.errors import VoteError


class FromArrays(nn.Module):
    """Lets a function of NumPy arrays be the base of a smoothed classifier, a gradient-boosted tree say.

    `function(lower, upper)` gets two float32 arrays [n, *shape], the ends of every feature's bin in [0,1], and returns
    class labels (integers, [n]) or scores (floats, [n, classes]; the largest is the vote). For schemes with the
    representation `upper_lower` (the default).

    >>> base = FromArrays(lambda lower, upper: (lower.mean(axis=1) > 0.3).astype(int), classes=2)
    >>> base(torch.tensor([[1.0, 0.8, 0.5, 0.4]]))
    tensor([[0., 1.]])
    """

    def __init__(self, function: Callable[[Singles, Singles], object], classes: int) -> None:
        super().__init__()
        self.function = function
        self.classes = classes

    def forward(self, planes: Tensor) -> Tensor:
        """Return scores [n, classes] of inputs [n, 2 * shape[0], *shape[1:]] whose first half are the upper ends."""
        upper, lower = planes.detach().cpu().chunk(2, dim=1)
        answer = np.asarray(self.function(np.ascontiguousarray(lower.numpy()), np.ascontiguousarray(upper.numpy())))
        if answer.shape == (len(planes),) and answer.dtype.kind in "iu":
            if len(answer) and not 0 <= answer.min() <= answer.max() < self.classes:
                raise VoteError(f"labels {answer.min()}..{answer.max()}; the classes are 0..{self.classes - 1}")
            return torch.nn.functional.one_hot(torch.from_numpy(answer.astype(np.int64)), self.classes).float()
        if answer.shape == (len(planes), self.classes) and answer.dtype.kind == "f":
            return torch.from_numpy(answer)
        raise VoteError(
            f"the function gave {answer.dtype} {answer.shape} for {len(planes)} inputs; it must give integer labels "
            f"({len(planes)},) or float scores ({len(planes)}, {self.classes})"
        )
