"""Smoothing any classifier with a metric's outcomes, and certifying it from the votes."""

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
from smoothing._early import Decision, decide, vote_chunks
from smoothing._errors import InputError, RecordError, SchemeError, VoteError
from smoothing._function import UNIT, SmoothedFunction
from smoothing._jitter import Jitter, measure_jitter
from smoothing._noise import Noise
from smoothing._quantize import digest, levels, quantize
from smoothing._randomized import ABSTAIN, RandomizedCertificate, RandomizedSmoothing
from smoothing._record import Header, Record, data_fingerprint, model_fingerprint, vote_dataset
from smoothing._representation import channels
from smoothing._scheme import Scheme

__all__ = [
    "ABSTAIN",
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
    "quantize",
    "scheme_facts",
    "vote_bytes",
    "vote_chunks",
    "vote_dataset",
]
