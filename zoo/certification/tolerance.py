"""From which difference of two logits on a vote is sure: measured where a record is begun, checked where it goes on."""

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
    """That of the votes in this folder, if there are any."""
    return Record.open(votes).header.tolerance if (votes / "header.json").exists() else None


def measured_tolerance(classifier: SmoothedClassifier, data: Dataset, order: NDArray[np.int64], here: Workers) -> float:
    """What this machine's jitter asks for, rounded up to a power of ten; the leading process measures it for all."""
    found = 0.0
    if here.leads:
        found = rounded_tolerance(classifier, data.test.take(order[:_IMAGES].tolist()))
    return here.total(found)[0]


def require_same_machine(
    classifier: SmoothedClassifier, data: Dataset, order: NDArray[np.int64], record: Record
) -> None:
    """A record that goes on holds the votes of one classifier, and its tolerance covers the jitter of this place.

    Another device, precision or library may move logits further than the tolerance that was measured where the record
    was begun: a vote cast here could be called sure and still change. Half of the safety factor may be used up.
    """
    indices, votes = record.votes()
    if set(order.tolist()) <= set(indices.tolist()):
        return  # nothing will be voted on
    found = jitter_on(classifier, data.test.take(order[:_IMAGES].tolist())).tolerance
    if found > 2 * classifier.tolerance:
        raise CertifyError(
            f"{record.path} was begun with the tolerance {classifier.tolerance:g}, but here the jitter of the logits "
            f"asks for {found:.1g}: go on where it was begun, or choose another folder (out=...); "
            f"tolerance={classifier.tolerance:g} goes on nevertheless"
        )
    if not len(indices):
        return
    samples = np.unique(np.linspace(0, record.header.samples - 1, _REPEATED).astype(int))
    again = classifier.votes(data.test.take([int(indices[0])]), samples.tolist())[0]
    differ = (again != votes[0, samples]) & (np.maximum(again, votes[0, samples]) < classifier.classes)
    if differ.any():
        raise CertifyError(
            f"{record.path} holds votes that the network does not cast here: image {indices[0]}, sample "
            f"{samples[differ][0]}. Another device, precision or library makes another classifier: go on where the "
            "record was begun, or choose another folder (out=...)"
        )
