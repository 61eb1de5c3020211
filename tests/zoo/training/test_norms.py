"""Statistics of batch norms that are estimated again for the averaged weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import zoo
from smoothing.scheme import Noise
from zoo.training.samples import draw_samples


class Normed(nn.Module):
    """A batch norm alone between the image and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.head = nn.BatchNorm2d(2), nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.head(self.norm(x).flatten(1))
        return answer


def _trained(out: Path, **settings: Any) -> zoo.Model:
    torch.manual_seed(0)
    made = {"model": Normed(), "epochs": 1, "budget": 16, "ema": 0.9999, "progress": False}
    return zoo.train("z**0.5/2", "digits", out=out, **made, **settings)


def test_renewed_norms_have_the_statistics_of_noisy_training_images(tmp_path: Path) -> None:
    """With `renew` the mean of a first batch norm is that of its inputs under the noise; the other weights are those
    of a run without it."""
    plain, renewed = _trained(tmp_path / "plain"), _trained(tmp_path / "renewed", renew=True)
    images, noise = zoo.load_data("digits").train, Noise(renewed.scheme)
    shown = noise.paired(images.take(range(len(images))), draw_samples(renewed.scheme, (len(images),), "test", 0))
    inputs = (shown - renewed.base.mean) / renewed.base.std
    norms = [model.base.network.norm for model in (plain, renewed)]
    error = [float((norm.running_mean - inputs.mean((0, 2, 3))).abs().max()) for norm in norms]
    assert error[1] < 0.02
    assert torch.equal(plain.base.network.head.weight, renewed.base.network.head.weight)
    assert not torch.equal(norms[0].running_var, norms[1].running_var)


def test_a_training_starts_from_the_mean_of_several_models(tmp_path: Path) -> None:
    """With two starts and no epochs the weights are the mean of theirs, and the card names both."""
    first, second = _trained(tmp_path / "first"), _trained(tmp_path / "second", seed=1)
    settings = {"model": Normed(), "epochs": 0, "budget": 16, "renew": True, "progress": False}
    mean = zoo.train("z**0.5/2", "digits", start=[first, second], out=tmp_path / "mean", **settings)
    parts = [model.base.network.head.weight for model in (first, second)]
    assert not torch.equal(*parts)
    torch.testing.assert_close(mean.base.network.head.weight, (parts[0] + parts[1]) / 2)
    assert mean.card["training"]["start"]["name"] == "first + second"
    assert mean.card["training"]["start"]["weights"] == f"{first.card['weights']} + {second.card['weights']}"
