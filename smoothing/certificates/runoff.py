"""The run-off certificate: two classes reach a second round, in which every sample chooses between them.

After Rezaei, Banihashem, Chegini and Feizi, "Run-Off Election", ICML 2023, for voting ensembles. The first round counts
the votes; the two classes with most of them (ties to the smaller index) are the finalists. In the second round every
sample is for the finalist that it ranks higher; the finalist with more of them wins (ties to the smaller index).

**What an attack must do.** Let c win at x and another class win at y. Either c is no finalist at y: then two rivals
k, l are ahead of c in the first round. Or c is a finalist: then the other one, k, wins the second round, and is ahead
of every third class j in the first. So one of these *events* takes place at y, and an event needs all of its *races*:

| event | races |
|---|---|
| k and l oust c | k overtakes c; l overtakes c; k and l overtake c together (the sum of the two) |
| k wins the final | k wins the duel with c; k overtakes j, for every third class j |

**What a race needs.** With s_a the sure votes for a, U the unsure ones, S(a, b) the samples that surely rank a above b
(all by weight, B in total), and everything unsure counted against c, a race is won only if its *need* is gained:

| race | need | a changed sample brings at most |
|---|---|---|
| k overtakes a | s_a - s_k - U + [a < k] | 2 (it voted a), 1 (a third class), 0 (k, or unsure) |
| k, l together | 2 s_c - s_k - s_l - U + [c < k] + [c < l] | 3 (it voted c), 1 (a third class), 0 (k, l, or unsure) |
| the duel | 2 S(c, k) - B + [c < k] | 2 (it surely ranks c above k), else 0 |

A race whose need is <= 0 is won already (or may be, by the jitter alone) and bounds nothing. By counts alone a race
takes ceil(need/2) or ceil(need/3) changed samples; an event takes at least the most of its races, and the class is safe
from fewer changes than the least over all events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike

from smoothing.certificates.certificate import Certificate, Threat, check_threat
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


class Race(NamedTuple):
    """One race of an event: `second` overtakes `first`, or wins the duel with it, or the two overtake the winner."""

    kind: Literal["overtake", "together", "duel"]
    first: int
    second: int

    @property
    def most(self) -> int:
        """What one changed sample of weight 1 brings at most."""
        return 3 if self.kind == "together" else 2


@attrs.frozen(slots=False)
class Poll:
    """Both rounds of a run-off in numbers: sure first votes, unsure ones, their total weight B, and S(a, b).

    >>> poll = Poll((8, 6, 1), 0, 15, ((0, 9, 8), (6, 0, 14), (7, 1, 0)))
    >>> poll.winner, poll.changes
    (0, 2)
    """

    counts: tuple[int, ...]
    unsure: int
    total: int
    prefers: tuple[tuple[int, ...], ...]

    @cached_property
    def winner(self) -> int:
        """The class that wins if all that is unsure abstains."""
        return runoff_winner(self.counts, self.prefers)

    @cached_property
    def rivals(self) -> list[int]:
        """The other classes."""
        return [k for k in range(len(self.counts)) if k != self.winner]

    def need(self, race: Race) -> int:
        """Return how much must be gained before the race can be won; see the module."""
        c, (a, k), s = self.winner, race[1:], self.counts
        if race.kind == "overtake":
            return s[a] - s[k] - self.unsure + (a < k)
        if race.kind == "together":
            return 2 * s[c] - s[a] - s[k] - self.unsure + (c < a) + (c < k)
        return 2 * self.prefers[c][k] - self.total + (c < k)

    def least(self, race: Race) -> int:
        """Return how many changed samples (by weight) the race takes, by its need alone."""
        return max(0, -(-self.need(race) // race.most))

    def events(self) -> Iterator[tuple[Race, ...]]:
        """Yield every way to lose, with the races it takes; of those against third classes the one with the largest
        need."""
        for k in self.rivals:
            third = [Race("overtake", j, k) for j in self.rivals if j != k]
            yield (Race("duel", self.winner, k), *sorted(third, key=self.need)[-1:])
        for k, m in combinations(self.rivals, 2):
            yield Race("overtake", self.winner, k), Race("overtake", self.winner, m), Race("together", k, m)

    @cached_property
    def changes(self) -> int:
        """The largest M such that fewer than M changed samples keep the winner; 0: the jitter alone may change it."""
        return min(max(map(self.least, event)) for event in self.events())


def runoff_winner(counts: Sequence[int], pairs: Sequence[Sequence[int]]) -> int:
    """Return the winner: of the two classes with most votes the one that more samples prefer; ties to the smaller
    index.

    >>> runoff_winner([4, 3, 2], [[0, 4, 6], [5, 0, 6], [3, 3, 0]])
    1
    """
    a, b = finalists(counts)
    return a if pairs[a][b] >= pairs[b][a] else b


def finalists(counts: Sequence[int]) -> list[int]:
    """Return the two classes with most votes, in order of index.

    >>> finalists([3, 2, 4])
    [0, 2]
    """
    return sorted(sorted(range(len(counts)), key=lambda k: (-counts[k], k))[:2])


def certify_runoff(
    counts: ArrayLike, pairs: ArrayLike, scheme: Scheme, threat: Threat = "features", unsure: int = 0
) -> Certificate:
    """Return the certificate from the first-round counts and the preferences.

    P[a, b] is the number of samples that surely rank a above b, by weight.

    Fewer than M changed samples keep the winner, and at most floor(B d) change: the open ball of radius M/B. The
    `unsure` votes, and the samples that rank two classes neither way surely, B - P[a, b] - P[b, a], count against the
    winner. `Certifier` makes the same certificate, and the vote-aware one, from rankings.

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
    if min(unsure, *votes) < 0 or int(votes.sum()) + unsure != scheme.total:
        raise VoteError(f"{int(votes.sum())} votes of {scheme.total}: a run-off needs all samples, by their weights")
    votes, prefer = votes.astype(np.int64), prefer.astype(np.int64)  # in which sums of two cannot wrap
    off = ~np.eye(classes, dtype=bool)
    if ((prefer + prefer.T)[off] > scheme.total).any():
        raise VoteError(f"pairs[a, b] + pairs[b, a] is above {scheme.total}: a sample prefers one of the two at most")
    if (prefer < votes[:, None])[off].any():
        raise VoteError("pairs[a, b] is below counts[a]: a sample that votes for a prefers it to every other class")
    poll = Poll(tuple(votes.tolist()), unsure, scheme.total, tuple(map(tuple, prefer.tolist())))
    radius = Fraction(poll.changes, scheme.total) if poll.changes else None
    return Certificate(poll.winner, "runoff", radius, False, scheme.metric, scheme.q, scheme.shape, threat)
