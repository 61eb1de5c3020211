"""Accuracies as counts of images, with the interval that says how far a count can be trusted."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import attrs

from zoo.errors import DataError


@attrs.frozen(repr=False)
class Accuracy:
    """`correct` of `images` test images.

    >>> Accuracy(337, 359)
    93.9% (337 of 359, 95% interval 90.9..95.9)
    """

    correct: int
    images: int

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.correct <= self.images or self.images < 1:
            raise DataError(
                f"{self.correct} of {self.images} images: an accuracy needs 0 <= correct <= images, images >= 1"
            )

    @property
    def share(self) -> float:
        """correct / images."""
        return self.correct / self.images

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Wilson's score interval for the accuracy on the population that the test images were drawn from.

        It says nothing about the certificates, which hold for each image with certainty.

        >>> [round(end, 3) for end in Accuracy(0, 10).interval()]
        [0.0, 0.278]
        """
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        n, p = self.images, self.share
        centre, spread = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        low = (centre - spread) / scale if self.correct else 0.0
        high = (centre + spread) / scale if self.correct < n else 1.0
        return low, high

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"{100 * self.share:.1f}% ({self.correct} of {self.images}, 95% interval {100 * low:.1f}..{100 * high:.1f})"
        )
