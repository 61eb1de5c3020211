"""The facts say everything about a scheme that its definition says, and the fingerprint is that of all of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from ecm import ECM
from ecm.design import Design
from smoothing import Scheme
from smoothing.scheme.facts import cost_scale, facts_of, fingerprint_of

PERIODIC = Design.from_weights(ECM.l0(1), {3: 1, 5: 1}, 5, 10)
FULL = Design.from_weights(ECM.l0(1), {3: 1, 5: 1}, 5, 8)
PARTS = Design.from_rows(ECM.grouped([ECM.l0(1), ECM.l0(2)]), [[[1], [2, 4], [1, 3]], [[4], [1, 2, 3]]], 4, 7)


@pytest.mark.parametrize(
    ("total", "bits"), [(1, 40), (2**14, 40), (2**15 - 1, 40), (2**15, 41), (2**34 - 1, 59), (2**34, 60), (2**40, 60)]
)
def test_costs_have_25_bits_more_than_the_budget(total: int, bits: int) -> None:
    """At least 40 bits and at most 60, so that integers of 64 bits hold them."""
    assert cost_scale(total) == 2**bits


@pytest.mark.parametrize("design", [PERIODIC, FULL, PARTS], ids=["periodic", "full", "rows"])
@pytest.mark.parametrize("coupling", ["spread", "independent", "permutation", "global"])
def test_facts_are_those_of_the_scheme(design: Design, coupling: Any) -> None:
    """Each coupling has its own facts and none of another, and they name the outcome of every feature and sample."""
    if coupling == "global" and design is PARTS:
        return
    scheme = Scheme(design, (2, 3), coupling=coupling, seed=5)
    facts = facts_of(scheme)
    assert facts["coupling"] == {"spread": "cyclic", "independent": "cyclic"}.get(coupling, coupling)
    assert (facts["rows"] is None) == (facts["widths"] is not None) == (design is not PARTS)
    assert facts["offsets"] == ([] if coupling == "permutation" else scheme.offsets.tolist())
    rule = "numpy.random.RandomState([seed, 2, site]).permutation(budget)"
    assert facts["permutations"] == ({"seed": 5, "of_site": rule} if coupling == "permutation" else None)
    if coupling == "permutation":
        found = np.random.RandomState([5, 2, 4]).permutation(scheme.total)
        assert scheme.permutation(4).tolist() == found.tolist()
    assert (facts["samples"] is None) == (facts["weights"] is None) == (coupling != "global")
    assert (facts["positions"] == []) == (coupling == "global")
    for component, positions in enumerate(facts["positions"]):
        entries = scheme.lists[component]
        assert entries[positions].tolist() == list(range(design.outcomes[component].finite))
    if coupling == "global":
        rest = scheme.total - 8
        samples = {(width, phase): 1 for width in (3, 5) for phase in range(width)} | ({(0, 0): rest} if rest else {})
        assert samples == dict(zip(map(tuple, facts["samples"]), facts["weights"], strict=True))
        shown = [width for width, _ in facts["samples"]]
        assert (np.array(shown) > 0).tolist() == (scheme.outcome(0, np.arange(len(shown))) < 8).tolist()


def test_every_fact_counts_and_their_order_does_not() -> None:
    """The fingerprint is the sha256 of the facts with sorted keys; changing any one of them changes it."""
    facts = facts_of(Scheme(PERIODIC, (2, 3)))
    text = json.dumps({name: facts[name] for name in sorted(facts)}, separators=(",", ":"))
    assert fingerprint_of(facts) == hashlib.sha256(text.encode()).hexdigest()
    assert fingerprint_of(dict(reversed(facts.items()))) == fingerprint_of(facts)
    prints = {fingerprint_of(facts | {name: "another"}) for name in facts}
    assert len(prints | {fingerprint_of(facts)}) == len(facts) + 1 == 19
