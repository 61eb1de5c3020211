"""What the noise adds to a forward pass, and how much memory it takes: `python benchmarks/bench_noise.py`.

Noise and forward pass are measured in turn, in one run, on the same batch; `ratio` is noise over forward, of the
processor time (all threads; other work on the machine hardly moves it) and of the wall time, medians over the rounds.
Targets: at most 0.05 for a WideResNet-40-2, at most 0.15 for a small network.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import torch

from ecm import ECM
from smoothing import Noise, Scheme, SmoothedClassifier, channels
from zoo._models import MODELS

ALPHA = 18


def clock(action: Callable[[], object]) -> tuple[float, float]:
    """(processor, wall) seconds."""
    processor, wall = time.process_time(), time.perf_counter()
    action()
    return time.process_time() - processor, time.perf_counter() - wall


def compare(name: str, scheme: Scheme, label: str, batch: int, rounds: int) -> None:
    """One row: the noise of `batch` samples of one image against the network's forward pass on them."""
    c, *rest = scheme.shape
    network = MODELS[name]((channels(scheme.representation, c), *rest), 10).eval()
    classifier = SmoothedClassifier(network, scheme, 10)
    x = torch.randint(0, scheme.q + 1, (1, *scheme.shape), dtype=torch.uint8)
    noise, shown = classifier.noise, classifier.noise.inputs(x, range(batch), channels_last=True).flatten(0, 1)
    classifier.evaluate(shown)
    added, forward = [], []
    for t in range(rounds):
        first = t * batch % (scheme.samples - batch + 1)
        samples = range(first, first + batch)
        added.append(clock(lambda s=samples: noise.inputs(x, s, channels_last=True)))  # type: ignore[misc]
        forward.append(clock(lambda: classifier.evaluate(shown)))
    (n, n_wall), (f, f_wall) = (
        [statistics.median(part) for part in zip(*pairs, strict=True)] for pairs in (added, forward)
    )
    print(
        f"{label:<34} {name:<16} noise {1e6 * n / batch:7.1f} us  forward {1e6 * f / batch:8.1f} us a sample"
        f"   ratio {n / f:.3f} (wall {n_wall / f_wall:.3f})",
        flush=True,
    )


def memory(scheme: Scheme, limit: int) -> None:
    """The system's word on what a call of the largest chunk takes above what was there."""
    noise = Noise(scheme, memory=limit)
    x = torch.zeros((1, *scheme.shape), dtype=torch.uint8)
    noise.inputs(x, [0], channels_last=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    noise.inputs(x, range(noise.chunk), channels_last=True)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(
        f"memory {scheme.shape} B={scheme.total}: {noise.chunk} samples a call, "
        f"{taken / 2**20:.0f} MiB of {limit / 2**20:.0f} MiB taken"
    )


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    periodic = ECM.lp("1/2", ALPHA).design(1000 * ALPHA, kind="periodic")
    aperiodic = ECM.lp("1/2", ALPHA).design(64 * ALPHA)
    image = (3, 32, 32)
    # first, because it looks at the high-water mark of the process
    memory(Scheme(periodic, (3, 224, 224)), 2**28)
    for label, scheme in {
        "periodic B=18000": Scheme(periodic, image),
        "periodic B=18000, published": Scheme(periodic, image, order="published"),
        "periodic B=18000, global": Scheme(periodic, image, coupling="global"),
        "aperiodic B=1152": Scheme(aperiodic, image),
        "l1 alpha=1, every feature finite": Scheme.l1(1, image),
    }.items():
        batch = min(arguments.batch, scheme.samples)
        for name in ("small_cnn", "wide_resnet40_2"):
            compare(name, scheme, label, batch, arguments.rounds)


if __name__ == "__main__":
    main()
