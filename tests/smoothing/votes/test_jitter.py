"""The tolerance covers what was seen, and a classifier that uses it votes the same whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from smoothing import Scheme, SmoothedClassifier, VoteError, measure_jitter


class Noisy(nn.Module):
    """Logits that depend on the size of the batch, as those of real kernels do in their last bits."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x.flatten(1).sum(dim=1), torch.full((len(x),), 0.01 * (len(x) == 3))], dim=1)


def classifier(base: nn.Module) -> SmoothedClassifier:
    return SmoothedClassifier(base, Scheme.l1(4, (1, 4, 4), q=16), 2)


def images() -> Tensor:
    return torch.from_numpy(np.random.RandomState(0).randint(17, size=(3, 1, 4, 4)))


def test_the_jitter_is_found() -> None:
    """A logit that moves by 0.01 in batches of three is noticed, and the tolerance is at least twice that."""
    jitter = measure_jitter(classifier(Noisy()), images(), inputs=30)
    assert jitter.moved["batch 3"] == pytest.approx(0.01)
    assert jitter.eta >= 0.01 - 1e-9
    assert jitter.tolerance >= 2 * jitter.eta
    assert "batch 3" in str(jitter)


def test_a_network_votes_alike_up_to_unsure() -> None:
    """With the proposed tolerance, sure votes of different batch sizes agree."""
    torch.manual_seed(0)
    base = nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    threads = torch.get_num_threads()
    jitter = measure_jitter(classifier(base), images(), inputs=64)
    assert torch.get_num_threads() == threads
    assert 0 <= jitter.tolerance < 1e-3
    cast = [
        SmoothedClassifier(base, classifier(base).scheme, 2, tolerance=jitter.tolerance, batch_size=size).votes(
            images()
        )
        for size in (1, 7, 500)
    ]
    for a in cast:
        for b in cast:
            sure = (a != 255) & (b != 255)
            assert np.array_equal(a[sure], b[sure])


def test_nonsense_is_refused() -> None:
    """NaN logits and no images raise."""
    with pytest.raises(VoteError, match="0 images"):
        measure_jitter(classifier(Noisy()), images()[:0])
    with pytest.raises(VoteError, match="0 inputs"):
        measure_jitter(classifier(Noisy()), images(), inputs=0)
    broken = nn.Sequential(nn.Flatten(), nn.Linear(32, 2))
    nn.init.constant_(broken[1].weight, float("nan"))
    with pytest.raises(VoteError, match="NaN"):
        measure_jitter(classifier(broken), images())
