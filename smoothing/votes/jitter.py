"""How far the same input's logits move on this machine, and the tolerance that follows."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from smoothing.errors import VoteError
from smoothing.scheme import Images
from smoothing.votes.classifier import SmoothedClassifier
from smoothing.votes.evaluation import evaluating


def _copied(moved: Mapping[str, float]) -> dict[str, float]:
    return dict(moved)


@attrs.frozen
class Jitter:
    """Largest change of any one logit between two evaluations of the same input, by what was changed.

    `inputs` is how many were evaluated, `scale` the largest logit among them, `safety` the factor in `tolerance`.

    >>> Jitter({"batch 1": 1e-6, "reversed": 0.0}, inputs=64, scale=3.5, safety=8.0).tolerance
    1.6e-05
    """

    moved: Mapping[str, float] = attrs.field(converter=_copied)
    inputs: int
    scale: float
    safety: float = 8.0

    @property
    def eta(self) -> float:
        """The largest change that was seen, in units of a logit."""
        return max(self.moved.values(), default=0.0)

    @property
    def tolerance(self) -> float:
        """2 * safety * eta, what to pass as `tolerance`. What was measured is a lower bound of the true eta; the safety
        factor is for inputs and batch shapes that were not tried."""
        return 2 * self.safety * self.eta

    def __str__(self) -> str:
        lines = [f"{name:>24}  {value:.2e}" for name, value in self.moved.items()]
        head = f"largest change of a logit over {self.inputs} inputs (logits up to {self.scale:.3g})"
        return "\n".join([head, *lines, f"tolerance {self.tolerance:.2e} = 2 * {self.safety:g} * {self.eta:.2e}"])


def measure_jitter(
    classifier: SmoothedClassifier, x: Images, *, inputs: int = 256, safety: float = 8.0, seed: int = 0
) -> Jitter:
    """Evaluate the base on the same noised inputs in different batches, orders, thread counts and memory formats, and
    as it was given (it is voted by a copy with folded norms).

    `x` are a few images; `inputs` (image, sample) pairs are drawn from them and the scheme with `seed`.

    >>> from smoothing import Scheme
    >>> base = nn.Sequential(nn.Flatten(), nn.Linear(6, 2))
    >>> classifier = SmoothedClassifier(base, Scheme.l1(2, shape=(3,), q=4), classes=2)
    >>> found = measure_jitter(classifier, np.array([[0, 2, 4]]), inputs=16)
    >>> found.inputs, found.tolerance < 1e-3
    (16, True)
    """
    batch = classifier.levels(x)
    if not len(batch) or inputs < 1:
        raise VoteError(f"{len(batch)} images, {inputs} inputs: nothing to measure the jitter on; pass a few")
    rng = np.random.RandomState(seed)
    which = torch.from_numpy(rng.randint(len(batch), size=inputs))
    samples = torch.from_numpy(rng.randint(classifier.scheme.samples, size=inputs))
    shown = classifier.noise.paired(batch[which.to(batch.device)], samples, classifier.channels_last)
    with evaluating(classifier.base):
        prepared = classifier.prepared
        size = min(classifier.batch_size or prepared.rows, inputs)

        def logits(shown: Tensor, size: int = size, network: nn.Module = prepared.network) -> Tensor:
            parts = [classifier.evaluate(shown[i : i + size], network) for i in range(0, len(shown), size)]
            return torch.cat(parts).double()

        reference = logits(shown)
        moved = {f"batch {n}": logits(shown, n) for n in (1, 3, 17, 64, inputs) if n <= inputs}
        moved["reversed order"] = logits(shown.flip(0)).flip(0)
        moved["other memory format"] = logits(
            shown.contiguous() if classifier.channels_last else shown.to(memory_format=_last(shown))
        )
        if prepared.network is not classifier.base:
            moved["norms not folded"] = logits(shown, network=classifier.base)
        if classifier.device.type == "cpu":
            threads = torch.get_num_threads()
            try:
                for count in sorted({1, 2, threads}):
                    torch.set_num_threads(count)
                    moved[f"{count} threads"] = logits(shown)
            finally:
                torch.set_num_threads(threads)
    changes = {name: float((logits - reference).abs().max()) for name, logits in moved.items()}
    if not np.isfinite([*changes.values()]).all():
        raise VoteError("the base gave NaN or infinite logits: their jitter cannot be measured")
    return Jitter(changes, inputs, float(reference.abs().max()), safety)


def _last(shown: Tensor) -> torch.memory_format:
    return torch.channels_last if shown.ndim == 4 else torch.preserve_format
