"""Weights in half precision on the disk, where nothing is lost by it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


@torch.no_grad()
def round_to_half(network: nn.Module) -> None:
    """Round every matrix and kernel to the nearest float16 number, in place; computations stay in float32.

    A tensor with a value beyond the range of float16 is left as it is, and so are biases, norms and statistics.
    """
    for parameter in network.parameters():
        rounded = parameter.half().to(parameter.dtype)
        if parameter.ndim > 1 and bool(rounded.isfinite().all()):
            parameter.copy_(rounded)


def compact(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors, as float16 where every value of a matrix or kernel is one; loading gives the same values.

    >>> found = compact({"exact": torch.full((2, 2), 0.25), "other": torch.full((2, 2), 0.1), "bias": torch.ones(2)})
    >>> [str(tensor.dtype) for tensor in found.values()]
    ['torch.float16', 'torch.float32', 'torch.float32']
    """
    return {name: tensor.half() if _halves(name, tensor) else tensor for name, tensor in state.items()}


def _halves(name: str, tensor: Tensor) -> bool:
    if name in ("mean", "std"):  # of the normalisation: their type says in which precision the model computes
        return False
    return tensor.dtype == torch.float32 and tensor.ndim > 1 and bool((tensor.half().float() == tensor).all())
