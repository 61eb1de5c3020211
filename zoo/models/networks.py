"""Networks by name, a user's own, and the normalisation that belongs to a representation."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx, nn

from ecm.spelling import closest, spelled
from zoo.data import torchvision
from zoo.errors import ModelError
from zoo.models.small_cnn import SmallCNN
from zoo.models.wide_resnet import WideResNet
from zoo.names import default_model

__all__ = ["MODELS", "Base", "build_network", "default_model", "require_fit"]

Shape = tuple[int, ...]


def _small_cnn(shape: Shape, classes: int) -> nn.Module:
    return SmallCNN(shape, classes)


def _medium_cnn(shape: Shape, classes: int) -> nn.Module:
    return SmallCNN(shape, classes, widths=(64, 160, 256))


def _deep_cnn(shape: Shape, classes: int) -> nn.Module:
    return SmallCNN(shape, classes, widths=(48, 128, 160), depths=(1, 2, 2))


def _large_cnn(shape: Shape, classes: int) -> nn.Module:
    return SmallCNN(shape, classes, widths=(48, 144, 224), depths=(1, 3, 2))


def _wide_resnet40_2(shape: Shape, classes: int) -> nn.Module:
    return WideResNet(shape[0], classes)


def _resnet(name: str) -> Callable[[Shape, int], nn.Module]:
    def build(shape: Shape, classes: int) -> nn.Module:
        network: nn.Module = getattr(torchvision("models"), name)(num_classes=classes)
        if shape[-1] <= 64:  # the usual stem for small images: no early loss of resolution
            network.conv1 = nn.Conv2d(shape[0], 64, 3, padding=1, bias=False)
            network.maxpool = nn.Identity()
        else:
            network.conv1 = nn.Conv2d(shape[0], 64, 7, 2, padding=3, bias=False)
        for module in network.modules():
            module.fast_copy = True  # type: ignore[assignment]  # torchvision's ResNets keep the promise, too
        return network

    return build


def _mlp(shape: Shape, classes: int) -> nn.Module:
    width = 256
    layers: list[nn.Module] = [nn.Flatten(), nn.Linear(math.prod(shape), width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))


MODELS: dict[str, Callable[[Shape, int], nn.Module]] = {
    "small_cnn": _small_cnn,
    "medium_cnn": _medium_cnn,
    "deep_cnn": _deep_cnn,
    "large_cnn": _large_cnn,
    "wide_resnet40_2": _wide_resnet40_2,
    "resnet18": _resnet("resnet18"),
    "resnet50": _resnet("resnet50"),
    "mlp": _mlp,
}


def build_network(
    model: str | nn.Module | Callable[[int, int], nn.Module], shape: Shape, classes: int
) -> tuple[str, nn.Module]:
    """Return a name for the card and the network for what a representation shows, of shape (channels, H, W) or
    (columns,).

    `model` is a name in `MODELS`, a module (a copy is taken: the user's stays as it is, for another run too), or a
    factory `fn(in_channels, num_classes)`, or one with timm's names, `fn(in_chans=..., num_classes=...)`, such as
    `functools.partial(timm.create_model, "resnet18")`.

    >>> name, network = build_network("mlp", (24,), 3)
    >>> name, tuple(network(torch.zeros(5, 24)).shape)
    ('mlp', (5, 3))
    """
    if isinstance(model, nn.Module):
        name = type(model).__name__
        try:
            return name, copy.deepcopy(model)
        except Exception as error:  # whatever a module of the user's own may hold
            raise ModelError(f"the network {name} cannot be copied ({error}): pass a function that makes it") from error
    if callable(model):
        made_by = getattr(model, "func", model)  # of a functools.partial
        name = str(getattr(made_by, "__name__", type(model).__name__))
        given, named = _arguments(model, name, shape[0], classes)
        made = model(*given, **named)
        if not isinstance(made, nn.Module):
            raise ModelError(f"the factory {name} gave a {type(made).__name__}: it must return a torch.nn.Module")
        return name, made
    model = spelled(str(model), MODELS)
    if model not in MODELS:
        close = closest(model, MODELS)
        hint = f" (did you mean {close!r}?)" if close else ""
        raise ModelError(f"model {model!r} is unknown{hint}. Known: {', '.join(MODELS)}; or pass a torch.nn.Module")
    if len(shape) == 1 and model != "mlp":
        raise ModelError(f"model {model!r} reads images, but the data are rows of {shape[0]} numbers; use 'mlp'")
    return model, MODELS[model](shape, classes)


def _arguments(
    factory: Callable[..., nn.Module], name: str, channels: int, classes: int
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return how a factory is called: `fn(in_channels, num_classes)`, or by the names that timm has for the two."""
    signature = inspect.signature(factory)
    by_name = {"in_chans": channels, "num_classes": classes}
    parameters = signature.parameters
    for given, named in (((), by_name), ((channels, classes), {})):
        if named and not parameters.keys() & {"in_chans", "pretrained"}:
            continue
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            reason = error
            continue
        return given, named
    raise ModelError(
        f"the factory {name} cannot be called as {name}({channels}, {classes}) ({reason}): pass a function "
        f"fn(in_channels, num_classes), such as lambda channels, classes: {name}(...), or one with timm's arguments "
        "in_chans and num_classes"
    ) from reason


@torch.no_grad()
def require_fit(name: str, network: nn.Module, shape: Shape, classes: int) -> None:
    """The network reads what is shown and answers with one number per class, and there is something in it to train.

    >>> require_fit("Linear", nn.Linear(6, 5), (6,), 2)
    Traceback (most recent call last):
        ...
    zoo.errors.ModelError: the network Linear maps (2, 6) to (2, 5), not to (2, 2): ...
    """
    training = network.training
    wanted = f"a network for these data reads {shape[0]} channels or columns and gives {classes} numbers per input"
    place = next((parameter.device for parameter in network.parameters()), None)
    for count in (2, 1):  # one alone: a norm of batch statistics cannot answer, nor is it a function of its input
        given = (count, *shape)
        try:
            answer = network.eval()(torch.zeros(given, device=place))
        except Exception as error:  # whatever a network of the user's own may raise
            raise ModelError(f"the network {name} cannot read inputs of shape {given} ({error}): {wanted}") from error
        finally:
            network.train(training)
        found = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        if found != (count, classes):
            raise ModelError(f"the network {name} maps {given} to {found}, not to {(count, classes)}: {wanted}")
        if not bool(answer.isfinite().all()):
            raise ModelError(f"the network {name} answers zeros with NaN or infinity: its weights are damaged")
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ModelError(f"the network {name} has nothing to train: no parameter of it requires a gradient")


class Base(nn.Module):
    """The base classifier: shown values -> normalised -> network -> logits.

    `mean` and `std` belong to the channels of the representation under the noise, not to the clean images, and are
    saved with the weights.
    """

    mean: Tensor
    std: Tensor
    fast_copy = True  # of this `forward`; the network speaks for itself

    def __init__(self, network: nn.Module, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, shown: Tensor) -> Tensor:
        """Return the logits of what the noise shows, [N, channels, ...], in the precision of the weights."""
        if not torch.compiler.is_compiling():
            self._require_shown(shown)
        logits: Tensor = self.network((shown.to(self.mean.dtype) - self.mean) / self.std)
        return logits

    def _require_shown(self, shown: Any) -> None:
        if isinstance(shown, fx.Proxy):  # a trace has no shapes to ask for
            return
        floats = isinstance(shown, Tensor) and shown.is_floating_point()
        if floats and not self.mean.ndim:  # one mean for all channels fits every shape
            return
        if floats and shown.ndim == 1 + self.mean.ndim and shown.shape[1] == self.mean.shape[0]:
            return
        given = f"{shown.dtype} of shape {tuple(shown.shape)}" if hasattr(shown, "shape") else type(shown).__name__
        raise ModelError(
            f"the base classifier was given {given}, an image perhaps. It reads what "
            f"the noise shows: floats in [0, 1] of shape (N, {self.mean.shape[0]}{', H, W' * (self.mean.ndim == 3)}), "
            "the planes of the representation. Call the model itself, model(x), for the smoothed class shares of "
            "images; model.smoothed().noise.inputs(levels, samples) makes inputs of the base"
        )

    @staticmethod
    def statistics(shown: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of each channel (axis 1), shaped to broadcast; a constant channel gets std
        1."""
        axes = [0, *range(2, shown.ndim)]
        mean, std = shown.mean(axes, keepdim=True)[0], shown.std(axes, keepdim=True)[0]
        return mean, torch.where(std > 1e-4, std, torch.ones_like(std))
