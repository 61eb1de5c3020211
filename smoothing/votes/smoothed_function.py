"""Smoothing a function with values in [0,1] instead of votes: a Lipschitz function, regression included."""

from __future__ import annotations

import torch
from torch import Tensor

from smoothing.errors import SchemeError, VoteError
from smoothing.scheme import Images
from smoothing.votes.evaluation import Smoothed

UNIT = 2**24  # the grid of float32 just below 1
SLACK = 1e-5


class SmoothedFunction(Smoothed):
    """The mean of `base` over all samples; if `base` has values in [0,1], every output is 1-Lipschitz in the metric.

    `classes` is the number of outputs. For a classifier's soft votes end the base with a softmax; for regression scale
    the target to [0,1]. Values beyond [0,1] by rounding are clamped, others refused: the property would be lost.
    `smoothing.certify_soft_sums(sums, smoothing.UNIT, scheme)` makes a certificate of an image's sums.

    >>> from torch import nn
    >>> from smoothing import Scheme
    >>> base = nn.Sequential(nn.Linear(6, 1), nn.Sigmoid())
    >>> SmoothedFunction(base, Scheme.l1(2, shape=(3,), q=4), 1)(torch.tensor([[0, 4, 2]])).shape
    torch.Size([1, 1])
    """

    def sums(self, x: Images, *, progress: bool = False) -> Tensor:
        """Return S_k: the weighted sum of every output over all samples, int64 [N, outputs], in units of 1/`UNIT`.

        Values are rounded to the unit sample by sample, so that sums are exact whatever their order.
        """
        if self.scheme.total * UNIT >= 1 << 63:
            raise SchemeError(f"B = {self.scheme.total}: sums in units of 1/{UNIT} need B < 2**39")
        batch = self.levels(x)
        total = torch.zeros((len(batch), self.classes), dtype=torch.int64, device=self.device)
        least, most = (torch.zeros((), dtype=torch.float64, device=self.device) for _ in range(2))
        spoiled = torch.zeros((), dtype=torch.bool, device=self.device)
        weights = self.scheme.weights
        worth = None if weights is None else torch.tensor(weights, device=self.device)
        for images, samples, values in self.outputs(batch, progress=progress):
            least, most = torch.minimum(least, values.min()), torch.maximum(most, values.max())
            spoiled |= values.isnan().any()
            fixed = (values.double().clamp(0, 1) * UNIT).round().long()
            total[images] += (fixed if worth is None else fixed * worth[samples, None]).sum(dim=1)
        if bool(spoiled) or float(least) < -SLACK or float(most) > 1 + SLACK:
            raise VoteError(
                f"the base gave values in {float(least)}..{float(most)}{' and NaN' if bool(spoiled) else ''}; "
                "a smoothed function needs values in [0,1]: end the base with a softmax or a sigmoid"
            )
        return total

    def forward(self, x: Images) -> Tensor:
        """Return the mean S_k / B of every output, float64 [N, outputs] in [0,1]."""
        return self.sums(x).double() / (UNIT * self.scheme.total)
