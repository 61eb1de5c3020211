"""A certificate as a small JSON document that `checker.py`, which shares no code with this, checks again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothing.certificates import (
    RUNOFF_METHODS,
    Certificate,
    Packing,
    Tally,
    checked_levels,
    checked_rankings,
    checked_votes,
)
from smoothing.errors import VoteError
from smoothing.scheme import facts_of

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


def scheme_facts(scheme: Scheme) -> str:
    """Return what the certificates of all images under a scheme share, as JSON text: the checker's second file.

    The outcomes, their positions in the arranged lists, the offset of every site and the costs floor(scale * g(k/q)),
    with the fingerprint that is computed from them (`smoothing.scheme.facts`). For couplings that are not cyclic the
    checker recomputes the certificates from counts only.

    >>> from smoothing import Scheme
    >>> shared = json.loads(scheme_facts(Scheme.l1(2, shape=(3,), q=4)))
    >>> shared["metric"], shared["budget"], shared["widths"]
    (['z/2'], 8, [[[4, 1]]])
    """
    return json.dumps(facts_of(scheme) | {"scheme_fingerprint": scheme.fingerprint})


def certificate_document(
    certificate: Certificate, votes: ArrayLike, levels: ArrayLike, scheme: Scheme, *, classes: int, shared: str
) -> str:
    """Return the certificate of one image as JSON text; `shared` is `scheme_facts(scheme)`, made once for all images.

    The checker reads it with the facts and the files of `vote_bytes(votes)` and `level_bytes(levels)`. For a run-off
    the `votes` are the packed rankings.

    >>> from smoothing import Scheme, certify
    >>> scheme, image = Scheme.l1(2, shape=(3,), q=4), np.array([0, 2, 4])
    >>> votes = np.array([1, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> ball, shared = certify(votes, image, scheme, classes=2), scheme_facts(scheme)
    >>> text = certificate_document(ball, votes, image, scheme, classes=2, shared=shared)
    >>> found = json.loads(text)
    >>> found["prediction"], found["radius"], found["ball"], found["counts"]
    (1, '3/8', 'open', [1, 7])
    """
    image = checked_levels(levels, scheme)
    if certificate.method not in ("paper", "integer", "vote_aware", *RUNOFF_METHODS):
        raise VoteError(f"a {certificate.method} certificate does not follow from votes alone: it has no document")
    array: NDArray[np.unsignedinteger]
    if certificate.rule == "runoff":
        array = checked_rankings(votes, classes)
        tally = Tally.of(Packing.of(classes).votes(array), classes, scheme.weights)
    else:
        array = checked_votes(votes, classes)
        tally = Tally.of(array, classes, scheme.weights)
    fields: dict[str, Any] = {
        "format": "ecm-certificate/1",
        "image_sha256": hashlib.sha256(f"{scheme.shape}".encode() + level_bytes(image)).hexdigest(),
        "scheme_fingerprint": scheme.fingerprint,
        "facts_sha256": hashlib.sha256(shared.encode()).hexdigest(),
        "metric": _texts(scheme),
        "shape": list(scheme.shape),
        "q": scheme.q,
        "budget": scheme.total,
        "classes": classes,
        "counts": list(tally.counts),
        "unsure": tally.unsure,
        "vote_bytes": array.itemsize,
        "votes_sha256": hashlib.sha256(vote_bytes(array)).hexdigest(),
        "rule": certificate.rule,
        "prediction": certificate.prediction,
        "method": certificate.method,
        "threat": certificate.threat,
        "radius": None if certificate.radius is None else str(certificate.radius),
        "ball": "closed" if certificate.closed else "open",
        "everywhere": certificate.everywhere,
        "multipliers": [list(pair) for pair in certificate.multipliers],
        "races": [list(race) for race in certificate.races],
    }
    return json.dumps(fields, indent=1)


def vote_bytes(votes: ArrayLike) -> bytes:
    """Return the votes as the checker reads them: little-endian, one or two bytes each; packed rankings, four bytes
    each.

    >>> vote_bytes(np.array([1, 0, 255], dtype=np.uint8))
    b'\\x01\\x00\\xff'
    """
    array = np.asarray(votes)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def level_bytes(levels: ArrayLike) -> bytes:
    """Return the image as the checker reads it: four bytes per level, little-endian, in C order.

    >>> level_bytes([1, 2])
    b'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'
    """
    return np.asarray(levels).astype("<i4").tobytes()


def _texts(scheme: Scheme) -> list[str]:
    return [profile.text for profile in scheme.metric.components]
