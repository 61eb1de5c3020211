"""The integer certificate: the number of samples that change is an integer, so the ball can be larger, and open."""

from __future__ import annotations

from fractions import Fraction

from smoothing.certificates.tally import Tally


def integer_bound(need: int, total: int) -> Fraction:
    """Return the distance below which a rival with this need >= 1 cannot win: d < ceil(need/2)/B.

    The rival needs ceil(need/2) changed samples, and at most floor(B d) samples change.

    >>> integer_bound(3, 10)
    Fraction(1, 5)
    """
    return Fraction((need + 1) // 2, total)


def integer_radius(tally: Tally) -> Fraction | None:
    """Return the least bound over all rivals, the radius of an OPEN ball; None if a need is <= 0.

    With M = floor((n_c - n_k - [k < c])/2) this is (M + 1)/B.
    """
    if tally.least_need <= 0:
        return None
    return integer_bound(tally.least_need, tally.total)
