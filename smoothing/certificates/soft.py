"""Certificates for soft outputs: the base gives f in [0,1]^C, the smoothed one their sum; nothing is a vote."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import ArrayLike

from smoothing.certificates.certificate import Certificate, Threat, check_threat
from smoothing.certificates.certifier import checked_levels, diameter
from smoothing.certificates.vote_aware import VoteAware
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


def certify_soft_sums(sums: ArrayLike, unit: int, scheme: Scheme, threat: Threat = "features") -> Certificate:
    """Certify from the sums S_k of f_k over the samples alone: the radius is the minimum over k of (S_c - S_k)/(2B).

    `sums` are integers in units of 1/`unit` (outputs rounded to a fixed-point grid sample by sample, weights
    included), so nothing is lost to the order of summation. A tie for the top has no certificate.

    >>> from smoothing import Scheme
    >>> certify_soft_sums([100, 700, 0], 100, Scheme.l1(2, shape=(3,), q=4)).radius
    Fraction(3, 8)
    """
    check_threat(threat, scheme)
    given = np.asarray(sums)
    if given.dtype.kind not in "iu" or given.ndim != 1 or len(given) < 2:
        raise VoteError(f"sums of dtype {given.dtype}, shape {given.shape}: integers [classes], two classes at least")
    totals = given.tolist()
    if unit < 1 or min(totals) < 0 or max(totals) > scheme.total * unit:
        raise VoteError(
            f"sums span {min(totals)}..{max(totals)}: outputs in [0, 1] sum to 0..{scheme.total} * unit, unit = {unit}"
        )
    top = totals.index(max(totals))
    margin = min(totals[top] - s for k, s in enumerate(totals) if k != top)
    radius = Fraction(margin, 2 * scheme.total * unit) if margin > 0 else None
    return Certificate(top, "soft", radius, False, scheme.metric, scheme.q, scheme.shape, threat)


def certify_soft(
    outputs: ArrayLike, unit: int, levels: ArrayLike, scheme: Scheme, threat: Threat = "features"
) -> Certificate:
    """Certify with the vote-aware bound from all outputs [samples, classes]: integers 0..unit for f = output/unit.

    A touched sample brings rival k at most 1 + f_c - f_k, and k can win only if it gains S_c - S_k.

    >>> from smoothing import Scheme
    >>> outputs = np.array([[90, 10], [80, 20], [60, 40], [70, 30]])
    >>> ball = certify_soft(outputs, 100, np.array([0, 2, 4]), Scheme.l1(1, shape=(3,), q=4))
    >>> ball.prediction, float(ball.radius) > (300 - 100) / (2 * 4 * 100)
    (0, True)
    """
    array = np.asarray(outputs)
    if array.dtype.kind not in "iu" or array.ndim != 2 or len(array) != scheme.samples or array.shape[1] < 2:
        raise VoteError(f"outputs of dtype {array.dtype}, shape {array.shape}: integers [{scheme.samples}, classes]")
    soft = array.astype(np.int64)
    if unit < 1 or soft.min() < 0 or soft.max() > unit:
        raise VoteError(f"outputs span {soft.min()}..{soft.max()}: they stand for f = output/{unit} in [0, 1]")
    weights = np.ones(len(soft), np.int64) if scheme.weights is None else scheme.weights
    if scheme.total * unit >= 1 << 51:
        raise VoteError(f"unit = {unit} is too fine for exact sums of {scheme.total} samples: use at most 2**32")
    sums = weights @ soft
    plain = certify_soft_sums(sums, unit, scheme, threat)
    if plain.radius is None:
        return attrs.evolve(plain, method="soft_vote_aware")
    engine, top, best = VoteAware(scheme, threat, unit), plain.prediction, None
    for rival in np.argsort(-sums, kind="stable").tolist():
        need = int(sums[top] - sums[rival])
        least = Fraction(need, 2 * scheme.total * unit)
        if rival == top or (best is not None and least >= best):
            continue
        worth = (unit + soft[:, top] - soft[:, rival]) * weights
        value, _ = engine.against(checked_levels(levels, scheme), worth, need)
        if value is not None:
            best = max(value, least) if best is None else min(best, max(value, least))
    if best is None:
        return attrs.evolve(plain, method="soft_vote_aware", radius=diameter(scheme), closed=True, everywhere=True)
    return attrs.evolve(plain, method="soft_vote_aware", radius=best)
