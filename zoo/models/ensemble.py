"""Several base classifiers with one vote: the mean of their logits varies less than each of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.errors import ModelError
from zoo.models.networks import MODELS, Base, build_network

ENSEMBLE = "ensemble"  # the name of the network in the card


class Ensemble(nn.Module):
    """Answers with the mean of the logits of its members.

    Its votes agree more often than those of a single network, so that an image is certified at a larger radius (Horvath
    et al. 2022, for Gaussian smoothing). A vote costs as much as all members together.

    >>> net = Ensemble([nn.Linear(2, 3), nn.Linear(2, 3)])
    >>> shown = torch.rand(5, 2)
    >>> torch.equal(net(shown), (net.members[0](shown) + net.members[1](shown)) / 2)
    True
    """

    fast_copy = True  # of this `forward`; the members speak for themselves

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, shown: Tensor) -> Tensor:
        """Return the mean logits of what the noise shows."""
        total = self.members[0](shown)
        for member in self.members[1:]:
            total = total + member(shown)
        mean: Tensor = total / len(self.members)
        return mean


def join(bases: Sequence[nn.Module]) -> Base:
    """Return one base classifier that answers with the mean of copies of these; each of them normalises for itself."""
    return Base(Ensemble([copy.deepcopy(base) for base in bases]), *unchanged())


def unchanged() -> tuple[Tensor, Tensor]:
    """Return the mean and the deviation by which an ensemble normalises: its members do that, each for itself."""
    return torch.tensor(0.0), torch.tensor(1.0)


def build_ensemble(made: dict[str, Any]) -> nn.Module:
    """Return the network that the card of an ensemble describes, with new weights."""
    unknown = [name for name in made["members"] if name not in MODELS]
    if unknown or not made["members"]:
        raise ModelError(f"an ensemble of {made['members']!r}: its members must be networks of the package")
    shape, classes = tuple(made["input_shape"]), made["classes"]
    axes = (shape[0], *[1] * (len(shape) - 1))
    networks = (build_network(name, shape, classes)[1] for name in made["members"])
    return Ensemble([Base(network, torch.zeros(axes), torch.ones(axes)) for network in networks])
