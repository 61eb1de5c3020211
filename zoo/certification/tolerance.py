"""The tolerance of a vote's logits: measured when a record is started, and checked when it is resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothing import Record, SmoothedClassifier
from zoo.data import Dataset
from zoo.distributed import Workers
from zoo.errors import CertifyError
from zoo.models import jitter_on, rounded_tolerance

_IMAGES = 8  # whose logits are evaluated in many ways
_REPEATED = 256  # votes that are cast once more


def recorded_tolerance(votes: Path) -> float | None:
    """Return the tolerance of the votes in this folder, if there are any."""
    return Record.open(votes).header.tolerance if Record.exists(votes) else None


def measured_tolerance(classifier: SmoothedClassifier, data: Dataset, order: NDArray[np.int64], here: Workers) -> float:
    """Return what this machine's jitter asks for, rounded up to a power of ten; the leading process measures it for
    all."""
    found = 0.0
    if here.leads:
        found = rounded_tolerance(classifier, data.test.take(order[:_IMAGES].tolist()))
    return here.total(found)[0]


def require_same_machine(
    classifier: SmoothedClassifier, data: Dataset, order: NDArray[np.int64], record: Record
) -> None:
    """Raise CertifyError unless a resumed record has votes of this classifier and a tolerance that covers its jitter.

    Another device, precision or library may change logits by more than the tolerance that was measured when the record
    was started, so that a sure vote could change. At most half of the safety factor may be used up.
    """
    indices, votes = record.votes()
    if set(order.tolist()) <= set(indices.tolist()):
        return  # nothing will be voted on
    found = jitter_on(classifier, data.test.take(order[:_IMAGES].tolist())).tolerance
    if found > 2 * classifier.tolerance:
        raise CertifyError(
            f"{record.path} was started with the tolerance {classifier.tolerance:g}, but the jitter of the logits on "
            f"this machine needs {found:.1g}: resume on the machine where it was started, or choose another folder "
            f"(out=...); tolerance={classifier.tolerance:g} resumes here nevertheless"
        )
    if not len(indices):
        return
    samples = np.unique(np.linspace(0, record.header.samples - 1, _REPEATED).astype(int))
    again = classifier.votes(data.test.take([int(indices[0])]), samples.tolist())[0]
    differ = (again != votes[0, samples]) & (np.maximum(again, votes[0, samples]) < classifier.classes)
    if differ.any():
        raise CertifyError(
            f"{record.path} contains a vote that the network does not cast on this machine: image {indices[0]}, sample "
            f"{samples[differ][0]}. Another device, precision or library makes another classifier: resume where the "
            "record was started, or choose another folder (out=...)"
        )
