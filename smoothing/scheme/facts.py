"""The facts of a scheme: all that decides a vote's place or a radius, as plain data, and their fingerprint.

The fingerprint of a scheme is the sha256 of its facts and of nothing else. Whoever holds the facts can therefore
compute it again, with the standard library alone: `smoothing/document/checker.py` does.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ecm.allocation import PeriodicOutcomes

if TYPE_CHECKING:
    from smoothing.scheme.scheme import Scheme

FORMAT = "ecm-facts/2"


def cost_scale(total: int) -> int:
    """Return denominator of the costs: fine enough for a multiplier of about 1/(2 * total) to have 24 bits.

    >>> cost_scale(2304) == 2**40
    True
    """
    return 1 << min(60, max(40, 25 + total.bit_length()))


def facts_of(scheme: Scheme) -> dict[str, Any]:
    """Return everything about the scheme that a certificate depends on.

    - `rows`: the divider gaps of every finite outcome, by component; for periodic designs `widths` instead, pairs of a
      width in levels and how often its full set of offsets stands in the list;
    - `positions`: where each finite outcome stands in its component's arranged list;
    - `offsets` of all sites; the seed and the rule of the permutations; the (width, phase) and the weight of every
      sample: each for the coupling that has it;
    - `costs`: floor(scale * g(k/q)), k = 0..q, by component.

    >>> from smoothing import Scheme
    >>> facts = facts_of(Scheme.l1(2, shape=(3,), q=4, coupling="independent", order="published"))
    >>> facts["metric"], facts["widths"], facts["positions"], len(facts["offsets"])
    (['z/2'], [[[4, 1]]], [[0, 1, 2, 3]], 3)
    """
    coupling = "cyclic" if scheme.cyclic else scheme.coupling
    outcomes, scale = scheme.design.outcomes, cost_scale(scheme.total)
    periodic = [part.weights for part in outcomes if isinstance(part, PeriodicOutcomes)]
    listed = len(periodic) < len(outcomes)
    return {
        "format": FORMAT,
        "metric": [profile.text for profile in scheme.metric.components],
        "groups": list(scheme.metric.groups),
        "shape": list(scheme.shape),
        "q": scheme.q,
        "budget": scheme.total,
        "coupling": coupling,
        "pixel": scheme.pixel,
        "representation": scheme.representation,
        "rows": [[row.tolist() for row in part.rows()] for part in outcomes] if listed else None,
        "widths": None if listed else [[list(pair) for pair in weights] for weights in periodic],
        "positions": [] if coupling == "global" else [part.tolist() for part in finite_positions(scheme)],
        "offsets": [] if coupling == "permutation" else scheme.offsets.tolist(),
        "permutations": _permutations(scheme) if coupling == "permutation" else None,
        "samples": _samples(scheme) if coupling == "global" else None,
        "weights": None if scheme.weights is None else scheme.weights.tolist(),
        "scale": scale,
        "costs": [floors.tolist() for floors in scheme.metric.floors(scale, scheme.q)],
    }


def fingerprint_of(facts: dict[str, Any]) -> str:
    """Return sha256 (hex) of the facts as canonical JSON: keys sorted, no spaces.

    >>> from smoothing import Scheme
    >>> scheme = Scheme.l1(2, shape=(3,), q=4)
    >>> fingerprint_of(facts_of(scheme)) == scheme.fingerprint
    True
    """
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def finite_positions(scheme: Scheme) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return where in its component's arranged list each finite outcome stands, by outcome."""
    found = []
    for entries, part in zip(scheme.lists, scheme.design.outcomes, strict=True):
        places = np.flatnonzero(entries < part.finite)
        found.append(places[np.argsort(entries[places])])
    return found


def _samples(scheme: Scheme) -> list[list[int]]:
    """Return (width, phase) of every sample of the global coupling; (0, 0) is the one without dividers."""
    width, phase, start, _ = scheme.combs
    shown = start < scheme.design.outcomes[0].finite
    return np.stack([np.where(shown, width, 0), phase], axis=1).tolist()  # type: ignore[no-any-return]


def _permutations(scheme: Scheme) -> dict[str, Any]:
    """Return what determines all sites' permutations: NumPy has frozen that generator's stream. They themselves are too
    many to be listed, and no radius that the checker computes depends on them."""
    return {"seed": scheme.seed, "of_site": "numpy.random.RandomState([seed, 2, site]).permutation(budget)"}
