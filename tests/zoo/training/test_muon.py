"""Muon: steps of matrices and kernels are orthogonal and stay in the gradient's own directions; the rest is SGD."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from zoo.training.muon import MATRIX_SHARE, Muon, orthogonal
from zoo.training.optimizer import make_optimizer
from zoo.training.recipe import Recipe


@pytest.mark.parametrize("shape", [(5, 40), (40, 5), (12, 12), (1, 7), (7, 1)])
def test_singular_values_become_one_and_vectors_stay(shape: tuple[int, int]) -> None:
    """M = U S V^T becomes U S' V^T with S' close to 1 (times sqrt(rows/columns) where there are more rows)."""
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    found = orthogonal(matrix)
    scale = max(1, shape[0] / shape[1]) ** 0.5
    values = torch.linalg.svdvals(found) / scale
    # the iteration lifts the smallest values of a square matrix least
    assert values.max() < 1.3
    assert values.max() > 0.6
    if shape[0] != shape[1]:
        assert values.min() > 0.6
    for product in (matrix.T @ found, matrix @ found.T):
        assert torch.allclose(product, product.T, atol=1e-3)
    assert (matrix * found).sum() > 0


def test_vectors_are_stepped_as_by_sgd_and_matrices_by_their_share() -> None:
    """Three steps of one network with the same gradients."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))
    twin = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))
    twin.load_state_dict(network.state_dict())
    ours = make_optimizer(network, Recipe(epochs=1, optimizer="muon", weight_decay=0.0))
    theirs = make_optimizer(twin, Recipe(epochs=1, weight_decay=0.0))
    assert isinstance(ours, Muon)
    assert not isinstance(theirs, Muon)
    for _ in range(3):
        before = [parameter.detach().clone() for parameter in network.parameters()]
        for one, other in zip(network.parameters(), twin.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        ours.step()
        theirs.step()
        for old, one, other in zip(before, network.parameters(), twin.parameters(), strict=True):
            if one.ndim == 1:
                assert torch.allclose(one, other)
            else:
                moved = (one - old).detach().flatten(1)
                assert 0.5 < torch.linalg.matrix_norm(moved, 2) / (0.2 * MATRIX_SHARE) < 1.3
