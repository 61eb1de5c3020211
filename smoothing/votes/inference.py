"""The base as it is evaluated: by a copy that computes the same function faster where the network asks for one, else by
the network itself.

A module asks for the copy with `fast_copy = True`, in its class or on the instance, for its own `forward`. That is a
promise: `forward` is made of PyTorch's operations on its input, its tensors and its submodules; it keeps nothing of a
call and reads nothing else. PyTorch's plain layers (`LAYERS`) keep it. A network is copied if all its modules ask for
it, and the copy is used if it agrees with the network on inputs that are tried.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any

import attrs
import numpy as np
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
# What every module has and what no function depends on: submodules are gone through by name, hooks are asked for.
_INSIDE = vars(nn.Module()).keys() - {"_parameters", "_buffers", "training"}
# Layers of PyTorch that compute with their input and their own tensors alone; a subclass has to say so itself.
LAYERS = frozenset(
    {
        *(nn.Sequential, nn.ModuleList, nn.Identity, nn.Flatten, nn.Unflatten, nn.Linear, nn.Conv1d, nn.Conv2d),
        *(nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.Dropout, nn.Dropout2d),
        *(nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh, nn.Softmax),
        *(nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d),
    }
)
_PLAIN = (bool, int, float, complex, str, bytes, set, frozenset)


@attrs.frozen(eq=False)
class Prepared:
    """What is called in place of `base`, and the batch that suits it.

    `network` is `base` itself, or a copy whose batch norms are folded into the convolutions before them. `pure` says
    that it is such a copy, of a network that keeps nothing of a call, so that threads may call it at once.
    `rows` is how many inputs one call should get, from the size of the largest activation (of the input, if the base
    is called as it is).
    """

    network: nn.Module
    pure: bool
    rows: int
    channels_last: bool
    autocast: torch.dtype | None = None
    _state: tuple[Any, ...] = ()
    _answer: Tensor | None = None

    def fits(self, base: nn.Module, example: Tensor, channels_last: bool, autocast: torch.dtype | None) -> bool:
        """Return whether this is still `base`: no hooks, the same modules, weights and attributes, bit by bit, and the
        same answer to `example` (all that is seen of globals, closures and the insides of other objects)."""
        if (self.channels_last, self.autocast) != (channels_last, autocast):
            return False
        if not self.pure:
            return self.network is base
        return (
            not _hooked(base)
            and _same(self._state, _state(base))
            and self._answer is not None
            and _close(_answer(base, example), self._answer)
        )


def prepare(base: nn.Module, example: Tensor, channels_last: bool, autocast: torch.dtype | None = None) -> Prepared:
    """Copy `base` (in evaluation mode) if it asks for that, trace it as it will be called, under `autocast` say, fold
    its norms and store its weights as the inputs are stored.

    The promise is verified as far as it can be: the copy is used only if the trace succeeds, no module has hooks, a
    call leaves the tensors as they were, and it agrees with `base` on inputs like `example`; a network with
    data-dependent control flow, compiled code or a random part is called as it is. Folding changes the order of
    roundings, nothing else: `smoothing.measure_jitter` includes what it moves.

    >>> net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 2)).eval()
    >>> prepared = prepare(net, torch.rand(3, 2, 4, 4), channels_last=True)
    >>> prepared.pure, sum(isinstance(module, nn.BatchNorm2d) for module in prepared.network.modules())
    (True, 0)
    """
    as_it_is = Prepared(base, False, _rows(example, _bytes(example)), channels_last, autocast)
    if not asks_for_copy(base) or next(chain(base.parameters(), base.buffers()), None) is None or _hooked(base):
        return as_it_is  # not asked for, nothing to gain, or Python code that a trace would drop
    # Dark and bright inputs as well: what a base does with those alone shows if a trace has missed it.
    tried = torch.cat([example, 1 - example, torch.zeros_like(example[:1]), torch.ones_like(example[:1])])
    try:
        with mixed(example.device, autocast):
            network = _traced(base, channels_last)
        with _Largest(len(tried)) as seen:
            found = _answer(network, tried)
    except Exception:  # whatever a user's own code says to being traced
        return as_it_is
    if found is None or _writes(network, 1 - tried):
        return as_it_is
    if not _close(_answer(base, tried), found):
        return as_it_is
    rows, state = _rows(tried, seen.bytes), _kept(_state(base))
    return Prepared(network, True, rows, channels_last, autocast, state, found[: len(example)])


def asks_for_copy(base: nn.Module) -> bool:
    """Return whether every module of the network is a plain layer or says `fast_copy = True` of itself; a subclass that
    does not say it again may compute something else.

    >>> class Halved(nn.Linear):
    ...     def forward(self, x: Tensor) -> Tensor:
    ...         return super().forward(x) / 2
    >>> asks_for_copy(nn.Sequential(nn.Linear(2, 3), nn.ReLU())), asks_for_copy(nn.Sequential(Halved(2, 3)))
    (True, False)
    >>> Halved.fast_copy = True
    >>> asks_for_copy(nn.Sequential(Halved(2, 3)))
    True
    """
    return all(
        vars(module).get("fast_copy", vars(type(module)).get("fast_copy", type(module) in LAYERS)) is True
        for module in base.modules()
    )


def mixed(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager[Any]:
    """Enter mixed precision of that dtype, or nothing if it is None."""
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype)


@torch.inference_mode()  # as it will be called: a base may ask whether gradients are wanted
def _traced(base: nn.Module, channels_last: bool) -> fx.GraphModule:
    network = fx.symbolic_trace(copy.deepcopy(base).eval().requires_grad_(False))
    _fold(network)
    if channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def _fold(network: fx.GraphModule) -> None:
    """Multiply every batch norm that alone reads a convolution's output into that convolution, whose own weights
    nothing reads."""
    calls = Counter(node.target for node in network.graph.nodes if node.op == "call_module")
    read = {str(node.target).rpartition(".")[0] for node in network.graph.nodes if node.op == "get_attr"}
    for node in list(network.graph.nodes):
        before = node.args[0] if node.args else None
        if not (_is(network, node, nn.BatchNorm2d) and isinstance(before, fx.Node) and _is(network, before, nn.Conv2d)):
            continue
        norm: Any = network.get_submodule(str(node.target))
        convolution: Any = network.get_submodule(str(before.target))
        alone = len(before.users) == 1 == calls[before.target] and before.target not in read
        if norm.running_mean is not None and alone:
            network.set_submodule(str(before.target), fuse_conv_bn_eval(convolution, norm))
            node.replace_all_uses_with(before)
            network.graph.erase_node(node)
    network.delete_all_unused_submodules()
    network.recompile()


def _is(network: fx.GraphModule, node: fx.Node, kind: type[nn.Module]) -> bool:
    """Return whether a node calls a module of exactly this class: a subclass may compute something else."""
    return node.op == "call_module" and type(network.get_submodule(str(node.target))) is kind


def _writes(network: nn.Module, other: Tensor) -> bool:
    """Return whether a call leaves anything behind in the network's own tensors, which threads would share."""
    own = [*network.parameters(), *network.buffers()]
    kept = [tensor.clone() for tensor in own]
    _answer(network, other)
    return not all(map(torch.equal, own, kept))


def _hooked(base: nn.Module) -> bool:
    """Return whether there is Python code that a trace would drop, or that the copy would share: hooks of a module, or
    of all modules, a `forward` that is not of the module's class, or another way into the base."""
    every = torch.nn.modules.module
    if every._global_forward_hooks or every._global_forward_pre_hooks or type(base).__call__ is not nn.Module.__call__:
        return True
    return any(
        module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module) for module in base.modules()
    )


def _state(base: nn.Module) -> tuple[Any, ...]:
    """Return all that a module's function depends on by itself: submodules, code, parameters, buffers and other
    attributes. What is shared comes under each of its names."""
    return tuple(
        (path, module, type(module).forward, {name: vars(module)[name] for name in vars(module) if name not in _INSIDE})
        for path, module in base.named_modules(remove_duplicate=False)
    )


def _kept(value: Any) -> Any:
    """Return a copy that stays as it is when `value` is changed in place; an object that is no plain data is kept
    itself."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _kept(part) for key, part in value.items()}
    return type(value)(map(_kept, value)) if type(value) in (list, tuple, set) else value


def _same(kept: Any, value: Any) -> bool:
    """Return whether a value is what was kept of it; of an object that is no plain data, whether it is the same one."""
    if isinstance(kept, Tensor):
        same = isinstance(value, Tensor) and kept.device == value.device and kept.dtype == value.dtype
        return same and torch.equal(kept, value)
    if isinstance(kept, np.ndarray):
        return isinstance(value, np.ndarray) and kept.dtype == value.dtype and np.array_equal(kept, value)
    if isinstance(kept, dict):
        return isinstance(value, dict) and kept.keys() == value.keys() and all(_same(kept[k], value[k]) for k in kept)
    if type(kept) in (list, tuple):
        return type(value) is type(kept) and len(kept) == len(value) and all(map(_same, kept, value))
    return kept is value or (type(kept) is type(value) and type(kept) in _PLAIN and bool(kept == value))


@torch.inference_mode()
def _answer(network: nn.Module, example: Tensor) -> Tensor | None:
    out = network(example.clone())  # which a network may use up
    return out if isinstance(out, Tensor) else None


def _close(a: Tensor | None, b: Tensor) -> bool:
    if a is None or a.shape != b.shape:
        return False
    return bool((a.double() - b.double()).abs().max() <= _CLOSE * a.double().abs().max().clamp(min=1e-3))


def _rows(example: Tensor, largest: int) -> int:
    """Return the power of two at which what takes `largest` bytes for the example is as large as a batch should make
    it."""
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
