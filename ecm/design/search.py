"""Aperiodic outcomes for given caps: greedy start, breakout search, paths, remembered on disk."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

import numpy as np

from ecm.allocation import Outcomes
from ecm.arrays import Floats, Ints
from ecm.design.blocks import blocks_of, outcomes_of
from ecm.design.breakout import Breakout
from ecm.design.cache import recall, remember
from ecm.design.greedy_start import greedy
from ecm.design.lower_bound import least_gap
from ecm.errors import DesignError
from ecm.progress import ProgressBar

Effort = Literal["fast", "thorough"]
VERSION = 1  # raise it when the same input gives other rows: old cache entries are then left alone
STEPS: dict[Effort, int] = {"fast": 1500, "thorough": 8000}
LARGEST_SEARCH = 1023  # beyond this q the search matrices cost hundreds of MB; the greedy start alone is good there
LARGEST_ROWS = 1 << 23  # dividers that are searched for: even the greedy start takes hours beyond
GRAIN = 2**20


def construct(caps: Ints, target: Floats, seed: int = 0, effort: Effort = "fast") -> Outcomes:
    """Return caps[q] outcomes with c(x, x+k) <= caps[k] for all pairs and a small max of target[k] - c(x, x+k).

    `target[k]` = B g(k/q) (a float steers the search), `caps[k]` its exact floor (decides). The result depends on
    nothing else but seed and effort, so g/alpha with budget alpha*B is the same problem and the same cache entry.

    >>> import numpy as np
    >>> construct(np.array([0, 2, 4]), np.array([0.0, 2.0, 4.0]))
    Outcomes(q=2, budget=4, finite=4, infinite=0, dividers=4)
    """
    steps = steps_for(effort, len(caps) - 1)
    q, budget = len(caps) - 1, int(caps[-1])
    if q * int(caps[1]) > LARGEST_ROWS:
        raise DesignError(
            f"{budget} aperiodic outcomes with up to {q * int(caps[1])} dividers are too many to search for (at most "
            f"{LARGEST_ROWS}): take a smaller budget, or kind='periodic', which needs no search"
        )
    goal = np.maximum(np.rint(target * GRAIN) / GRAIN, caps)  # the last bits of a float must not change a design
    key = _key(caps, goal, seed, steps)
    known = recall(key, dividers=q * int(caps[1]), outcomes=budget)
    if known is not None and (known.q, known.budget) == (q, budget) and bool((known.most <= caps).all()):
        return known
    found = greedy(caps, goal)
    if steps and budget:
        with ProgressBar(steps, "design", log=False, after=1.0) as bar:

            def report(step: int, worst: float) -> None:
                bar.at(step, f"worst gap {worst:.3f} outcomes")

            search = Breakout(blocks_of(found), caps, goal, seed, enough=least_gap(caps, goal))
            blocks = search.run(steps, report)
        found = outcomes_of(blocks, budget)
    remember(key, found)
    return found


def steps_for(effort: Effort, q: int) -> int:
    """Search steps, fixed in advance so that a clock never changes a design; fewer where a step costs more.

    >>> steps_for("fast", 255), steps_for("fast", 510), steps_for("fast", 4095)
    (1500, 750, 0)
    """
    if effort not in STEPS:
        raise DesignError(f"effort = {effort!r}: write one of {', '.join(get_args(Effort))}")
    return 0 if q > LARGEST_SEARCH else STEPS[effort] * 255 // max(q, 255)


def _key(caps: Ints, goal: Floats, seed: int, steps: int) -> str:
    digest = hashlib.sha256(f"{VERSION} {len(caps)} {seed} {steps}".encode())
    digest.update(caps.astype("<i8").tobytes())
    digest.update(np.rint(goal * GRAIN).astype("<i8").tobytes())
    return digest.hexdigest()
