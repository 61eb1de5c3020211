"""The smallest budget of a periodic allocation for a wanted eps, proved by ruling out whole ranges of budgets."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ecm.allocation.caps import Tube, as_epsilon, check_size
from ecm.allocation.dynamic_program import climb
from ecm.errors import AllocationError
from ecm.number import Exact

if TYPE_CHECKING:
    from ecm.metric import Profile


def smallest_periodic_budget(profile: Profile, epsilon: Exact, q: int = 255, *, limit: int | None = None) -> int:
    """Return the smallest B with eps*(B) <= epsilon for periodic allocations. A larger B may miss epsilon again.

    Whole ranges of budgets are ruled out at once: for every B in [a, b] the bounds satisfy ceil(B (g - epsilon)) >=
    ceil(a (g - epsilon)) (or <= 0) and floor(B g) <= floor(b g), so if no sequence fits between the bound at a and
    the cap at b, no B of the range is enough. Ranges grow while they are ruled out and shrink when they are not; one
    of a single budget decides exactly.

    Budgets up to `limit` are tried; by default (q^2 + q)/(2 epsilon), where rounding down is enough for any g.

    >>> from ecm.metric import Profile
    >>> smallest_periodic_budget(Profile.from_expr("z"), 0, limit=1000)
    255
    """
    wanted = as_epsilon(epsilon)
    _, q = check_size(1, q)
    if limit is None:
        if wanted <= 0:
            raise AllocationError("epsilon = 0 is reached by no budget for most g; give the largest budget as limit=")
        limit = ceil((q**2 + q) / (2 * wanted))
    budget, width = 1, 1
    while budget <= limit:
        end = min(budget + width - 1, limit)
        first = Tube.of(profile, budget, q)
        last = first if end == budget else Tube.of(profile, end, q)
        if climb(first.least(wanted), last.caps) is None:
            budget, width = end + 1, 2 * width
        elif end == budget:
            return budget
        else:
            width = max(1, (end - budget + 1) // 4)
    raise AllocationError(f"no budget up to {limit} reaches epsilon = {epsilon} at q = {q}; raise limit= or epsilon")
