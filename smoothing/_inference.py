"""The base as it is evaluated: a copy that computes the same function faster, where that is certain; else the base."""

from __future__ import annotations

import copy
import math
from collections import Counter
from itertools import chain
from typing import Any

import attrs
import torch
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# What the largest activation of one batch should take: on a CPU it then stays in the caches from layer to layer.
_BATCH_BYTES = {"cpu": 2**21}
_OTHER_BYTES = 2**27
_FEWEST, _MOST = 8, 1024
# How far the copy may be from the base, of the largest logit: folding moves the last bits of float32, about 1e-6.
_CLOSE = 1e-4


@attrs.frozen(eq=False)
class Prepared:
    """What is called in place of `base`, and the batch that suits it.

    `network` is `base` itself, or a copy whose batch norms are folded into the convolutions before them. `pure` says
    that it is a graph of PyTorch's own operations without any Python state, so that threads may call it at once.
    `rows` is how many inputs one call should get, from the size of the largest activation (of the input, if the base
    is called as it is).
    """

    network: nn.Module
    pure: bool
    rows: int
    channels_last: bool
    _modules: tuple[nn.Module, ...] = ()
    _weights: tuple[Tensor, ...] = ()
    _answer: Tensor | None = None

    def fits(self, base: nn.Module, example: Tensor, channels_last: bool) -> bool:
        """Whether this is still `base`: the same modules and weights, bit by bit, and the same answer to `example`."""
        if not self.pure:
            return self.network is base and self.channels_last == channels_last
        return (
            self.channels_last == channels_last
            and len(modules := tuple(base.modules())) == len(self._modules)
            and all(a is b for a, b in zip(modules, self._modules, strict=True))
            and len(weights := _weights(base)) == len(self._weights)
            and all(_same(a, b) for a, b in zip(weights, self._weights, strict=True))
            and self._answer is not None
            and _close(_answer(base, example), self._answer)
        )


def prepare(base: nn.Module, example: Tensor, channels_last: bool) -> Prepared:
    """Copy `base` (in evaluation mode), trace it, fold its norms and store its weights as the inputs are stored.

    The copy is used only if the trace succeeds, no module has hooks, and it agrees with `base` on `example`; a network
    with data-dependent control flow, compiled code or a random part is called as it is. Folding changes the order of
    roundings, nothing else: `smoothing.measure_jitter` includes what it moves.

    >>> net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 2)).eval()
    >>> prepared = prepare(net, torch.rand(3, 2, 4, 4), channels_last=True)
    >>> prepared.pure, sum(isinstance(module, nn.BatchNorm2d) for module in prepared.network.modules())
    (True, 0)
    """
    as_it_is = Prepared(base, False, _rows(example, _bytes(example)), channels_last)
    if not _weights(base) or any(module._forward_hooks or module._forward_pre_hooks for module in base.modules()):
        return as_it_is  # nothing to gain, or Python code that a trace would drop
    try:
        network = _traced(base, channels_last)
        with _Largest(len(example)) as seen:
            found = _answer(network, example)
    except Exception:  # whatever a user's own code says to being traced
        return as_it_is
    if found is None or not _close(_answer(base, example), found):
        return as_it_is
    weights = tuple(w.detach().clone() for w in _weights(base))
    return Prepared(network, True, _rows(example, seen.bytes), channels_last, tuple(base.modules()), weights, found)


def _traced(base: nn.Module, channels_last: bool) -> nn.Module:
    network = fx.symbolic_trace(copy.deepcopy(base).eval().requires_grad_(False))
    _fold(network)
    if channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def _fold(network: fx.GraphModule) -> None:
    """Multiply every batch norm that alone reads a convolution's output into that convolution."""
    calls = Counter(node.target for node in network.graph.nodes if node.op == "call_module")
    for node in list(network.graph.nodes):
        before = node.args[0] if node.args else None
        if not (_is(network, node, nn.BatchNorm2d) and isinstance(before, fx.Node) and _is(network, before, nn.Conv2d)):
            continue
        norm: Any = network.get_submodule(str(node.target))
        convolution: Any = network.get_submodule(str(before.target))
        if norm.running_mean is not None and len(before.users) == 1 == calls[before.target]:
            network.set_submodule(str(before.target), fuse_conv_bn_eval(convolution, norm))
            node.replace_all_uses_with(before)
            network.graph.erase_node(node)
    network.delete_all_unused_submodules()
    network.recompile()


def _is(network: fx.GraphModule, node: fx.Node, kind: type[nn.Module]) -> bool:
    """Whether a node calls a module of exactly this class: a subclass may compute something else."""
    return node.op == "call_module" and type(network.get_submodule(str(node.target))) is kind


def _weights(base: nn.Module) -> tuple[Tensor, ...]:
    return tuple(chain(base.parameters(), base.buffers()))


def _same(a: Tensor, b: Tensor) -> bool:
    return a.device == b.device and a.dtype == b.dtype and torch.equal(a, b)


@torch.inference_mode()
def _answer(network: nn.Module, example: Tensor) -> Tensor | None:
    out = network(example)
    return out if isinstance(out, Tensor) else None


def _close(a: Tensor | None, b: Tensor) -> bool:
    if a is None or a.shape != b.shape:
        return False
    return bool((a.double() - b.double()).abs().max() <= _CLOSE * a.double().abs().max().clamp(min=1e-3))


def _rows(example: Tensor, largest: int) -> int:
    """The power of two at which what takes `largest` bytes for the example is as large as a batch should make it."""
    fitting = _BATCH_BYTES.get(example.device.type, _OTHER_BYTES) * len(example) // max(1, largest)
    return min(_MOST, max(_FEWEST, 1 << int(math.log2(max(1, fitting)))))


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


class _Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the largest tensor that has `rows` rows."""

    def __init__(self, rows: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rows, self.bytes = rows, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for out in tree_leaves(result):
            if isinstance(out, Tensor) and out.ndim and len(out) == self.rows:
                self.bytes = max(self.bytes, _bytes(out))
        return result
