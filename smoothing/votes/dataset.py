"""The votes of a whole data set, cast and recorded; a run that was stopped is continued."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import nn

from ecm.progress import ProgressBar
from smoothing.errors import InputError, RecordError
from smoothing.scheme import Images, digest
from smoothing.votes.arrays import FromArrays
from smoothing.votes.classifier import SmoothedClassifier
from smoothing.votes.header import Header
from smoothing.votes.record import Record, fitting_header

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_words(write: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a full disk or a missing permission, said in one sentence."""

    @wraps(write)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return write(*args, **kwargs)
        except OSError as error:
            raise RecordError(
                f"{error.filename or 'the record'} could not be written: {error.strerror or error}. Finished images "
                "are kept; free some space or choose another folder, then run the same call again to resume"
            ) from error

    return call


@_in_words
def vote_dataset(
    classifier: SmoothedClassifier,
    images: Images,
    path: str | Path,
    *,
    indices: Sequence[int] | None = None,
    rank: int = 0,
    ranks: int = 1,
    model: str | None = None,
    progress: bool = False,
) -> Record:
    """Record the rankings of `images[indices]` (all by default), and with them the votes, in the folder `path`;
    continues where a run was stopped. A record of votes alone, of an older version, goes on with votes alone.

    With `ranks` processes, the one with number `rank` takes its share of the images. `model` names the base in the
    header; by default it is `model_fingerprint(base)`. A run that was killed and continued leaves the same bytes as
    one that was not: images are written in order, and batched in the same groups.

    >>> import tempfile
    >>> from smoothing import Scheme
    >>> bright = FromArrays(lambda lower, upper: ((lower + upper).mean(1) > 1).astype(int), classes=2)
    >>> classifier = SmoothedClassifier(bright, Scheme.l1(2, shape=(3,), q=4), classes=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     indices, votes = vote_dataset(classifier, np.array([[0, 0, 0], [4, 4, 4]]), folder, model="bright").votes()
    >>> indices.tolist(), votes.mean(axis=1).tolist()
    ([0, 1], [0.0, 1.0])
    """
    if not isinstance(images, torch.Tensor | np.ndarray):
        raise InputError(f"images are a {type(images).__name__}: give one tensor or array [N, *shape] of levels")
    classifier.levels(images[:1])  # before a folder is made for what cannot be voted on
    given = np.arange(len(images)) if indices is None else np.asarray(indices)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise RecordError(
            f"indices of dtype {given.dtype}, shape {given.shape}: write integers, numpy.flatnonzero(mask) say"
        )
    chosen = given.astype(np.int64)
    if len(np.unique(chosen)) != len(chosen):
        raise RecordError("an index is given twice: every image is recorded once")
    if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(images):
        raise RecordError(f"indices {chosen.min()}..{chosen.max()}: the images are 0..{len(images) - 1}")
    if model is None and isinstance(classifier.base, FromArrays):
        raise RecordError("a function of arrays has no fingerprint: give model='a name that changes with it'")
    if not 0 <= rank < ranks:
        raise RecordError(f"rank {rank} of {ranks}: ranks are numbered 0..{ranks - 1}")
    header = Header(
        scheme=classifier.scheme.fingerprint,
        model=model or model_fingerprint(classifier.base),
        data=data_fingerprint(images),
        samples=classifier.scheme.samples,
        classes=classifier.classes,
        tolerance=classifier.tolerance,
    )
    record = Record.create(path, fitting_header(header, path))
    size = classifier.group
    groups = [chosen[i : i + size] for i in range(0, len(chosen), size)][rank::ranks]
    with record.writer(rank) as writer, ProgressBar(sum(map(len, groups)), "images", progress) as advance:
        for group in groups:
            if not set(group.tolist()) <= writer.done:
                batch = classifier.levels(images[group])
                for row in zip(group.tolist(), map(digest, batch), classifier.rankings(batch), strict=True):
                    if row[0] not in writer.done:  # a kill between two rows of a group
                        writer.append_rankings(*row, classifier.scheme.weights)
                writer.sync()
            advance(len(group))
    return record


def model_fingerprint(base: nn.Module) -> str:
    """Return sha256 over a module's structure (its repr) and its state: names, types, shapes and bytes of all tensors,
    also of buffers that a state dict leaves out.

    >>> model_fingerprint(nn.Identity()) == model_fingerprint(nn.Identity()) != model_fingerprint(nn.Flatten())
    True
    """
    hashed = hashlib.sha256(repr(base).encode())
    state = base.state_dict()
    for name, tensor in sorted((dict(base.named_buffers()) | state).items()):
        if not isinstance(tensor, torch.Tensor):
            raise RecordError(
                f"{name} is a {type(tensor).__name__}, which has no fingerprint: give vote_dataset a name that changes "
                "with the base, model='...'"
            )
        hashed.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        hashed.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def data_fingerprint(images: Images) -> str:
    """Return sha256 over a data set's type, shape and bytes.

    >>> data_fingerprint(np.zeros((2, 3), np.uint8)) == data_fingerprint(torch.zeros((2, 3), dtype=torch.uint8))
    True
    """
    array = images if isinstance(images, np.ndarray) else images.cpu().numpy()
    hashed = hashlib.sha256(f"{array.dtype}:{array.shape}".encode())
    hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()
