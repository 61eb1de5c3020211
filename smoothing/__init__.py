"""Smoothing any classifier with a metric's outcomes, and certifying it from the votes.

A `Scheme` fixes the smoothed function, `Noise` shows its samples, `SmoothedClassifier` votes, a `Record` keeps the
votes, and `certify` makes a `Certificate` of them. torch loads with the first name that needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smoothing.errors import InputError, RecordError, SchemeError, VoteError

if TYPE_CHECKING:
    from smoothing.certificates import (
        ABSTAIN,
        DEFAULT_RULE,
        Certificate,
        Certifier,
        Packing,
        RandomizedCertificate,
        RandomizedSmoothing,
        Tally,
        certify,
        certify_all,
        certify_runoff,
        certify_soft,
        certify_soft_sums,
        pack_logits,
        pack_orders,
    )
    from smoothing.document import certificate_document, level_bytes, scheme_facts, vote_bytes
    from smoothing.scheme import Noise, Scheme, channels, digest, levels, quantize
    from smoothing.verification import BruteForce
    from smoothing.votes import (
        UNIT,
        Decision,
        FromArrays,
        Header,
        Jitter,
        Record,
        SmoothedClassifier,
        SmoothedFunction,
        data_fingerprint,
        decide,
        measure_jitter,
        model_fingerprint,
        ranking_chunks,
        record_logits,
        vote_chunks,
        vote_dataset,
    )

_LAZY = {
    "ABSTAIN": "certificates",
    "BruteForce": "verification",
    "Certificate": "certificates",
    "Certifier": "certificates",
    "DEFAULT_RULE": "certificates",
    "Decision": "votes",
    "FromArrays": "votes",
    "Header": "votes",
    "Jitter": "votes",
    "Noise": "scheme",
    "Packing": "certificates",
    "RandomizedCertificate": "certificates",
    "RandomizedSmoothing": "certificates",
    "Record": "votes",
    "Scheme": "scheme",
    "SmoothedClassifier": "votes",
    "SmoothedFunction": "votes",
    "Tally": "certificates",
    "UNIT": "votes",
    "certificate_document": "document",
    "certify": "certificates",
    "certify_all": "certificates",
    "certify_runoff": "certificates",
    "certify_soft": "certificates",
    "certify_soft_sums": "certificates",
    "channels": "scheme",
    "data_fingerprint": "votes",
    "decide": "votes",
    "digest": "scheme",
    "level_bytes": "document",
    "levels": "scheme",
    "measure_jitter": "votes",
    "model_fingerprint": "votes",
    "pack_logits": "certificates",
    "pack_orders": "certificates",
    "quantize": "scheme",
    "ranking_chunks": "votes",
    "record_logits": "votes",
    "scheme_facts": "document",
    "vote_bytes": "document",
    "vote_chunks": "votes",
    "vote_dataset": "votes",
}

__all__ = [
    "ABSTAIN",
    "DEFAULT_RULE",
    "UNIT",
    "BruteForce",
    "Certificate",
    "Certifier",
    "Decision",
    "FromArrays",
    "Header",
    "InputError",
    "Jitter",
    "Noise",
    "Packing",
    "RandomizedCertificate",
    "RandomizedSmoothing",
    "Record",
    "RecordError",
    "Scheme",
    "SchemeError",
    "SmoothedClassifier",
    "SmoothedFunction",
    "Tally",
    "VoteError",
    "certificate_document",
    "certify",
    "certify_all",
    "certify_runoff",
    "certify_soft",
    "certify_soft_sums",
    "channels",
    "data_fingerprint",
    "decide",
    "digest",
    "level_bytes",
    "levels",
    "measure_jitter",
    "model_fingerprint",
    "pack_logits",
    "pack_orders",
    "quantize",
    "ranking_chunks",
    "record_logits",
    "scheme_facts",
    "vote_bytes",
    "vote_chunks",
    "vote_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"smoothing.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'smoothing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
