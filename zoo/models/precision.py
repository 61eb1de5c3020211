"""Weights in few bits on the disk, where nothing is lost by it; computations stay in float32."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STEPS = 127  # of a row, on either side of 0, in eight bits
SCALE = ".scale"  # after the name of a tensor in eight bits: the size of one step in each row


@torch.no_grad()
def round_weights(network: nn.Module, bits: int) -> None:
    """Round every matrix and kernel, in place, to what so many bits can hold: 32 leaves them as they are.

    16: the nearest float16 number; a tensor with a value beyond that range is left as it is. 8: whole multiples
    -127..127 of one step per row (output); the step has eight significant bits and is at most 1/127 of the largest
    value, so that multiples of it are exact. Biases, norms and statistics stay.
    """
    for parameter in network.parameters():
        if parameter.ndim > 1 and bits < 32:
            rounded = _to_bytes(parameter) if bits == 8 else parameter.half().to(parameter.dtype)
            if bool(rounded.isfinite().all()):
                parameter.copy_(rounded)


def _to_bytes(parameter: Tensor) -> Tensor:
    rows = parameter.float().flatten(1)
    step = _short(rows.abs().amax(1) / STEPS)
    whole = torch.nan_to_num(rows / step[:, None]).round().clamp(-STEPS, STEPS)
    return _multiples(whole, step).view_as(parameter)


def compact(network: nn.Module) -> dict[str, Tensor]:
    """Return the state of a network, a matrix or kernel in eight bits or as float16 if it loses nothing by that.

    `expanded` gives the same values again. Statistics stay as they are: their type says in which precision a model
    computes.

    >>> network = nn.Linear(2, 2)
    >>> _ = network.weight.data.copy_(torch.tensor([[0.25, 0.125], [1.5, 2.0]])), network.bias.data.fill_(0.25)
    >>> [(name, str(tensor.dtype)) for name, tensor in compact(network).items()]
    [('weight', 'torch.float16'), ('bias', 'torch.float32')]
    >>> round_weights(network, 8)
    >>> [(name, str(tensor.dtype)) for name, tensor in compact(network).items()]
    [('weight', 'torch.int8'), ('weight.scale', 'torch.float32'), ('bias', 'torch.float32')]
    """
    weights = {name for name, value in network.named_parameters() if value.ndim > 1 and value.dtype == torch.float32}
    state: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        state[name] = tensor
        if name in weights:
            step = tensor.flatten(1).abs().amax(1) / STEPS
            whole = torch.nan_to_num(tensor.flatten(1) / step[:, None]).round().view_as(tensor)
            if torch.equal(_short(step), step) and torch.equal(_multiples(whole, step), tensor):
                state |= {name: whole.to(torch.int8), name + SCALE: step}
            elif torch.equal(tensor.half().float(), tensor):
                state[name] = tensor.half()
    return state


def expanded(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return what `compact` was given: tensors in eight bits as float32; all others as they are.

    >>> network = nn.Linear(3, 2)
    >>> round_weights(network, 8)
    >>> torch.equal(expanded(compact(network))["weight"], network.weight)
    True
    """
    steps = {name.removesuffix(SCALE): value for name, value in state.items() if name.endswith(SCALE)}
    steps = {name: value for name, value in steps.items() if name in state and state[name].dtype == torch.int8}
    return {
        name: _multiples(value.float(), steps[name]) if name in steps else value
        for name, value in state.items()
        if name.removesuffix(SCALE) not in steps or name in steps
    }


def _short(step: Tensor) -> Tensor:
    """The numbers without their last 16 bits."""
    return step.view(torch.int32).bitwise_and(-(2**16)).view(torch.float32)


def _multiples(whole: Tensor, step: Tensor) -> Tensor:
    return (whole.flatten(1) * step[:, None]).view_as(whole)
