"""The smoothed classifier: every sample ranks the classes, and a rule makes one class of the rankings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smoothing.certificates import (
    DEFAULT_RULE,
    Certificate,
    Certifier,
    Codes,
    Method,
    Packing,
    Rule,
    Threat,
    Votes,
    checked_rule,
    finalists,
    preferences,
    vote_dtype,
)
from smoothing.errors import VoteError
from smoothing.scheme import Images, Scheme
from smoothing.votes.early_stop import asking_order
from smoothing.votes.evaluation import Smoothed


def cast(logits: Tensor, tolerance: float, unsure: int) -> Tensor:
    """Return the vote of every row: its best class, or `unsure` if the second best is within the tolerance.

    >>> cast(torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 0.9]]), 0.5, unsure=255).tolist()
    [1, 255]
    """
    best = logits.double().topk(2, dim=-1)
    sure = best.values[..., 0] - best.values[..., 1] > tolerance
    return torch.where(sure, best.indices[..., 0], unsure)


def rank(logits: Tensor, tolerance: float) -> Tensor:
    """Return the packed ranking of every row of logits; see `smoothing.Packing`.

    >>> rank(torch.tensor([[0.1, 0.3, 2.0], [1.0, 1.0, 0.0]]), 0.5)
    tensor([21,  2])
    """
    best = logits.double().sort(dim=-1, descending=True, stable=True)
    near = ~(best.values[..., :-1] - best.values[..., 1:] > tolerance)
    found: Tensor = Packing.of(logits.shape[-1]).pack(best.indices, near)
    return found


class SmoothedClassifier(Smoothed):
    """Classifies by the votes of `base` over all samples of `scheme`; the class shares are 1-Lipschitz in the metric.

    `rule` makes one class of them. Under "plurality" every sample votes for its best class, and the class with most
    votes wins. Under "runoff" the two classes with most votes meet in a second round, in which every sample is for the
    one of the two that it ranks higher; the base and its evaluations are the same. Ties go to the smaller index.

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
        self,
        base: nn.Module,
        scheme: Scheme,
        classes: int,
        *,
        tolerance: float = 0.0,
        rule: Rule = DEFAULT_RULE,
        **settings: Any,
    ) -> None:
        super().__init__(base, scheme, classes, **settings)
        vote_dtype(classes)
        self.rule = checked_rule(rule)
        self.tolerance = float(tolerance)
        if not self.tolerance >= 0:
            raise VoteError(f"tolerance = {tolerance}: the tolerance is 2*eta >= 0, in units of a logit")

    def votes(self, x: Images, samples: Sequence[int] | None = None, *, progress: bool = False) -> Votes:
        """Return the votes of every image, [N, T] in sample order, or [N, len(samples)] of the given samples only."""
        return self._cast(x, samples, self.tolerance, progress)

    def rankings(self, x: Images, samples: Sequence[int] | None = None, *, progress: bool = False) -> Codes:
        """Return the packed rankings of every image, uint32 [N, T] in sample order: what every rule and certificate can
        be computed from, the votes included (see `smoothing.Packing`).

        >>> smoothed = SmoothedClassifier(nn.Linear(6, 2), Scheme.l1(2, shape=(3,), q=4), classes=2)
        >>> x = torch.tensor([[0, 4, 2]])
        >>> bool((Packing.of(2).votes(smoothed.rankings(x)) == smoothed.votes(x)).all())
        True
        """
        return self._rank(x, samples, self.tolerance, progress)

    def _cast(self, x: Images, samples: Sequence[int] | None, tolerance: float, progress: bool) -> Votes:
        dtype = vote_dtype(self.classes)
        unsure = int(np.iinfo(dtype).max)
        kept = self._each(x, samples, progress, lambda logits: cast(logits, tolerance, unsure), dtype.itemsize)
        return kept.astype(dtype)

    def _rank(self, x: Images, samples: Sequence[int] | None, tolerance: float, progress: bool) -> Codes:
        return self._each(x, samples, progress, lambda logits: rank(logits, tolerance), 4).astype(np.uint32)

    def _each(
        self, x: Images, samples: Sequence[int] | None, progress: bool, read: Callable[[Tensor], Tensor], size: int
    ) -> NDArray[Any]:
        """Return what `read` makes of the logits of every sample, integers of so many bytes, [N, T]."""
        batch = self.levels(x)
        width = self.scheme.samples if samples is None else len(samples)
        kept = torch.empty((len(batch), width), dtype={1: torch.uint8, 2: torch.int32, 4: torch.int64}[size])
        kept = kept.to(self.device)
        spoiled = torch.zeros((), dtype=torch.bool, device=self.device)
        for images, part, logits in self.outputs(batch, samples, progress):
            kept[images, part] = read(logits).to(kept.dtype)
            spoiled |= logits.isnan().any()
        if bool(spoiled):
            raise VoteError("the base gave NaN logits: no vote can be read from them; check its weights and its input")
        return kept.cpu().numpy()

    def counts(self, votes: Votes, samples: Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return the sure votes of each class, weighted, [N, classes], from votes [N, T] of all samples (or of the
        given)."""
        worth = self._weights if samples is None else self._weights[list(samples)]
        table = np.zeros((len(votes), self.classes), dtype=np.int64)
        for row, image in zip(table, votes, strict=True):
            sure = image < self.classes
            np.add.at(row, image[sure], worth[sure])
        return table

    @property
    def _weights(self) -> NDArray[np.int64]:
        weights = self.scheme.weights
        return np.ones(self.scheme.samples, dtype=np.int64) if weights is None else weights

    def predict(self, x: Images, *, samples: int | None = None, progress: bool = False) -> NDArray[np.int64]:
        """Return the class that wins by the rule, of every image, [N]; ties go to the smaller index.

        With `samples` only so many are evaluated, in an order that visits all of the input evenly: a cheap estimate of
        the smoothed class, without any guarantee.

        Every sample votes for its best class here, however close the second is (`tolerance` 0): a vote that was sure
        where an image was certified may be a near-tie in another evaluation, and is for the same class in all. So it is
        with the two classes of a second round (above 12 classes, a sample that has neither among the first places that
        are kept of its ranking abstains).
        """
        if samples is not None and not (isinstance(samples, int) and 1 <= samples <= self.scheme.samples):
            raise VoteError(f"samples = {samples!r}: write how many of the {self.scheme.samples} samples may vote")
        chosen = None if samples is None else asking_order(self.scheme)[:samples].tolist()
        return np.asarray(self._shares(x, progress, chosen).argmax(axis=1), dtype=np.int64)

    def forward(self, x: Images) -> Tensor:
        """Return class shares [N, classes] that `predict` takes the largest of, float64: the division by B is the only
        rounding. Of a plurality, the shares of the votes; of a run-off, those of the second round, in which all but
        the two finalists have none."""
        return torch.from_numpy(self._shares(x, False)).to(self.device).double() / self.scheme.total

    def _shares(self, x: Images, progress: bool, samples: Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return the weight for every class, [N, classes], in the round that decides."""
        if self.rule == "plurality":
            return self.counts(self._cast(x, samples, 0.0, progress), samples)
        packing, codes = Packing.of(self.classes), self._rank(x, samples, 0.0, progress)
        worth = self._weights if samples is None else self._weights[list(samples)]
        shares = np.zeros((len(codes), self.classes), np.int64)
        for row, image, counts in zip(shares, codes, self.counts(packing.votes(codes), samples), strict=True):
            last = finalists(counts.tolist())
            row[last] = preferences(packing.positions(image)[:, last], worth).sum(axis=1)
        return shares

    def preferences(self, x: Images, *, progress: bool = False) -> NDArray[np.int64]:
        """Return the preferences for a run-off, [N, classes, classes].

        Entry [a, b] is the weight of the samples whose logit for a is above that for b by more than the tolerance; if
        the tolerance is 0, ties go to the smaller index.
        """
        batch = self.levels(x)
        worth = torch.tensor(self._weights, device=self.device)[:, None]
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
        """Vote on every image and certify its class by the rule; see `smoothing.certify` for the choices.

        >>> smoothed = SmoothedClassifier(nn.Linear(6, 2), Scheme.l1(2, shape=(3,), q=4), classes=2)
        >>> len(smoothed.certify(torch.tensor([[0, 4, 2], [1, 1, 1]])))
        2
        """
        chosen = {} if threat is None else {"threat": threat}
        certifier = Certifier(self.scheme, self.classes, certificate, rule=self.rule, **chosen)  # refuse before voting
        batch = self.levels(x).cpu().numpy()
        given = self.rankings(x, progress=progress) if self.rule == "runoff" else self.votes(x, progress=progress)
        return [certifier(ballot, image) for ballot, image in zip(given, batch, strict=True)]
