"""Documents made to do harm are rejected at once and without filling the memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from smoothing import Certifier, Scheme, certificate_document, level_bytes, scheme_facts, vote_bytes
from smoothing.document import checker
from tests.smoothing.document.test_document import forged

HUGE = 2**40
ENORMOUS: dict[str, dict[str, Any]] = {
    "features without end": {"shape": [2, HUGE]},
    "a first side without end": {"shape": [HUGE]},
    "no features, in groups without end": {"shape": [HUGE, 0]},
    "negative sides": {"shape": [-HUGE, -HUGE]},
    "a grid without end": {"q": HUGE},
    "a budget without end": {"budget": HUGE},
    "a width without end": {"widths": [[[HUGE, 1]]]},
    "a width times without end": {"widths": [[[1, HUGE]]]},
    "costs in units that take forever": {"scale": 10**4000, "metric": ["z**(998/999)"]},
    "a budget that takes forever": {"budget": 10**4000, "metric": ["z**(998/999)"]},
    "classes without end": {"classes": HUGE},
    "classes by the million": {"classes": 10**8},
    "rankings of classes without end": {"classes": HUGE, "rule": "runoff", "vote_bytes": 4},
    "rankings of classes by the million": {"classes": 10**8, "rule": "runoff", "vote_bytes": 4},
}


@pytest.mark.parametrize("name", ENORMOUS)
def test_sizes_are_compared_before_anything_is_made_of_them(name: str) -> None:
    """With right digests and a right fingerprint, so that nothing else stops them."""
    scheme, image, votes = Scheme.l1(2, shape=(3,), q=4), np.array([0, 2, 4]), np.array([1] * 8, np.uint8)
    facts = scheme_facts(scheme)
    text = certificate_document(Certifier(scheme, 2)(votes, image), votes, image, scheme, classes=2, shared=facts)
    changes = ENORMOUS[name]
    own = {key: value for key, value in changes.items() if key not in json.loads(facts)}
    shared = {key: value for key, value in changes.items() if key not in own}
    document = json.loads(text) | own | ({"image_sha256": digest(shared["shape"])} if "shape" in shared else {})
    claim = forged(document, facts, vote_bytes(votes), level_bytes(image), **shared)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises((checker.Rejected, OverflowError)):
            checker.check(*claim)
        assert time.perf_counter() - began < 5
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def digest(shape: list[int]) -> str:
    """Of the image 0, 2, 4 in that shape."""
    import hashlib

    return hashlib.sha256(str(tuple(shape)).encode() + level_bytes(np.array([0, 2, 4]))).hexdigest()
