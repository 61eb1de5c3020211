"""Beginning a training with the weights of finished models: other noise, other metric, even another representation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from smoothing.scheme import Scheme
from zoo.errors import TrainingError
from zoo.models import Base, Model


def take_weights(base: Base, starts: Sequence[Model]) -> None:
    """Put the mean of the weights of all `starts` into `base` (Wortsman et al. 2022 call that a model soup).

    The mean is a good network if they were trained from the same earlier weights. The statistics of batch norms have to
    be estimated again for it.
    """
    states = []
    for start in starts:
        _take(base, start)
        states.append({name: value.clone() for name, value in base.state_dict().items()})
    for name, value in base.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.stack([state[name] for state in states]).mean(0))


def _take(base: Base, start: Model) -> None:
    """Put the weights of `start`, its normalisation included, into `base`, which is of the same network.

    The first layer may read another representation: a kernel over the planes of the old one is summed over them and
    shared evenly by the planes of the new one, so that the network begins with nearly the same function. The
    normalisation is then that of `base`.
    """
    ours, theirs = base.state_dict(), start.base.state_dict()
    if ours.keys() != theirs.keys():
        network = start.card["model"]["name"]
        raise TrainingError(
            f"start = {start.name}: its network {network!r} is not the one to train; leave the model out"
        )
    same = base.mean.shape == start.base.mean.shape
    for name in theirs.keys() - (set() if same else {"mean", "std"}):
        new, old = ours[name], _for_planes(theirs[name], ours[name], start.scheme)
        if old.shape != new.shape:
            raise TrainingError(
                f"start = {start.name}: its {name} has the shape {tuple(old.shape)}, here it is {tuple(new.shape)}; "
                "start from a model for the same data and classes"
            )
        new.copy_(old)


def _for_planes(old: Tensor, new: Tensor, scheme: Scheme) -> Tensor:
    """Return a kernel [out, planes * channels, ...], or a matrix over the planes of all features, for as many planes as
    `new` reads; `old` itself where it is neither."""
    channels = scheme.features if old.ndim == 2 else scheme.shape[0]
    if old.ndim < 2 or old.ndim != new.ndim or old.shape[1] == new.shape[1]:
        return old
    if old.shape[1] % channels or new.shape[1] % channels:
        return old
    planes = new.shape[1] // channels
    summed = old.reshape(len(old), -1, channels, *old.shape[2:]).sum(1)
    return (summed / planes).repeat(1, planes, *[1] * (old.ndim - 2))
