"""The moves an attack considers: an item (a feature, or a pixel with all its channels) and where to move it.

Under a concave metric a touched sample costs about the same however far the feature moves, and a far move shows the
base the largest change. So the targets of large images are mostly the two ends 0 and q; a few nearer ones are cheap
first steps. If there are few items and levels, all levels are targets.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.arrays import Floats, Ints

if TYPE_CHECKING:
    from smoothing import Scheme

_NEAR = (4, 16)  # moves by q/4 and q/16
_MOST_CHANNELS = 3  # of a pixel whose channels are sent to 0 and q in all combinations
_FEW = 256  # moves that are all considered, to every level


@attrs.frozen(slots=False, eq=False)
class Menu:
    """The items of an image `x` (flat levels) under a scheme, the targets they may move to, and what that costs.

    Costs are metric distances as floats: they choose moves. The distance that is reported is computed exactly.

    >>> from smoothing import Scheme
    >>> menu = Menu(Scheme.l1(2, shape=(3,), q=4), np.array([0, 4, 2]))
    >>> menu.targets.tolist()
    [[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4]]
    >>> menu.cost(np.array([4, 4, 2]))
    0.5
    """

    scheme: Scheme
    x: Ints

    @property
    def pixels(self) -> bool:
        """Whether an item is a pixel."""
        return self.scheme.pixel

    @cached_property
    def items(self) -> Ints:
        """The items that are shown in some sample; the others change nothing. By number: features, or sites."""
        shown = np.array([outcomes.finite > 0 for outcomes in self.scheme.design.outcomes])
        features = np.flatnonzero(shown[self.scheme.component])
        return np.unique(self.scheme.site[features]) if self.pixels else features

    def features(self, item: int) -> Ints:
        """The features of an item."""
        return np.arange(item, self.scheme.features, self.scheme.sites) if self.pixels else np.array([item])

    @cached_property
    def _g(self) -> Floats:
        return np.stack([profile.values(self.scheme.q) for profile in self.scheme.metric.components])

    @cached_property
    def targets(self) -> Ints:
        """Whole images [targets, features]; a move gives an item its levels in one of them."""
        x, q, together = self.x, self.scheme.q, self.scheme.shape[0] if self.pixels else 1
        few = (q + 1) ** together * len(self.items) <= _FEW
        if few or (self.pixels and together <= _MOST_CHANNELS):
            corners = np.array([*product(range(q + 1) if few else (0, q), repeat=together)])
            return np.repeat(corners, self.scheme.features // together, axis=1)
        ends = [np.zeros_like(x), np.full_like(x, q)]
        for part in _NEAR:
            step = q // part
            if step and not self.pixels and (self._g[:, step] < 0.8 * self._g[:, q]).any():
                ends += [np.minimum(x + step, q), np.maximum(x - step, 0)]
        return np.stack(ends)

    def by_item(self, values: NDArray[np.floating]) -> Floats:
        """Sums over the features of every item of `items`, along the last axis."""
        if not self.pixels:
            return np.asarray(values[..., self.items], dtype=np.float64)
        channels = self.scheme.shape[0]
        return np.asarray(values.reshape(*values.shape[:-1], channels, -1).sum(axis=-2)[..., self.items])

    def costs(self, levels: Ints) -> Floats:
        """What every item of `items` costs at these levels, [..., items]."""
        gap = np.abs(levels - self.x)
        costs = self.by_item(self._g[self.scheme.component, gap])
        return np.minimum(costs, self._g[0, -1]) if self.pixels else costs

    @cached_property
    def prices(self) -> Floats:
        """What every item costs at every target, [targets, items]."""
        return self.costs(self.targets)

    def cost(self, levels: Ints) -> float:
        """d(x, levels)."""
        return float(self.costs(levels).sum())

    def moved(self, levels: Ints) -> list[int]:
        """The items that are not where they were."""
        changed = np.flatnonzero(levels != self.x)
        items: list[int] = np.unique(self.scheme.site[changed] if self.pixels else changed).tolist()
        return items
