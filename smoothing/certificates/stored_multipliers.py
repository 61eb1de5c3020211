"""A vote-aware bound from the multipliers that were found once: one evaluation per rival, without any search."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smoothing.certificates.integer import integer_bound
from smoothing.certificates.tally import Tally, unsure_code
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from smoothing.certificates.vote_aware import VoteAware


def replay(
    aware: VoteAware,
    votes: NDArray[np.unsignedinteger],
    levels: NDArray[np.int64],
    tally: Tally,
    multipliers: Mapping[int, int | None],
) -> Fraction | None:
    """Return the radius that these multipliers prove (None: no rival can ever win), as `VoteAware.hard` found it with
    them.

    Every multiplier gives a sound bound, so nothing is believed: one that was not found by the search proves less.
    Raises VoteError if a rival that matters has none, or if it is said to be harmless and is not.
    """
    weigh = np.ones(len(votes), np.int64) if aware.scheme.weights is None else aware.scheme.weights
    base = ((votes != unsure_code(votes)).astype(np.int64) + (votes == tally.prediction)) * weigh
    best: Fraction | None = None
    for rival in tally.rivals:
        need = tally.need(rival)
        least = integer_bound(need, tally.total)
        if best is not None and least >= best:
            break
        if rival not in multipliers:
            raise VoteError(f"class {rival} has no multiplier: certify the image again")
        items, m = aware.items(levels, base - (votes == rival) * weigh), multipliers[rival]
        if m is None:
            if items.attainable >= need:
                raise VoteError(f"class {rival} can gain {items.attainable}, not less than the {need} it needs")
            if aware.radius_limit is None:
                continue
            value = aware.radius_limit
        elif not 0 <= m <= min(aware.scale, (1 << 61) // max(items.peak, 1)):
            raise VoteError(f"the multiplier {m} of class {rival} is out of range: certify the image again")
        else:
            value = aware.limited(Fraction(m * need - items.excess(m)[0], aware.scale))
        value = max(value, least)
        best = value if best is None else min(best, value)
    return best
