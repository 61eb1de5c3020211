"""The learning rate, the optimizer without decay on norms and biases, and the averaged weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo.training.muon import Muon
from zoo.training.recipe import Recipe


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """Return the rate of step `step` of `steps`: a straight line up, then a straight line or half a cosine down.

    >>> recipe = Recipe(epochs=1, lr=1.0, warmup=0.5)
    >>> [round(learning_rate(recipe, step, 8), 3) for step in range(8)]
    [0.25, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    rise = round(recipe.warmup * steps)
    if step < rise:
        return recipe.lr * (step + 1) / rise
    done = (step - rise) / max(1, steps - rise)
    left = 1 - done if recipe.schedule == "one_cycle" else (1 + math.cos(math.pi * done)) / 2
    return recipe.lr * (recipe.final + (1 - recipe.final) * left)


def make_optimizer(module: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimizer; weight decay on matrices and kernels only (a norm's scale or a bias has one
    axis)."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    nesterov = recipe.nesterov and recipe.momentum > 0
    kind = Muon if recipe.optimizer == "muon" else torch.optim.SGD
    return kind(groups, lr=recipe.lr, momentum=recipe.momentum, nesterov=nesterov)


class Average:
    """Exponential moving average of a module's floating-point state (weights and running statistics).

    The decay of step k is min(decay, (1 + k)/(10 + k)), so that the start is forgotten.
    With decay 0 the average is the module itself.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        self.live = {name: value for name, value in module.state_dict().items() if value.is_floating_point()}
        self.state: dict[str, Tensor] = (
            {name: value.clone() for name, value in self.live.items()} if decay else self.live
        )

    @torch.no_grad()
    def update(self, step: int) -> None:
        if self.decay:
            share = 1 - min(self.decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.state.values()), list(self.live.values()), share)
