"""The vote-aware certificate: at x every vote is known, so an attack is priced by what the touched samples can bring.

Against rival k a touched sample brings at most 2 if it voted c, 1 if it voted for a third class, 0 if it voted k or is
unsure. The rival wins only if the gains of the changed features reach `need`; the least metric distance at which they
can is bounded from below by duality (`dual`). Both the design's slack (pairs separated by fewer outcomes than B g
allows) and the box 0..q come for free.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Ints
from smoothing.certificates.certificate import Threat
from smoothing.certificates.dual import FeatureItems, Items, PixelItems, maximize
from smoothing.certificates.integer import integer_bound
from smoothing.certificates.tally import Tally, unsure_code
from smoothing.certificates.touch import Touch
from smoothing.scheme import cost_scale

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


@attrs.frozen
class Bound:
    """The least distance at which any rival can win is at least `radius` (None: no rival ever can).

    `multipliers` holds (rival, m) for every rival examined, m in units of 1/`scale`, None if that rival can never win;
    rivals not named are further away than `radius` by the integer bound alone.
    """

    radius: Fraction | None
    multipliers: tuple[tuple[int, int | None], ...]
    scale: int


@attrs.frozen(slots=False, eq=False)
class VoteAware:
    """Vote-aware bounds under one scheme and threat; the tables that do not depend on the image are made once.

    `unit` is what one whole vote counts: 1 for hard votes, the denominator of the fixed-point grid for soft outputs.
    """

    scheme: Scheme
    threat: Threat = "features"
    unit: int = 1

    @cached_property
    def touch(self) -> Touch:
        """The moves of every feature."""
        return Touch(self.scheme)

    @cached_property
    def scale(self) -> int:
        """Denominator of costs and multipliers: fine enough for a multiplier of about 1/(2 B unit) to have 24 bits."""
        return cost_scale(self.scheme.total * self.unit)

    @cached_property
    def _costs(self) -> list[Ints]:
        """floor(scale * g(k/q)) at the priced moves, by component."""
        return [floors[self.touch.moves] for floors in self.scheme.metric.floors(self.scale, self.scheme.q)]

    def hard(self, votes: NDArray[np.unsignedinteger], levels: Ints, tally: Tally) -> Bound:
        """Return the bound for hard votes with the tally's needs, all of which must be >= 1. `levels` are flat, in
        0..q."""
        weights = self.scheme.weights
        weigh = np.ones(len(votes), np.int64) if weights is None else weights
        sure = votes != unsure_code(votes)
        base = (sure.astype(np.int64) + (votes == tally.prediction)) * weigh
        best: Fraction | None = None
        found: list[tuple[int, int | None]] = []
        for rival in tally.rivals:
            least = integer_bound(tally.need(rival), tally.total)
            if best is not None and least >= best:
                break  # all further rivals need at least as much
            worth = base - (votes == rival) * weigh
            value, m = self.against(levels, worth, tally.need(rival))
            found.append((rival, m))
            if value is not None:
                value = max(value, least)
                best = value if best is None else min(best, value)
        return Bound(best, tuple(found), self.scale)

    def against(self, levels: Ints, worth: Ints, need: int) -> tuple[Fraction | None, int | None]:
        """Return a lower bound on the cost of gaining `need` >= 1 from samples of this worth, and its multiplier.

        (None, None) if all attainable gain is below the need. Features whose every change costs 1 are left out, and
        the bound is 1 at most: a ball of that radius holds no point at which one of them is changed.
        """
        items = self.items(levels, worth)
        if items.attainable < need:
            return self.radius_limit, None
        value, m = maximize(items, need, self.scale, self.scale // (2 * self.scheme.total * self.unit))
        return self.limited(Fraction(value, self.scale)), m

    @property
    def radius_limit(self) -> Fraction | None:
        """1 where features were left out whose every change costs 1; None if there are none."""
        return Fraction(1) if self._dear else None

    def limited(self, value: Fraction) -> Fraction:
        """Return a bound that was found without the features whose every change costs 1, as one for all features."""
        return value if self.radius_limit is None else min(value, self.radius_limit)

    @cached_property
    def _dear(self) -> frozenset[int]:
        """Components with g(1/q) = 1, for the threat by features: columns of a table that nobody can change."""
        if self.threat != "features":
            return frozenset()
        floors = self.scheme.metric.floors(1, self.scheme.q)
        return frozenset(c for c in self.touch.components if floors[c][1] >= 1)

    def items(self, levels: Ints, worth: Ints) -> Items:
        """Return the gains of all features (or pixels) for this worth of the samples, with their costs."""
        moves, component = len(self.touch.moves), self.scheme.component
        gains = {c: np.zeros((int((component == c).sum()), moves), np.int64) for c in self.touch.components}
        filled = dict.fromkeys(gains, 0)
        for c, features, part in self.touch.gains(levels, worth):
            gains[c][filled[c] : filled[c] + len(features)] = part
            filled[c] += len(features)
        if self.threat == "features":
            return FeatureItems(tuple((gains[c], self._costs[c]) for c in gains if c not in self._dear))
        channels = self.scheme.shape[0]
        apart = gains.get(0, np.zeros((self.scheme.features, moves), np.int64)).reshape(channels, -1, moves)
        # No more than all that the pixel shows, nor than its channels gain together
        whole = np.minimum(self.touch.whole(worth), apart[:, :, -1].sum(axis=0))
        return PixelItems(apart, self._costs[0], whole)
