"""The run-off certificate: two classes reach a second round, in which every sample chooses between them.

After Rezaei, Banihashem, Chegini and Feizi, "Run-Off Election", ICML 2023, for voting ensembles.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from smoothing.certificates.certificate import Certificate, Threat
from smoothing.certificates.certifier import check_threat
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


def runoff_winner(counts: list[int], pairs: list[list[int]]) -> int:
    """The winner: of the two classes with most votes the one that more samples prefer; ties to the smaller index.

    >>> runoff_winner([4, 3, 2], [[0, 4, 6], [5, 0, 6], [3, 3, 0]])
    1
    """
    a, b = finalists(counts)
    return a if pairs[a][b] >= pairs[b][a] else b


def finalists(counts: list[int]) -> list[int]:
    """The two classes with most votes, in order of index.

    >>> finalists([3, 2, 4])
    [0, 2]
    """
    return sorted(sorted(range(len(counts)), key=lambda k: (-counts[k], k))[:2])


def runoff_changes(counts: list[int], pairs: list[list[int]]) -> int:
    """The largest M such that fewer than M changed samples cannot change the winner c; 0 if near-ties alone may.

    With near-ties counted against it, c leads a rival k by P(c,k) - (B - P(c,k)) in the second round, so k needs
    ceil((2 P(c,k) - B + [c<k])/2) changes to win it, and two rivals k, l keep c out of it only after
    max(ceil(A_k/2), ceil(A_l/2), ceil((A_k + A_l)/3)) of them, with A_k = max(0, n_c - n_k + [c < k]).
    """
    c = runoff_winner(counts, pairs)
    rivals = [k for k in range(len(counts)) if k != c]
    lead = {k: max(0, counts[c] - counts[k] + (c < k)) for k in rivals}
    need = {k: 2 * pairs[c][k] - sum(counts) + (c < k) for k in rivals}
    bounds = [-(-need[k] // 2) for k in rivals]
    for k, m in combinations(rivals, 2):
        bounds.append(max(-(-lead[k] // 2), -(-lead[m] // 2), -(-(lead[k] + lead[m]) // 3)))
    (other,) = set(finalists(counts)) - {c}
    return max(int(need[other] > 0), min(bounds))


def certify_runoff(
    counts: ArrayLike, pairs: ArrayLike, scheme: Scheme, threat: Threat = "features", unsure: int = 0
) -> Certificate:
    """From the first-round counts and the preferences P[a, b] = how many samples surely rank a above b.

    Fewer than M changed samples keep the winner, and at most floor(B d) change: the open ball of radius M/B. Samples
    that rank neither surely, B - P[a, b] - P[b, a], count against the winner; with unsure votes there is no ball.

    >>> from smoothing import Scheme
    >>> certify_runoff([4, 3, 1], [[0, 5, 6], [3, 0, 6], [2, 2, 0]], Scheme.l1(2, shape=(3,), q=4)).radius
    Fraction(1, 4)
    """
    check_threat(threat, scheme)
    votes, prefer = np.asarray(counts), np.asarray(pairs)
    classes = votes.size
    if (
        votes.ndim != 1
        or prefer.shape != (classes, classes)
        or classes < 2
        or not {votes.dtype.kind, prefer.dtype.kind} <= {"i", "u"}
    ):
        raise VoteError(f"counts of shape {votes.shape}, pairs of shape {prefer.shape}: give integers [C] and [C, C]")
    if scheme.weights is not None or min(unsure, *votes) < 0 or int(votes.sum()) + unsure != scheme.total:
        raise VoteError(f"{int(votes.sum())} votes of {scheme.total}: a run-off needs all samples, each counting once")
    votes, prefer = votes.astype(np.int64), prefer.astype(np.int64)  # in which sums of two cannot wrap
    off = ~np.eye(classes, dtype=bool)
    if ((prefer + prefer.T)[off] > scheme.total).any():
        raise VoteError(f"pairs[a, b] + pairs[b, a] is above {scheme.total}: a sample prefers one of the two at most")
    if (prefer < votes[:, None])[off].any():
        raise VoteError("pairs[a, b] is below counts[a]: a sample that votes for a prefers it to every other class")
    first, second = votes.tolist(), prefer.tolist()
    changes = 0 if unsure else runoff_changes(first, second)
    radius = Fraction(changes, scheme.total) if changes else None
    winner = runoff_winner(first, second)
    return Certificate(winner, "runoff", radius, False, scheme.metric, scheme.q, scheme.shape, threat)
