"""Decision-based attacks of other packages against a certified model: what they find never lies in the certified ball.

They know nothing of the metric, so their finds are also pulled into the ball, as many changes as fit, and voted on.
Install the extra `attacks` (foolbox, adversarial-robustness-toolbox) to run these tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import zoo
from smoothing import Certificate, Certifier, SmoothedClassifier, quantize

IMAGES = [116, 136]  # whose certified radius is nearly reached by our own attack


NAME = "digits-l0.5-a4"


def rounding() -> zoo.Model:
    """The model as other packages expect one: floats in [0, 1] in, which it rounds to levels, class shares out."""
    return zoo.load(NAME, quantize=True).eval()


@pytest.fixture(scope="module")
def target() -> tuple[SmoothedClassifier, Tensor, list[Certificate]]:
    model, data = zoo.load(NAME), zoo.load_data("digits")
    smoothed, levels = model.smoothed(), data.test.take(IMAGES)
    certifier = Certifier(model.scheme, model.classes, rule=smoothed.rule)
    votes = smoothed.rankings(levels)
    return smoothed, levels, [certifier(v, x.numpy()) for v, x in zip(votes, levels, strict=True)]


def pulled_in(x: np.ndarray, y: np.ndarray, ball: Certificate, random: np.random.RandomState) -> np.ndarray:
    """x with as many of the changes of y, in random order, as keep it in the ball."""
    kept = x.copy()
    for feature in random.permutation(np.flatnonzero(x != y)):
        before = kept.flat[feature]
        kept.flat[feature] = y.flat[feature]
        if not ball.contains(x, kept):
            kept.flat[feature] = before
    return kept


def check(target: tuple[SmoothedClassifier, Tensor, list[Certificate]], found: Any) -> None:
    """No find is a counterexample, as it is or pulled into the ball; and the attack did find something."""
    smoothed, levels, balls = target
    adversarial = quantize(torch.as_tensor(np.asarray(found)).float().clamp(0, 1), smoothed.scheme.q)
    classes, random = smoothed.predict(adversarial), np.random.RandomState(0)
    assert (classes != [ball.prediction for ball in balls]).any()
    for x, y, c, ball in zip(levels.numpy().astype(np.int64), adversarial.numpy(), classes, balls, strict=True):
        assert c == ball.prediction or not ball.contains(x, y)
        near = np.stack([pulled_in(x, y.astype(np.int64), ball, random) for _ in range(8)])
        assert all(ball.contains(x, one) for one in near)
        assert (smoothed.predict(near) == ball.prediction).all()


FOOLBOX: dict[str, Callable[[Any], Any]] = {
    "boundary": lambda fa: fa.BoundaryAttack(init_attack=fa.SaltAndPepperNoiseAttack(steps=40), steps=15),
    "salt and pepper": lambda fa: fa.SaltAndPepperNoiseAttack(steps=40),
    "blended noise": lambda fa: fa.LinearSearchBlendedUniformNoiseAttack(steps=20, directions=5),
}


@pytest.mark.parametrize("name", FOOLBOX)
def test_foolbox(name: str, target: tuple[SmoothedClassifier, Tensor, list[Certificate]]) -> None:
    """foolbox's decision-based attacks."""
    foolbox = pytest.importorskip("foolbox")
    _, levels, balls = target
    wrapped = foolbox.PyTorchModel(rounding(), bounds=(0, 1))
    labels = torch.tensor([ball.prediction for ball in balls])
    torch.manual_seed(0)
    np.random.seed(0)
    _, clipped, _ = FOOLBOX[name](foolbox.attacks)(wrapped, levels.float() / 16, labels, epsilons=None)
    check(target, clipped)


def test_art_hop_skip_jump(target: tuple[SmoothedClassifier, Tensor, list[Certificate]]) -> None:
    """HopSkipJump of the Adversarial Robustness Toolbox."""
    pytest.importorskip("art")
    from art.attacks.evasion import HopSkipJump
    from art.estimators.classification import PyTorchClassifier

    _, levels, balls = target
    wrapped = PyTorchClassifier(
        rounding(), nn.CrossEntropyLoss(), (1, 8, 8), 10, clip_values=(0.0, 1.0), device_type="cpu"
    )
    np.random.seed(0)
    attack = HopSkipJump(wrapped, max_iter=2, max_eval=30, init_eval=5, init_size=30, verbose=False)
    labels = np.eye(10, dtype=np.float32)[[ball.prediction for ball in balls]]
    check(target, attack.generate(levels.numpy().astype(np.float32) / 16, labels))
