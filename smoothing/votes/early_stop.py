"""Stop voting as soon as the votes still missing cannot change whether the image is certified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecm.arrays import Ints
from smoothing.certificates import Certificate, Codes, integer_bound
from smoothing.errors import VoteError
from smoothing.scheme import stride_order
from smoothing.votes.standing import PluralityStanding, RunoffStanding, Standing, answer

if TYPE_CHECKING:
    from smoothing.scheme import Scheme

Wanted = Callable[[Certificate], bool]
Counted = Literal["paper", "integer", "runoff"]


@attrs.frozen
class Decision:
    """The answer of an early stop: whether the full vote would certify the image, and how many samples that took.

    `prediction` is the certified class (None if not certified). After `decisive` of all `samples` the answer was
    fixed; `evaluated` were asked for, the chunk's rest included.

    >>> Decision(certified=True, prediction=1, decisive=6, evaluated=8, samples=512).evaluated
    8
    """

    certified: bool
    prediction: int | None
    decisive: int
    evaluated: int
    samples: int


def needed(scheme: Scheme, wanted: Wanted, certificate: Counted = "integer") -> int | None:
    """Return the least need (see `Tally`) whose certificate is as wanted; None if not even a unanimous vote is enough.
    Of a run-off, the least number of samples that must change before another class wins."""

    def enough(need: int) -> bool:
        if certificate == "paper":
            radius, closed = Fraction(need - 1, 2 * scheme.total), True
        elif certificate == "runoff":
            radius, closed = Fraction(need, scheme.total), False
        else:
            radius, closed = integer_bound(need, scheme.total), False
        return wanted(
            Certificate(
                0, certificate, radius, closed, scheme.metric, scheme.q, scheme.shape,
                "pixels" if scheme.pixel else "features",
            )
        )  # fmt: skip

    low, high = 0, scheme.total + 2  # enough is monotone; high is beyond the largest need there is
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return None if high == scheme.total + 2 else high


class Voter(Protocol):
    """Anything that casts votes, such as a `SmoothedClassifier`."""

    scheme: Scheme

    def votes(self, x: Any, samples: Sequence[int] | None = None) -> NDArray[np.unsignedinteger]:
        """Return the votes of a batch at the given samples, [images, samples]."""
        ...


def vote_chunks(voter: Voter, image: Any, size: int = 256) -> Iterator[NDArray[np.unsignedinteger]]:
    """Yield the votes of one image, `size` samples at a time, each cast when it is asked for: the chunks of `decide`.

    They come in the order of `asking_order`.

    >>> from smoothing import FromArrays, Scheme, SmoothedClassifier
    >>> bright = FromArrays(lambda lower, upper: ((lower + upper).mean(1) > 1).astype(int), classes=2)
    >>> voter = SmoothedClassifier(bright, Scheme.l1(2, shape=(3,), q=4), classes=2)
    >>> [chunk.tolist() for chunk in vote_chunks(voter, np.array([4, 4, 4]), size=5)]
    [[1, 1, 1, 1, 1], [1, 1, 1]]
    """
    for samples in _chunks(voter.scheme, size):
        yield voter.votes(image[None], samples)[0]


class Ranker(Protocol):
    """Anything that ranks the classes, such as a `SmoothedClassifier`."""

    scheme: Scheme

    def rankings(self, x: Any, samples: Sequence[int] | None = None) -> Codes:
        """Return the packed rankings of a batch at the given samples, [images, samples]."""
        ...


def ranking_chunks(ranker: Ranker, image: Any, size: int = 256) -> Iterator[Codes]:
    """Yield the packed rankings of one image, `size` samples at a time, as `vote_chunks`: what `decide` asks of a
    run-off.

    >>> from smoothing import FromArrays, Scheme, SmoothedClassifier
    >>> bright = FromArrays(lambda lower, upper: ((lower + upper).mean(1) > 1).astype(int), classes=2)
    >>> ranker = SmoothedClassifier(bright, Scheme.l1(2, shape=(3,), q=4), classes=2)
    >>> [len(chunk) for chunk in ranking_chunks(ranker, np.array([4, 4, 4]), size=5)]
    [5, 3]
    """
    for samples in _chunks(ranker.scheme, size):
        yield ranker.rankings(image[None], samples)[0]


def _chunks(scheme: Scheme, size: int) -> Iterator[list[int]]:
    if size < 1:
        raise VoteError(f"size = {size}: a chunk holds one sample or more")
    order = asking_order(scheme)
    for start in range(0, len(order), size):
        yield order[start : start + size].tolist()


def asking_order(scheme: Scheme) -> Ints:
    """Return all samples in the order in which early stop and predictions from a few samples ask for them.

    Any order is sound where all samples weigh the same. A spread coupling is asked in an order whose every beginning
    visits all classes of features evenly. With independent offsets, samples that show the fewest features come first:
    an image that is not certified is given away by samples that vote otherwise, and which samples show little is known
    before any vote. Other couplings keep the samples' own order.

    >>> from smoothing import Scheme
    >>> asking_order(Scheme.l1(2, shape=(3,), q=4)).tolist()
    [0, 5, 2, 7, 4, 1, 6, 3]
    >>> asking_order(Scheme.l1(2, shape=(3,), q=4, coupling="independent")).tolist()
    [0, 4, 5, 6, 7, 1, 2, 3]
    """
    if scheme.coupling == "spread":
        return stride_order(scheme.samples)
    if scheme.coupling != "independent":
        return np.arange(scheme.samples)
    return np.argsort(scheme.shown, kind="stable")


def decide(
    chunks: Iterable[ArrayLike],
    scheme: Scheme,
    classes: int,
    wanted: Wanted,
    *,
    certificate: Counted = "integer",
    label: int | None = None,
) -> Decision:
    """Return whether the certificate of the full vote is as wanted, from as few samples as can tell.

    `chunks` yields the votes of all samples (see `vote_chunks`): each once, in any order, if all weigh the same; else
    0, 1, 2, ... No more are asked for than needed. `wanted` is a question to a certificate, true of every larger ball
    too: `lambda ball: ball.covers_lp(2)`, say. With a `label` only that class counts as certified, which is what
    certified accuracy asks.

    With R votes missing, every need lies within R of what it is so far, and all of that range can still happen; so
    the first moment at which the answer is fixed is found, and the answer is that of the full vote, always.

    By `certificate` "runoff" the answer is about the class of a run-off, `chunks` yields packed rankings (see
    `ranking_chunks`), and the answer is again that of the full vote, if not always at the first moment.

    >>> from smoothing import Scheme
    >>> votes = np.array([1, 1, 1, 1, 1, 1, 0, 1], dtype=np.uint8)
    >>> decide([votes[:4], votes[4:]], Scheme.l1(2, shape=(3,), q=4), 2, lambda ball: ball.covers(Fraction(1, 8)))
    Decision(certified=True, prediction=1, decisive=6, evaluated=8, samples=8)
    """
    if classes < 2 or (label is not None and not 0 <= label < classes) or certificate not in get_args(Counted):
        raise VoteError(
            f"classes = {classes}, label = {label}, certificate = {certificate!r}: early stop decides between two "
            f"classes or more, for a label among them, by {' or '.join(get_args(Counted))}"
        )
    least = needed(scheme, wanted, certificate)
    candidates = list(range(classes)) if label is None else [label]
    standing: Standing = RunoffStanding(classes) if certificate == "runoff" else PluralityStanding(classes)
    missing, seen = scheme.total, 0
    start = answer(standing, candidates, least, missing)
    if start is not None:
        return Decision(*start, 0, 0, scheme.samples)
    for chunk in chunks:
        votes = standing.read(chunk)
        if seen + len(votes) > scheme.samples:
            raise VoteError(f"{seen + len(votes)} votes, but the scheme has {scheme.samples} samples: too many")
        weights = np.ones(len(votes), np.int64) if scheme.weights is None else scheme.weights[seen : seen + len(votes)]
        after, left = standing.after(votes, weights), missing - int(weights.sum())
        verdict = answer(after, candidates, least, left)
        if verdict is not None:
            low, high = 0, len(votes)  # the answer, once fixed, stays: find the sample that fixed it
            while high - low > 1:
                middle = (low + high) // 2
                state = standing.after(votes[:middle], weights[:middle])
                fixed = answer(state, candidates, least, missing - int(weights[:middle].sum())) is not None
                low, high = (low, middle) if fixed else (middle, high)
            return Decision(*verdict, seen + high, seen + len(votes), scheme.samples)
        standing, missing, seen = after, left, seen + len(votes)
    raise VoteError(f"only {seen} of {scheme.samples} votes were given, and they do not decide: keep voting")
