"""From which difference of two logits on a vote is sure, by the jitter that is measured here."""

from __future__ import annotations

import math

from torch import Tensor

from smoothing import Jitter, SmoothedClassifier, measure_jitter


def rounded_tolerance(classifier: SmoothedClassifier, images: Tensor) -> float:
    """Return what the jitter of the logits on these images asks for, rounded up to a power of ten, and 1e-6 at
    least."""
    return 10.0 ** math.ceil(math.log10(max(jitter_on(classifier, images).tolerance, 1e-6)))


def jitter_on(classifier: SmoothedClassifier, images: Tensor) -> Jitter:
    """Return how far the logits of these images move between evaluations."""
    inputs = 256 if classifier.scheme.features <= 4096 else 64  # a few seconds, also where a forward pass is slow
    return measure_jitter(classifier, images, inputs=inputs)
