"""What certificates cost next to the votes they come from: `python benchmarks/bench_certificates.py`.

One thread; CIFAR-sized images (3x32x32, q = 255), 10 classes, votes with a realistic spread. `share` is the time of
the certificate divided by the time that a small network needs to vote on the same image, measured in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from ecm import ECM
from ecm._design import Design
from smoothing import Certifier, Scheme, SmoothedClassifier
from smoothing._certificates._certify import Method
from smoothing._early import decide

SHAPE, CLASSES, VOTED = (3, 32, 32), 10, 1152


def small_network() -> nn.Module:
    """Three convolutions, about a millisecond an image on one core."""
    layers: list[nn.Module] = []
    for a, b in ((6, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(a, b, 3, stride=2 if b > 32 else 1, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def schemes() -> dict[str, Scheme]:
    """Budgets from small to the paper's, all for l_1/2 with alpha = 18."""
    metric = ECM.lp("1/2", 18)
    weights = dict(ECM.lp("1/2").allocate(1000, 255).weights)
    paper = Design.from_weights(metric, weights, 255, 18000)
    return {
        "aperiodic B = 64 alpha": Scheme(metric.design(64 * 18, 255), SHAPE),
        "periodic B = 1000 alpha": Scheme(paper, SHAPE),
        "the same, one offset a pixel": Scheme(paper, SHAPE, pixel=True),
    }


def measure(name: str, scheme: Scheme, rng: np.random.Generator) -> None:
    """Print the rows of one scheme."""
    images = rng.integers(0, 256, size=(8, *SHAPE)).astype(np.uint8)
    voter = SmoothedClassifier(small_network().eval(), scheme, CLASSES)
    batch = torch.from_numpy(images[:1])
    voting = seconds(partial(voter.votes, batch, range(VOTED)), 3) * scheme.samples / VOTED
    shares = [np.sort(rng.dirichlet(np.full(CLASSES, 0.4)))[::-1] for _ in images]
    votes = [rng.choice(CLASSES, size=scheme.samples, p=p).astype(np.uint8) for p in shares]
    print(f"{name}: voting takes {voting:.2f} s an image ({1000 * voting / scheme.samples:.2f} ms a sample)")
    methods: tuple[Method, ...] = ("paper", "integer", "vote_aware")
    for method in methods:
        certifier = Certifier(scheme, CLASSES, method)
        first = seconds(partial(certifier, votes[0], images[0]), 1)
        times = [seconds(partial(certifier, v, x), 3) for v, x in zip(votes, images, strict=True)]
        radius = np.mean([certifier(v, x).lp_radius() or 0.0 for v, x in zip(votes, images, strict=True)])
        typical = statistics.median(times)
        print(
            f"  {method:<11} {1000 * typical:8.2f} ms (worst {1000 * max(times):.0f}, first image {1000 * first:.0f})"
            f"   share {typical / voting:.4f}   mean l_1/2 radius {radius:.3f}"
        )
    used = []
    for v in votes:
        chunks = (v[i : i + 64] for i in range(0, len(v), 64))
        used.append(decide(chunks, scheme, CLASSES, lambda ball: ball.covers_lp(1)).evaluated)
    print(f"  early stop at l_1/2 radius 1: {np.mean(used) / scheme.samples:.2f} of the samples on average")


def main() -> None:
    """All schemes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    for name, scheme in schemes().items():
        measure(name, scheme, rng)


if __name__ == "__main__":
    main()
