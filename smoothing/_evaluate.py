"""Evaluating a base function on all samples of a batch: the loop that every smoothed function shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from smoothing._arrays import FromArrays
from smoothing._errors import SchemeError, VoteError
from smoothing._noise import Noise
from smoothing._progress import progress_bar
from smoothing._quantize import Images, levels
from smoothing._scheme import Scheme


class Smoothed(nn.Module):
    """A base function with a scheme, and how to run it.

    `base` maps float32 inputs [n, planes * shape[0], *shape[1:]] in [0,1] to outputs [n, classes]; what it does with
    them (normalisation included) cannot touch the guarantee, as long as it is a function of that input alone.

    `batch_size` is the number of (image, sample) pairs in one call of the base, `memory` (bytes) bounds the tensors of
    the noise and may make batches smaller, `autocast` is the dtype of mixed precision (None: as the base is), and
    `channels_last` how inputs of three axes are stored. None of these is part of the smoothed function, but they move
    the last bits of the outputs: see `smoothing.measure_jitter`.
    """

    def __init__(
        self,
        base: nn.Module,
        scheme: Scheme,
        classes: int,
        *,
        batch_size: int = 256,
        memory: int = 2**28,
        autocast: torch.dtype | None = None,
        channels_last: bool = True,
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise VoteError(f"batch_size = {batch_size}: at least one (image, sample) pair is evaluated at a time")
        if isinstance(base, FromArrays) and scheme.representation != "upper_lower":
            raise SchemeError(f"representation {scheme.representation}: a function of arrays reads upper_lower")
        self.base = base
        self.scheme = scheme
        self.classes = classes
        self.batch_size = batch_size
        self.memory = memory
        self.autocast = autocast
        self.channels_last = channels_last
        self._made: Noise | None = None

    @property
    def device(self) -> torch.device:
        """Where the base is: the device of its first parameter, the CPU if it has none."""
        return next((p.device for p in self.base.parameters()), torch.device("cpu"))

    @property
    def noise(self) -> Noise:
        """The scheme's noise on the base's device."""
        if self._made is None or self._made.device != self.device:
            self._made = Noise(self.scheme, self.device, self.memory)
        return self._made

    def levels(self, x: Images) -> Tensor:
        """`x` as levels 0..q on the base's device; see `smoothing.levels` for what is accepted."""
        return levels(x, self.scheme.q, self.scheme.shape).to(self.device)

    @property
    def group(self) -> int:
        """How many images share a batch: 1, or as many as fit `batch_size` with all their samples."""
        return max(1, min(self.batch_size, self.noise.chunk) // self.scheme.samples)

    def outputs(
        self, x: Tensor, samples: Sequence[int] | None = None, progress: bool = False
    ) -> Iterator[tuple[slice, slice, Tensor]]:
        """(images, samples, outputs [n, s, classes]) batch by batch, in order; the slices index `x` and `samples`.

        Batches depend on nothing but sizes, and the samples of an image are never mixed with half of another's.
        """
        chosen = torch.as_tensor(np.arange(self.scheme.samples) if samples is None else np.asarray(samples))
        rows = min(self.batch_size, self.noise.chunk)
        step = min(rows, max(1, len(chosen)))
        images = max(1, rows // max(1, len(chosen)))
        total = len(x) * len(chosen)
        with evaluating(self.base), progress_bar(total, "samples", progress) as advance:
            for i in range(0, len(x), images):
                part = x[i : i + images]
                for t in range(0, len(chosen), step):
                    wanted = chosen[t : t + step]
                    out = self.evaluate(self.noise.inputs(part, wanted, self.channels_last).flatten(0, 1))
                    yield slice(i, i + len(part)), slice(t, t + len(wanted)), out.view(len(part), len(wanted), -1)
                    advance(len(out))

    def evaluate(self, shown: Tensor) -> Tensor:
        """The base's outputs [n, classes] for inputs that the noise has made, without gradients."""
        with torch.inference_mode(), torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
            out = self.base(shown)
        if not isinstance(out, Tensor) or tuple(out.shape) != (len(shown), self.classes):
            raise VoteError(
                f"the base gave {tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__} for an input of "
                f"shape {tuple(shown.shape)}; it must give one row of {self.classes} numbers an input"
            )
        return out


@contextmanager
def evaluating(base: nn.Module) -> Iterator[None]:
    """The base in evaluation mode; every submodule's own mode is restored after."""
    modes = [(module, module.training) for module in base.modules()]
    base.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
