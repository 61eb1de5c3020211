"""The paper's certificate: a closed ball whose radius is half the margin of the shares (Levine & Feizi 2022)."""

from __future__ import annotations

from fractions import Fraction

from smoothing.certificates.tally import Tally


def paper_radius(tally: Tally) -> Fraction | None:
    """Return r = min over rivals of (n_c - n_k - [k < c]) / (2B): every y with d(x, y) <= r gets class c.

    Since need = margin + 1, this is (need - 1)/(2B), which also holds with unsure votes; None if a need is <= 0.

    >>> paper_radius(Tally((2, 7, 1), unsure=0, total=10))
    Fraction(1, 5)
    """
    if tally.least_need <= 0:
        return None
    return Fraction(tally.least_need - 1, 2 * tally.total)
