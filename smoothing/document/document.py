"""A certificate as a small JSON document that `checker.py`, which shares no code with this, checks again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from smoothing.certificates import Certificate, Tally, VoteAware, checked_levels, checked_votes
from smoothing.errors import VoteError

if TYPE_CHECKING:
    from smoothing.scheme import Scheme


def scheme_facts(scheme: Scheme) -> str:
    """What the certificates of all images under a scheme share, as JSON text: the checker's second file.

    The divider gaps of every finite outcome, its position in the arranged list, the offset of every site and the costs
    floor(scale * g(k/q)). For couplings other than cyclic there are no positions, and the checker then recomputes the
    certificates from counts only.

    >>> from smoothing import Scheme
    >>> shared = json.loads(scheme_facts(Scheme.l1(2, shape=(3,), q=4)))
    >>> shared["metric"], shared["budget"], shared["rows"]
    (['z/2'], 8, [[[1], [2], [3], [4]]])
    """
    scale = VoteAware(scheme).scale
    cyclic = scheme.cyclic
    outcomes = scheme.design.outcomes
    order = np.argsort(scheme.lists, axis=1) if cyclic else ()
    return json.dumps(
        {
            "format": "ecm-facts/1",
            "scheme_fingerprint": scheme.fingerprint,
            "metric": _texts(scheme),
            "groups": list(scheme.metric.groups),
            "shape": list(scheme.shape),
            "q": scheme.q,
            "budget": scheme.total,
            "weights": None if scheme.weights is None else scheme.weights.tolist(),
            "coupling": scheme.coupling,
            "pixel": scheme.pixel,
            "offsets": scheme.offsets.tolist() if cyclic else [],
            "positions": [row[: o.finite].tolist() for row, o in zip(order, outcomes, strict=True)] if cyclic else [],
            "rows": [[row.tolist() for row in part.rows()] for part in outcomes],
            "scale": scale,
            "costs": [floors.tolist() for floors in scheme.metric.floors(scale, scheme.q)],
        }
    )


def certificate_document(
    certificate: Certificate, votes: ArrayLike, levels: ArrayLike, scheme: Scheme, *, classes: int, shared: str
) -> str:
    """The certificate of one image as JSON text; `shared` is `scheme_facts(scheme)`, made once for all images.

    The checker reads it with the facts and the files of `vote_bytes(votes)` and `level_bytes(levels)`.

    >>> from smoothing import Scheme, certify
    >>> scheme, image = Scheme.l1(2, shape=(3,), q=4), np.array([0, 2, 4])
    >>> votes = np.array([1, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> ball, shared = certify(votes, image, scheme, classes=2), scheme_facts(scheme)
    >>> text = certificate_document(ball, votes, image, scheme, classes=2, shared=shared)
    >>> found = json.loads(text)
    >>> found["prediction"], found["radius"], found["ball"], found["counts"]
    (1, '3/8', 'open', [1, 7])
    """
    array, image = checked_votes(votes, classes), checked_levels(levels, scheme)
    if certificate.method not in ("paper", "integer", "vote_aware"):
        raise VoteError(f"a {certificate.method} certificate does not follow from votes alone: it has no document")
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
        "prediction": certificate.prediction,
        "method": certificate.method,
        "threat": certificate.threat,
        "radius": None if certificate.radius is None else str(certificate.radius),
        "ball": "closed" if certificate.closed else "open",
        "everywhere": certificate.everywhere,
        "multipliers": [list(pair) for pair in certificate.multipliers],
    }
    return json.dumps(fields, indent=1)


def vote_bytes(votes: ArrayLike) -> bytes:
    """The votes as the checker reads them: little-endian, one or two bytes each.

    >>> vote_bytes(np.array([1, 0, 255], dtype=np.uint8))
    b'\\x01\\x00\\xff'
    """
    array = np.asarray(votes)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def level_bytes(levels: ArrayLike) -> bytes:
    """The image as the checker reads it: four bytes a level, little-endian, in C order.

    >>> level_bytes([1, 2])
    b'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'
    """
    return np.asarray(levels).astype("<i4").tobytes()


def _texts(scheme: Scheme) -> list[str]:
    return [profile.text for profile in scheme.metric.components]
