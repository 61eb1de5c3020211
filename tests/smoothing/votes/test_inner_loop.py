"""Nothing between the first and the last sample waits for the device: it could run on a GPU without a pause.

Two things stand in for a GPU. On the `meta` device tensors have shapes but no numbers, so reading one, a copy to the
host, or a shape that depends on numbers raises. On the CPU every operation is seen by a dispatch mode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import smoothing.scheme.noise
from ecm import ECM
from smoothing import Noise, Scheme, SmoothedClassifier, SmoothedFunction
from smoothing.votes.classifier import cast
from smoothing.votes.evaluation import Smoothed
from smoothing.votes.inference import Prepared

SHAPE = (3, 8, 8)
METRIC = ECM.lp("1/2", 4)
SCHEMES = {
    "spread": Scheme(METRIC.design(48, q=16), SHAPE),
    "published": Scheme(METRIC.design(48, q=16), SHAPE, coupling="independent", order="published"),
    "pixels": Scheme(ECM.l0(4).design(48, q=16), SHAPE, pixel=True),
    "grouped": Scheme(ECM.grouped([METRIC, ECM.l1(4), ECM.l0(4)]).design(48, q=16), SHAPE),
    "global": Scheme.l1(4, SHAPE, q=16, coupling="global"),
    "permutation": Scheme(METRIC.design(48, q=16), SHAPE, coupling="permutation"),
    "large grid": Scheme(METRIC.design(48, q=64), SHAPE),
    "center_error": Scheme(METRIC.design(48, q=16), SHAPE, representation="center_error"),
}
WAITING = {
    "_local_scalar_dense", "item", "is_nonzero", "equal", "allclose",
    "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount", "repeat_interleave",
}  # fmt: skip


class Seen(TorchDispatchMode):
    """Counts the operations that wait for the device or leave it."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        devices = {t.device for t in [*args, result] if isinstance(t, Tensor)}
        if name in WAITING or len(devices) > 1:
            self.counts[name] += 1
        return result


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """A dispatch mode sees the thread that entered it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _large_grid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins found by bisection, as on grids whose table would be too large."""
    if "large grid" in request.node.name:
        monkeypatch.setattr(smoothing.scheme.noise, "_LARGEST_TABLE", 0)


def network(scheme: Scheme) -> nn.Module:
    torch.manual_seed(0)
    width = 3 if scheme.representation == "center" else 6
    return nn.Sequential(
        nn.Conv2d(width, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3), nn.Softmax(dim=1)
    ).eval()


def nowhere(monkeypatch: pytest.MonkeyPatch, scheme: Scheme, kind: type[Smoothed]) -> Smoothed:
    """On the meta device; the base is taken as prepared, since preparing (before the loop) compares numbers."""
    base = network(scheme).to("meta")
    monkeypatch.setattr(Smoothed, "prepared", Prepared(base, True, 7, True))
    return kind(base, scheme, 3)


@pytest.mark.parametrize("case", SCHEMES)
def test_the_loop_needs_no_numbers(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise, network and vote of several batches run where there are no numbers and no way to the host."""
    classifier = nowhere(monkeypatch, SCHEMES[case], SmoothedClassifier)
    x = torch.zeros((3, *SHAPE), dtype=torch.int32, device="meta")
    kept = torch.empty((3, classifier.scheme.samples), dtype=torch.uint8, device="meta")
    assert classifier.noise.device.type == "meta"
    loop = iter(classifier.outputs(x))
    next(loop)  # what is before the loop
    batches = 0
    with Seen() as seen:
        for images, samples, logits in loop:
            kept[images, samples] = cast(logits, 0.1, 255).to(kept.dtype)
            batches += 1
    assert batches >= 5
    assert not seen.counts


@pytest.mark.parametrize("case", SCHEMES)
def test_noise_for_training_needs_no_numbers(case: str) -> None:
    """As the loop of voting, so the noise of a training step, given sample numbers that are on the device."""
    noise = Noise(SCHEMES[case], "meta")
    x = torch.zeros((5, *SHAPE), dtype=torch.uint8, device="meta")
    samples = torch.zeros(5, dtype=torch.int64, device="meta")
    with Seen() as seen:
        shown = noise.paired(x, samples, channels_last=True)
    assert shown.device.type == "meta"
    assert not seen.counts


@pytest.mark.parametrize("kind", [SmoothedClassifier, SmoothedFunction])
def test_what_waits_does_not_grow_with_the_samples(kind: type[Smoothed]) -> None:
    """A call waits a few times before and after its loop, however many batches there are."""
    scheme = SCHEMES["spread"]
    x = torch.zeros((2, *SHAPE), dtype=torch.uint8)
    counts = []
    for rows in (48, 4):
        classifier = kind(network(scheme), scheme, 3, batch_size=rows)
        classifier(x)
        with Seen() as seen:
            classifier(x)
        counts.append(seen.counts)
    assert counts[0] == counts[1]
    assert counts[0].total() <= 20


class Peeking(nn.Module):
    """Reads a number in every forward pass."""

    def __init__(self, peek: Any) -> None:
        super().__init__()
        self.inner, self.peek = network(SCHEMES["spread"]), peek

    def forward(self, x: Tensor) -> Tensor:
        self.peek(x)
        return self.inner(x)


PEEKS = {
    "item": lambda x: x.sum().item(),
    "cpu": lambda x: x.cpu(),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0.5],
    "condition": lambda x: 1 if x.sum() > 0 else 0,
}


@pytest.mark.parametrize("case", PEEKS)
def test_a_peek_is_found(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The meta device stops what waits for numbers, so the tests above can fail."""
    base = Peeking(PEEKS[case]).eval().to("meta")
    monkeypatch.setattr(Smoothed, "prepared", Prepared(base, True, 7, True))
    classifier = SmoothedClassifier(base, SCHEMES["spread"], 3)
    with pytest.raises((RuntimeError, NotImplementedError)):
        list(classifier.outputs(torch.zeros((1, *SHAPE), dtype=torch.uint8, device="meta")))


def test_a_peek_is_counted() -> None:
    """On the CPU a number read in every batch makes the count grow with the batches."""
    scheme = SCHEMES["spread"]
    counts = []
    for rows in (48, 4):
        classifier = SmoothedClassifier(Peeking(PEEKS["item"]), scheme, 3, batch_size=rows)
        with Seen() as seen:
            classifier.votes(torch.zeros((1, *SHAPE), dtype=torch.uint8))
        counts.append(seen.counts.total())
    assert counts[1] >= counts[0] + 11
