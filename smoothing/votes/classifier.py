"""The smoothed classifier: one vote a sample, and a class by plurality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smoothing.certificates import Certificate, Method, Threat, certify_all
from smoothing.errors import VoteError
from smoothing.scheme import Images, Scheme
from smoothing.votes.evaluation import Smoothed

Votes = NDArray[np.unsignedinteger[Any]]


def vote_dtype(classes: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds `classes` classes and, as its largest value, UNSURE.

    >>> vote_dtype(255), vote_dtype(256)
    (dtype('uint8'), dtype('uint16'))
    """
    if not 2 <= classes <= 65535:
        raise VoteError(f"classes = {classes}: votes are stored for 2..65535 classes")
    return np.dtype(np.uint8 if classes <= 255 else np.uint16)


def cast(logits: Tensor, tolerance: float, unsure: int) -> Tensor:
    """The vote of every row: its best class, or `unsure` if the second best is within the tolerance.

    >>> cast(torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 0.9]]), 0.5, unsure=255).tolist()
    [1, 255]
    """
    best = logits.double().topk(2, dim=-1)
    sure = best.values[..., 0] - best.values[..., 1] > tolerance
    return torch.where(sure, best.indices[..., 0], unsure)


class SmoothedClassifier(Smoothed):
    """Classifies by the votes of `base` over all samples of `scheme`; the class shares are 1-Lipschitz in the metric.

    A vote is UNSURE (255, or 65535 above 255 classes) if the two best logits differ by at most `tolerance` = 2 eta,
    where eta bounds how far one logit moves between two evaluations of the same input; `smoothing.measure_jitter`
    proposes it. Unsure votes count against the prediction in every certificate. See `Smoothed` for the other settings.

    >>> scheme = Scheme.l1(2, shape=(3,), q=4)
    >>> base = nn.Linear(6, 2)
    >>> smoothed = SmoothedClassifier(base, scheme, classes=2)
    >>> smoothed.votes(torch.tensor([[0, 4, 2]])).shape
    (1, 8)
    """

    def __init__(
        self, base: nn.Module, scheme: Scheme, classes: int, *, tolerance: float = 0.0, **settings: Any
    ) -> None:
        super().__init__(base, scheme, classes, **settings)
        vote_dtype(classes)
        self.tolerance = float(tolerance)
        if not self.tolerance >= 0:
            raise VoteError(f"tolerance = {tolerance}: the tolerance is 2*eta >= 0, in units of a logit")

    def votes(self, x: Images, samples: Sequence[int] | None = None, *, progress: bool = False) -> Votes:
        """The votes of every image, [N, T] in sample order, or [N, len(samples)] of the given samples only."""
        return self._cast(x, samples, self.tolerance, progress)

    def _cast(self, x: Images, samples: Sequence[int] | None, tolerance: float, progress: bool) -> Votes:
        batch = self.levels(x)
        width = self.scheme.samples if samples is None else len(samples)
        dtype = vote_dtype(self.classes)
        unsure = int(np.iinfo(dtype).max)
        kept = torch.empty((len(batch), width), dtype=torch.uint8 if dtype == np.uint8 else torch.int32)
        kept = kept.to(self.device)
        spoiled = torch.zeros((), dtype=torch.bool, device=self.device)
        for images, part, logits in self.outputs(batch, samples, progress):
            kept[images, part] = cast(logits, tolerance, unsure).to(kept.dtype)
            spoiled |= logits.isnan().any()
        if bool(spoiled):
            raise VoteError("the base gave NaN logits: no vote can be read from them; check its weights and its input")
        result: Votes = kept.cpu().numpy().astype(dtype)
        return result

    def counts(self, votes: Votes) -> NDArray[np.int64]:
        """The sure votes of each class, weighted, [N, classes], from votes [N, T] of all samples."""
        worth = self.scheme.weights if self.scheme.weights is not None else np.ones(self.scheme.samples, dtype=np.int64)
        table = np.zeros((len(votes), self.classes), dtype=np.int64)
        for row, image in zip(table, votes, strict=True):
            sure = image < self.classes
            np.add.at(row, image[sure], worth[sure])
        return table

    def predict(self, x: Images, *, progress: bool = False) -> NDArray[np.int64]:
        """The class with most votes of every image, [N]; ties go to the smaller index.

        Every sample votes for its best class here, however close the second is (`tolerance` 0): a vote that was sure
        where an image was certified may be a near-tie in another evaluation, and is for the same class in all.
        """
        return np.asarray(self.counts(self._cast(x, None, 0.0, progress)).argmax(axis=1), dtype=np.int64)

    def forward(self, x: Images) -> Tensor:
        """Class shares [N, classes] of the votes that `predict` counts, float64: the division by B is the only
        rounding."""
        return (
            torch.from_numpy(self.counts(self._cast(x, None, 0.0, False))).to(self.device).double() / self.scheme.total
        )

    def preferences(self, x: Images, *, progress: bool = False) -> NDArray[np.int64]:
        """For a run-off, [N, classes, classes]: entry [a, b] is the weight of the samples whose logit for a is above
        that for b by more than the tolerance; where that is 0, ties go to the smaller index."""
        batch = self.levels(x)
        weights = np.ones(self.scheme.samples, dtype=np.int64) if self.scheme.weights is None else self.scheme.weights
        worth = torch.tensor(weights, device=self.device)[:, None]
        table = torch.zeros((len(batch), self.classes, self.classes), dtype=torch.int64, device=self.device)
        smaller = torch.ones_like(table[0], dtype=torch.bool).triu(1)
        for images, part, logits in self.outputs(batch, progress=progress):
            for a in range(self.classes):
                lead = logits[..., a, None].double() - logits
                above = (lead > self.tolerance) | ((lead == 0) & smaller[a] & (self.tolerance == 0))
                table[images, a] += (above * worth[part]).sum(dim=1)
        return table.cpu().numpy().astype(np.int64)

    def certify(
        self, x: Images, *, certificate: Method = "strongest", threat: Threat | None = None, progress: bool = False
    ) -> list[Certificate]:
        """Vote on every image and certify it; see `smoothing.certify` for the choices.

        >>> smoothed = SmoothedClassifier(nn.Linear(6, 2), Scheme.l1(2, shape=(3,), q=4), classes=2)
        >>> len(smoothed.certify(torch.tensor([[0, 4, 2], [1, 1, 1]])))
        2
        """
        batch, votes = self.levels(x).cpu().numpy(), self.votes(x, progress=progress)
        return list(certify_all(votes, batch, self.scheme, self.classes, certificate=certificate, threat=threat))
