"""How evaluated samples become a prediction, and how far each of them is from helping a rival.

This is all the attack knows about the rule of the smoothed classifier. Another rule needs the same three answers.
"""

from __future__ import annotations

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecm.arrays import Ints

Floats = NDArray[np.float32]


@attrs.frozen(eq=False)
class Plurality:
    """The class with the largest weight of votes; ties go to the smaller index, as in `SmoothedClassifier.predict`.

    `weights` [samples] are the integer weights of the samples.

    >>> rule = Plurality(np.array([1, 1, 1]))
    >>> logits = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0]], np.float32)
    >>> rule.prediction(logits), rule.need(logits, 0).tolist()
    (0, [0, 1, 1])
    """

    weights: Ints

    def prediction(self, logits: Floats) -> int:
        """The smoothed class, from the logits [samples, classes] of all samples."""
        return int(self._counts(logits).argmax())

    def need(self, logits: Floats, c: int) -> Ints:
        """By class: how much it must still gain on class c to win against it; 0 or less where it does."""
        counts = self._counts(logits)
        return np.asarray(counts[c] - counts + (np.arange(len(counts)) > c), dtype=np.int64)

    def _counts(self, logits: Floats) -> Ints:
        votes = logits.argmax(axis=1)
        return np.bincount(votes, self.weights, minlength=logits.shape[1]).astype(np.int64)

    @staticmethod
    def margins(logits: Tensor, c: int, rival: int) -> Tensor:
        """By sample: the logit of the rival less the best other one. Above 0 the sample votes for the rival."""
        del c  # whoever leads in a sample stands in the rival's way there
        others = logits.clone()
        others[:, rival] = -torch.inf
        return logits[:, rival] - others.max(dim=1).values

    def worth(self, logits: Floats, c: int, rival: int) -> Floats:
        """By sample, what its vote is worth to the rival: twice its weight if it is for one of the two, else once."""
        votes = logits.argmax(axis=1)
        return (self.weights * (1 + ((votes == c) | (votes == rival)))).astype(np.float32)
