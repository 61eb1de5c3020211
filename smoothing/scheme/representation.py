"""How the ends of a bin are shown to the network: planes of numbers in [0,1], stacked along the channel axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothing.scheme.scheme import Representation

Plane = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _upper(_: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    return upper


def _lower(lower: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
    return lower


def _center(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    return (lower + upper) / 2


def _error(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    return (upper - lower) / 2


PLANES: Mapping[Representation, tuple[Plane, ...]] = MappingProxyType(
    {
        "upper_lower": (_upper, _lower),
        "center": (_center,),
        "center_center": (_center, _center),
        "center_error": (_center, _error),
    }
)


def channels(representation: Representation, c: int) -> int:
    """Return how many input channels (or columns) a network needs for inputs with `c` of them.

    >>> channels("upper_lower", 3), channels("center", 3)
    (6, 3)
    """
    return c * len(PLANES[representation])


def planes(representation: Representation, lower: ArrayLike, upper: ArrayLike, q: int) -> NDArray[np.float32]:
    """Return the planes of bins given by their ends in half-steps (0..2q), [planes, ...], float32 in [0,1].

    `center_center` shows the center twice: the same network size as `upper_lower` with half the information.

    >>> planes("center_error", [0, 1], [1, 4], q=2).tolist()
    [[0.125, 0.625], [0.125, 0.375]]
    """
    low, high = np.asarray(lower, dtype=np.float64) / (2 * q), np.asarray(upper, dtype=np.float64) / (2 * q)
    return np.stack([plane(low, high) for plane in PLANES[representation]]).astype(np.float32)
