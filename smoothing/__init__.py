"""Smoothing any classifier with a metric's outcomes, and certifying it from the votes.

A `Scheme` fixes the smoothed function, `Noise` shows its samples, `SmoothedClassifier` votes, a `Record` keeps the
votes, and `certify` makes a `Certificate` of them. torch loads with the first name that needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smoothing._errors import InputError, RecordError, SchemeError, VoteError

if TYPE_CHECKING:
    from smoothing._arrays import FromArrays
    from smoothing._brute_force import BruteForce
    from smoothing._certificates import (
        Certificate,
        Certifier,
        Tally,
        certify,
        certify_all,
        certify_runoff,
        certify_soft,
        certify_soft_sums,
    )
    from smoothing._classifier import SmoothedClassifier
    from smoothing._document import certificate_document, level_bytes, scheme_facts, vote_bytes
    from smoothing._early import Decision, decide, ranking_chunks, vote_chunks
    from smoothing._function import UNIT, SmoothedFunction
    from smoothing._jitter import Jitter, measure_jitter
    from smoothing._logits import record_logits
    from smoothing._noise import Noise
    from smoothing._quantize import digest, levels, quantize
    from smoothing._randomized import ABSTAIN, RandomizedCertificate, RandomizedSmoothing
    from smoothing._ranking import Packing, pack_logits, pack_orders
    from smoothing._record import Header, Record, data_fingerprint, model_fingerprint, vote_dataset
    from smoothing._representation import channels
    from smoothing._rule import DEFAULT_RULE
    from smoothing._scheme import Scheme

_LAZY = {
    "ABSTAIN": "_randomized",
    "BruteForce": "_brute_force",
    "Certificate": "_certificates",
    "Certifier": "_certificates",
    "DEFAULT_RULE": "_rule",
    "Decision": "_early",
    "FromArrays": "_arrays",
    "Header": "_record",
    "Jitter": "_jitter",
    "Noise": "_noise",
    "Packing": "_ranking",
    "RandomizedCertificate": "_randomized",
    "RandomizedSmoothing": "_randomized",
    "Record": "_record",
    "Scheme": "_scheme",
    "SmoothedClassifier": "_classifier",
    "SmoothedFunction": "_function",
    "Tally": "_certificates",
    "UNIT": "_function",
    "certificate_document": "_document",
    "certify": "_certificates",
    "certify_all": "_certificates",
    "certify_runoff": "_certificates",
    "certify_soft": "_certificates",
    "certify_soft_sums": "_certificates",
    "channels": "_representation",
    "data_fingerprint": "_record",
    "decide": "_early",
    "digest": "_quantize",
    "level_bytes": "_document",
    "levels": "_quantize",
    "measure_jitter": "_jitter",
    "model_fingerprint": "_record",
    "pack_logits": "_ranking",
    "pack_orders": "_ranking",
    "quantize": "_quantize",
    "ranking_chunks": "_early",
    "record_logits": "_logits",
    "scheme_facts": "_document",
    "vote_bytes": "_document",
    "vote_chunks": "_early",
    "vote_dataset": "_record",
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
