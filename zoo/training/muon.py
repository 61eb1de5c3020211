"""Muon (Jordan et al. 2024): SGD with momentum whose steps of matrices and kernels are made orthogonal.

All directions of a matrix are then learned at one pace, and fewer epochs are needed for the same accuracy.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

MATRIX_SHARE = 0.3  # of the learning rate, for matrices and kernels


class Muon(torch.optim.SGD):
    """A kernel counts as a matrix with one row an output (`torch.optim.Muon` takes matrices alone). A step of rate lr
    has a spectral norm of about `MATRIX_SHARE * lr`; scales and biases are stepped as by SGD.

    >>> weight = torch.zeros(2, 3, requires_grad=True)
    >>> weight.grad = torch.tensor([[4.0, 0, 0], [0, 0.5, 0]])
    >>> Muon([weight], lr=1.0, momentum=0.9, nesterov=True).step()
    >>> [round(value, 1) for value in weight.diagonal().tolist()]  # both directions, though one gradient is small
    [-0.3, -0.3]
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            momentum, rate, decay = group["momentum"], group["lr"], group["weight_decay"]
            for parameter in (p for p in group["params"] if p.grad is not None):
                state = self.state[parameter]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                mean = state["momentum_buffer"].mul_(momentum).add_(parameter.grad)
                ahead = parameter.grad.add(mean, alpha=momentum) if group["nesterov"] else mean
                parameter.mul_(1 - rate * decay)
                if parameter.ndim < 2:
                    parameter.sub_(ahead, alpha=rate)
                else:
                    parameter.sub_(orthogonal(ahead.flatten(1)).view(ahead.shape), alpha=MATRIX_SHARE * rate)


def orthogonal(matrix: Tensor) -> Tensor:
    """Return the matrix with its singular values moved close to 1 (four steps of the quintic Newton-Schulz iteration of
    Jordan et al.), times sqrt(rows/columns) if it has more rows than columns.

    >>> some = torch.randn(8, 30, generator=torch.Generator().manual_seed(0))
    >>> values = torch.linalg.svdvals(orthogonal(some))
    >>> bool(0.5 < values.min() and values.max() < 1.3)
    True
    """
    tall = len(matrix) > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(4):
        square = x @ x.T
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    scaled: Tensor = x.T * math.sqrt(len(matrix) / matrix.shape[1]) if tall else x
    return scaled
