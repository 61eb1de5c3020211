"""Evaluating a base function on all samples of a batch: the loop that every smoothed function shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecm.progress import ProgressBar
from smoothing.errors import SchemeError, VoteError
from smoothing.scheme import Images, Noise, Scheme, levels
from smoothing.votes.arrays import FromArrays
from smoothing.votes.inference import Prepared, mixed, prepare
from smoothing.votes.threads import in_order

_FAR = 0.1  # of the largest logit


class Smoothed(nn.Module):
    """A base function with a scheme, and how to run it.

    `base` maps float32 inputs [n, planes * shape[0], *shape[1:]] in [0,1] to outputs [n, classes]; what it does with
    them (normalisation included) cannot touch the guarantee, as long as it is a function of that input alone.
    A base in another precision (`.half()`, `.bfloat16()`, `.double()`) gets its inputs rounded to that precision, and
    its outputs are compared exactly. That is another classifier, with votes of its own: near-ties are more
    frequent in half precision, so measure the tolerance again.

    `batch_size` is the number of (image, sample) pairs in one call of the base (None: what suits its activations),
    `memory` (bytes) bounds the tensors of the noise and may make batches smaller, `autocast` is the dtype of mixed
    precision (None: as the base is), and `channels_last` how inputs of three axes are stored. None of these is part of
    the smoothed function, but they move the last bits of the outputs: see `smoothing.measure_jitter`.

    A base of plain layers, or one that says `fast_copy = True` (see `inference.py`), is called by a copy that computes
    the same faster, on a CPU in as many threads as PyTorch may use, each with batches of its own; any other base is
    called itself, one batch after the other.
    """

    def __init__(
        self,
        base: nn.Module,
        scheme: Scheme,
        classes: int,
        *,
        batch_size: int | None = None,
        memory: int = 2**28,
        autocast: torch.dtype | None = None,
        channels_last: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(base, nn.Module):
            raise VoteError(f"base = {base!r} is no torch.nn.Module: FromArrays makes one of a function of arrays")
        if not isinstance(scheme, Scheme):
            raise SchemeError(f"scheme = {scheme!r} is no Scheme: write Scheme(metric.design(budget), shape)")
        if not isinstance(classes, int | np.integer) or classes < 1:
            raise VoteError(f"classes = {classes!r}: how many numbers the base gives an input, 1 or more")
        if batch_size is not None and batch_size < 1:
            raise VoteError(f"batch_size = {batch_size}: at least one (image, sample) pair is evaluated at a time")
        if isinstance(base, FromArrays) and scheme.representation != "upper_lower":
            raise SchemeError(f"representation {scheme.representation}: a function of arrays reads upper_lower")
        self.base = base
        self.scheme = scheme
        self.classes = int(classes)
        self.batch_size = batch_size
        self.memory = memory
        self.autocast = autocast
        self.channels_last = channels_last
        self._made: Noise | None = None
        self._copy: Prepared | None = None

    @property
    def device(self) -> torch.device:
        """Device of the base: that of its first parameter, or the CPU if it has none."""
        return next((p.device for p in self.base.parameters()), torch.device("cpu"))

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the base: that of its first floating-point parameter, or float32 if it has none."""
        return next((p.dtype for p in self.base.parameters() if p.is_floating_point()), torch.float32)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made again from the base and the scheme: a copy, or a worker process, makes its own."""
        return {**self.__dict__, "_made": None, "_copy": None}

    @property
    def noise(self) -> Noise:
        """The scheme's noise on the base's device."""
        if self._made is None or self._made.device != self.device:
            self._made = Noise(self.scheme, self.device, self.memory)
        return self._made

    def levels(self, x: Images) -> Tensor:
        """Return `x` as levels 0..q on the base's device; see `smoothing.levels` for what is accepted."""
        return levels(x, self.scheme.q, self.scheme.shape).to(self.device)

    @property
    def prepared(self) -> Prepared:
        """The base as it is called; made anew when the base or its weights have changed.

        A batch is cut as it suits, so a base whose rows depend on each other is refused.
        """
        example = self._example()
        with evaluating(self.base):
            if self._copy is None or not self._copy.fits(self.base, example, self.channels_last, self.autocast):
                if self._mixes_rows(example[:1]):
                    raise VoteError(
                        "the base answers an input otherwise when other inputs share its batch (a norm with batch "
                        "statistics?): a certificate needs a function of the input alone; use running statistics"
                    )
                self._copy = prepare(self.base, example, self.channels_last, self.autocast)
        return self._copy

    def _mixes_rows(self, one: Tensor) -> bool:
        """Return whether the answer to an input plainly depends on what else is in the batch (by more than any
        precision could move it), as it does with batch statistics."""
        alone = self.evaluate(torch.cat([one, one]), self.base)[0].double()
        among = self.evaluate(torch.cat([one, torch.zeros_like(one), torch.ones_like(one)]), self.base)[0].double()
        return bool((alone - among).abs().max() > _FAR * alone.abs().max())

    def _example(self) -> Tensor:
        """Return a few inputs as the base gets them."""
        some = np.random.RandomState(0).randint(self.scheme.q + 1, size=(1, *self.scheme.shape))
        last = self.scheme.samples - 1
        shown = self.noise.inputs(torch.from_numpy(some), [0, last // 2, last], self.channels_last).flatten(0, 1)
        return shown.to(self.dtype)

    @property
    def group(self) -> int:
        """How many images one call should get: as many as share a batch, or as give every thread a few batches."""
        prepared, samples = self.prepared, self.scheme.samples
        rows, threads = self._rows(prepared), self._threads(prepared)
        share, batches = max(1, rows // samples), -(-samples // rows)
        return share if threads == 1 else share * -(-4 * threads // batches)

    def _threads(self, prepared: Prepared) -> int:
        """Only a copied base is known to keep nothing between calls, and other devices have threads of their own."""
        return torch.get_num_threads() if prepared.pure and self.device.type == "cpu" else 1

    def _rows(self, prepared: Prepared) -> int:
        """Return how many (image, sample) pairs one call gets."""
        wanted = prepared.rows if self.batch_size is None else self.batch_size
        return max(1, min(wanted, self.noise.chunk // self._threads(prepared)))

    def outputs(
        self, x: Tensor, samples: Sequence[int] | None = None, progress: bool = False
    ) -> Iterator[tuple[slice, slice, Tensor]]:
        """Yield (images, samples, outputs [n, s, classes]) batch by batch, in order; the slices index `x` and
        `samples`.

        Batches depend on nothing but sizes, and the samples of an image are never mixed with half of another's.
        """
        prepared, noise = self.prepared, self.noise
        chosen = noise.indices(range(self.scheme.samples) if samples is None else samples)
        rows = self._rows(prepared)
        step = min(rows, max(1, len(chosen)))
        images = max(1, rows // max(1, len(chosen)))

        def work(start: tuple[int, int]) -> tuple[slice, slice, Tensor]:
            i, t = start
            part, wanted = x[i : i + images], chosen[t : t + step]
            out = self.evaluate(noise.inputs(part, wanted, self.channels_last).flatten(0, 1), prepared.network)
            return slice(i, i + len(part)), slice(t, t + len(wanted)), out.view(len(part), len(wanted), -1)

        starts = product(range(0, len(x), images), range(0, len(chosen), step))
        with evaluating(self.base), ProgressBar(len(x) * len(chosen), "samples", progress) as advance:
            for result in in_order(work, starts, self._threads(prepared)):
                yield result
                advance(result[-1].shape[0] * result[-1].shape[1])

    def evaluate(self, shown: Tensor, network: nn.Module | None = None) -> Tensor:
        """Return the outputs [n, classes] of `network` (default: the prepared base) for inputs that the noise has
        made."""
        called = self.prepared.network if network is None else network
        with torch.inference_mode(), mixed(self.device, self.autocast):
            out = called(shown.to(self.dtype))
        if not isinstance(out, Tensor) or tuple(out.shape) != (len(shown), self.classes):
            raise VoteError(
                f"the base gave {tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__} for an input of "
                f"shape {tuple(shown.shape)}; it must give one row of {self.classes} numbers per input"
            )
        return out


@contextmanager
def evaluating(base: nn.Module) -> Iterator[None]:
    """The base in evaluation mode; every submodule's own mode is restored after."""
    modes = [(module, module.training) for module in base.modules()]
    with suppress(NotImplementedError):  # an exported program keeps the mode it was exported in
        base.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
