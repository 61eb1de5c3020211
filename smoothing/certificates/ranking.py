"""How a sample ranks the classes, packed into four bytes: all that any voting rule of this package asks of it.

A *ranking* orders the classes by their logits, the largest first, ties by the smaller index. Between neighbours in that
order stands a *gap*; a gap is *near* unless the two logits differ by more than the tolerance.

**Which pairs are sure.** Two evaluations of one input move every logit by eta at most, and the tolerance is 2 eta, so
the order of two classes is certain if their logits differ by more than the tolerance. Call a pair *sure* if a gap that
is not near lies between its two places. Every sure pair is certain: the difference of the two logits is at least the
one across that gap, since all gaps are >= 0. So every pair within the tolerance is among those that are not sure. (The
converse fails, harmlessly: in a chain of near gaps the ends may lie further apart than the tolerance and still count as
not sure.) A computed difference is the true one rounded to the nearest double, and rounding is monotone: if it is above
the tolerance, itself a double, so is the true one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothing.errors import VoteError

Codes = NDArray[np.uint32]
Votes = NDArray[np.unsignedinteger[Any]]

_BITS, _FLAGS = 32, 3


def vote_dtype(classes: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds `classes` classes and, as its largest value, UNSURE.

    >>> vote_dtype(255), vote_dtype(256)
    (dtype('uint8'), dtype('uint16'))
    """
    if not 2 <= classes <= 65535:
        raise VoteError(f"classes = {classes}: votes are stored for 2..65535 classes")
    return np.dtype(np.uint8 if classes <= 255 else np.uint16)


@attrs.frozen
class Packing:
    """How rankings of this many classes are packed: the number of the ordered choice of the first `places` classes
    (Lehmer code, in mixed radix), then `flags` bits that say which gaps are near.

    Up to 12 classes all places are kept; of more classes the first few, and the classes behind them count as not sure
    among each other. Where there are fewer flags than gaps, the last flag stands for all remaining gaps: one of them is
    near, so all are taken to be. Both make fewer pairs sure, never more.

    >>> Packing.of(10)
    Packing(classes=10, places=10, flags=9)
    >>> Packing.of(12), Packing.of(100)
    (Packing(classes=12, places=12, flags=3), Packing(classes=100, places=4, flags=4))
    """

    classes: int
    places: int
    flags: int

    @classmethod
    @cache
    def of(cls, classes: int) -> Packing:
        """Return the packing of rankings of `classes` classes: as many places as leave room for the first few flags."""
        vote_dtype(classes)
        best, number = None, 1
        for places in range(1, classes + 1):
            number *= classes - places + 1
            gaps = min(places, classes - 1)
            if number << min(gaps, _FLAGS) > 1 << _BITS:
                break
            best = cls(classes, places, min(gaps, ((1 << _BITS) // number).bit_length() - 1))
        assert best is not None
        return best

    @property
    def gaps(self) -> int:
        """Gaps that matter: after every place, the last one being that before the classes without a place."""
        return min(self.places, self.classes - 1)

    def pack(self, order: Any, near: Any) -> Any:
        """Return codes [...] of rankings given by the classes in order [..., places or more] and by which gaps are near
        [..., gaps or more]. Arrays and tensors alike.

        >>> Packing.of(3).pack(np.array([2, 0, 1]), np.array([False, True]))
        np.int64(17)
        """
        code = order[..., 0] * 0
        for i in range(self.places):
            digit = order[..., i] - i  # how many classes with a smaller index have no place yet
            for j in range(i):
                digit = digit + (order[..., j] > order[..., i])
            code = code * (self.classes - i) + digit
        for i in range(self.flags):
            code = code * 2 + (near[..., i] if i < self.flags - 1 else near[..., i : self.gaps].any(-1))
        return code

    def unpack(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the classes in order [..., places] and which gaps are near [..., gaps].

        >>> order, near = Packing.of(3).unpack(np.array([17], np.uint32))
        >>> order.tolist(), near.tolist()
        ([[2, 0, 1]], [[False, True]])
        """
        number = codes.astype(np.int64)
        bits = (number[..., None] >> np.arange(self.flags)[::-1]) & 1
        near = bits[..., np.minimum(np.arange(self.gaps), self.flags - 1)].astype(np.bool_)
        number >>= self.flags
        order = np.empty((*codes.shape, self.places), np.int64)
        for i in reversed(range(self.places)):
            number, order[..., i] = np.divmod(number, self.classes - i)
        if number.any():
            raise VoteError(f"a number that packs no ranking of {self.classes} classes: are these rankings of others?")
        for i in reversed(range(self.places - 1)):
            order[..., i + 1 :] += order[..., i + 1 :] >= order[..., i, None]
        return order, near

    def ranks(self, codes: Codes) -> NDArray[np.uint8]:
        """Return [..., classes]: class a is surely above class b exactly where its number is the smaller one.

        >>> Packing.of(3).ranks(np.array([17], np.uint32)).tolist()
        [[1, 1, 0]]
        """
        order, near = self.unpack(codes)
        behind = np.cumsum(~near, axis=-1, dtype=np.uint8)  # by gap, how many before and with it are not near
        found = np.broadcast_to(behind[..., -1:], (*codes.shape, self.classes)).copy()
        np.put_along_axis(found, order[..., :1], np.uint8(0), axis=-1)
        np.put_along_axis(found, order[..., 1:], behind[..., : self.places - 1], axis=-1)
        return found

    def positions(self, codes: Codes) -> NDArray[np.uint8]:
        """Return [..., classes]: the place of every class, 0 the best, near gaps or not; `places` if it has none."""
        order, _ = self.unpack(codes)
        found = np.full((*codes.shape, self.classes), self.places, np.uint8)
        np.put_along_axis(found, order, np.arange(self.places, dtype=np.uint8), axis=-1)
        return found

    def votes(self, codes: Codes) -> Votes:
        """Return [...]: the class in the first place, or UNSURE where the gap behind it is near.

        >>> Packing.of(3).votes(np.array([17, 19], np.uint32))
        array([  2, 255], dtype=uint8)
        """
        order, near = self.unpack(codes)
        dtype = vote_dtype(self.classes)
        return np.where(near[..., 0], np.iinfo(dtype).max, order[..., 0]).astype(dtype)


def pack_logits(logits: ArrayLike, tolerance: float = 0.0) -> Codes:
    """Return the packed rankings [...] of logits [..., classes]; two logits are near if they differ by `tolerance` or
    less.

    >>> logits = np.array([[0.1, 0.3, 2.0], [1.0, 1.0, 0.0]])
    >>> codes = pack_logits(logits, tolerance=0.5)
    >>> Packing.of(3).votes(codes).tolist(), Packing.of(3).ranks(codes).tolist()
    ([2, 255], [[1, 1, 0], [0, 0, 1]])
    """
    values = np.asarray(logits)
    if values.dtype.kind != "f" or values.ndim < 1 or not np.float64(tolerance) >= 0:
        raise VoteError(
            f"logits of dtype {values.dtype} and shape {values.shape}, tolerance = {tolerance}: give floats "
            "[..., classes] and a tolerance >= 0"
        )
    if np.isnan(values).any():
        raise VoteError("NaN logits have no ranking: check the weights and the input of the base")
    packing = Packing.of(values.shape[-1])
    order = np.argsort(-values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1).astype(np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf is near
        near = ~(ranked[..., :-1] - ranked[..., 1:] > tolerance)
    return np.asarray(packing.pack(order, near), dtype=np.uint32)


def pack_orders(orders: ArrayLike, near: ArrayLike | None = None) -> Codes:
    """Return the packed rankings [...] of classes given in order, best first, [..., classes]; `near` [..., classes - 1]
    says which neighbours are too close to call (by default none).

    >>> Packing.of(3).votes(pack_orders([[2, 0, 1], [0, 1, 2]]))
    array([2, 0], dtype=uint8)
    """
    order = np.asarray(orders)
    if order.dtype.kind not in "iu" or order.ndim < 1:
        raise VoteError(f"orders of dtype {order.dtype} and shape {order.shape}: give integers [..., classes]")
    order = order.astype(np.int64)
    if (np.sort(order, axis=-1) != np.arange(order.shape[-1])).any():
        raise VoteError(f"orders of shape {order.shape}: the last axis must hold every class 0..C-1 once")
    packing = Packing.of(order.shape[-1])
    close = np.zeros((*order.shape[:-1], packing.gaps), bool) if near is None else np.asarray(near, dtype=bool)
    if close.shape[:-1] != order.shape[:-1] or close.shape[-1] not in (packing.gaps, order.shape[-1] - 1):
        raise VoteError(f"near of shape {close.shape} for orders of shape {order.shape}: one entry per gap is needed")
    return np.asarray(packing.pack(order, close), dtype=np.uint32)


def checked_rankings(codes: ArrayLike, classes: int) -> Codes:
    """Return one image's packed rankings, flat, or a VoteError that says what is wrong."""
    array = np.asarray(codes)
    if array.dtype != np.uint32 or array.ndim != 1 or not len(array):
        raise VoteError(
            f"rankings of dtype {array.dtype} and shape {array.shape}: give those of one image, uint32, one entry per "
            "sample, as SmoothedClassifier.rankings or smoothing.pack_logits make them"
        )
    Packing.of(classes).unpack(array)
    return array
