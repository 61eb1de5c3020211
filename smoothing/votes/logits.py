"""A record from logits that were stored before: what every sample said, without evaluating the base again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from smoothing.certificates import pack_logits
from smoothing.errors import RecordError
from smoothing.scheme import Images, digest
from smoothing.votes.header import Header
from smoothing.votes.record import Record

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


def record_logits(
    logits: Iterable[ArrayLike],
    images: Images,
    path: str | Path,
    *,
    scheme: Scheme,
    classes: int,
    model: str,
    data: str,
    tolerance: float,
    indices: Sequence[int] | None = None,
    rank: int = 0,
) -> Record:
    """Record the rankings that these logits make, image by image, in the folder `path`.

    `logits` are arrays [samples, classes], one per image (or one array [images, samples, classes]), in sample order;
    packed rankings [samples] (uint32, as `smoothing.pack_logits` and `smoothing.pack_orders` make them) are taken as
    they are. `images` are the levels [images, *shape] that were evaluated, `indices` their numbers in the data set (by
    default 0, 1, 2, ...). `model` and `data` name what the logits are of, as `model_fingerprint` and `data_fingerprint`
    do; `tolerance` is that of the votes. Images that the record holds already are left as they are.

    >>> import tempfile
    >>> from smoothing import Scheme, certify_all
    >>> scheme, images = Scheme.l1(2, shape=(3,), q=4), np.array([[0, 4, 2], [1, 1, 1]])
    >>> logits = np.random.default_rng(0).normal([2.0, 1.0, 0.0], 1.0, size=(2, 8, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     of = {"scheme": scheme, "classes": 3, "model": "m", "data": "d"}
    ...     indices, rankings = record_logits(logits, images, folder, tolerance=1e-4, **of).rankings()
    >>> [str(ball.radius) for ball in certify_all(rankings, images, scheme, classes=3)]
    ['1/2', '1/2']
    """
    numbers = list(range(len(images))) if indices is None else [int(i) for i in indices]
    if len(numbers) != len(images):
        raise RecordError(f"{len(images)} images, {len(numbers)} indices: one index per image is needed")
    header = Header(scheme.fingerprint, model, data, scheme.samples, classes, float(tolerance)).with_rankings()
    record = Record.create(path, header)
    with record.writer(rank) as writer:
        for index, image, one in zip(numbers, images, logits, strict=True):
            array = np.asarray(one)
            packed = array.dtype == np.uint32 and array.shape == (scheme.samples,)
            if not packed and array.shape != (scheme.samples, classes):
                raise RecordError(
                    f"image {index}: logits of dtype {array.dtype} and shape {array.shape}; give floats "
                    f"{(scheme.samples, classes)}, or packed rankings {(scheme.samples,)} of dtype uint32"
                )
            if tuple(np.shape(image)) != scheme.shape:
                raise RecordError(
                    f"image {index} has the shape {tuple(np.shape(image))}, the scheme's is {scheme.shape}"
                )
            if index not in writer.done:
                codes = array.astype(np.uint32) if packed else pack_logits(array, tolerance)
                writer.append_rankings(index, digest(image), codes, scheme.weights)
        writer.sync()
    return record
