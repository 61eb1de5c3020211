"""Weights in half precision on the disk, where nothing is lost by it."""

from __future__ import annotations

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


def compact(network: nn.Module) -> dict[str, Tensor]:
    """Return the state of a network, with a matrix or kernel as float16 if each of its values is a float16 number.

    Loading gives the same values. Statistics stay as they are: their type says in which precision a model computes.

    >>> network = nn.Linear(2, 2)
    >>> _ = network.weight.data.fill_(0.25), network.bias.data.fill_(0.25)
    >>> [str(tensor.dtype) for tensor in compact(network).values()]
    ['torch.float16', 'torch.float32']
    """
    weights = {name for name, parameter in network.named_parameters() if _halves(parameter)}
    return {name: tensor.half() if name in weights else tensor for name, tensor in network.state_dict().items()}


def _halves(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.ndim > 1 and bool((tensor.half().float() == tensor).all())
