"""Smoothing any classifier with a metric's outcomes, and certifying it from the votes."""

from smoothing._arrays import FromArrays
from smoothing._classifier import SmoothedClassifier
from smoothing._errors import InputError, RecordError, SchemeError, VoteError
from smoothing._function import SmoothedFunction
from smoothing._jitter import Jitter, measure_jitter
from smoothing._noise import Noise
from smoothing._quantize import digest, levels, quantize
from smoothing._record import Header, Record, data_fingerprint, model_fingerprint, vote_dataset
from smoothing._representation import channels
from smoothing._scheme import Scheme

__all__ = [
    "FromArrays",
    "Header",
    "InputError",
    "Jitter",
    "Noise",
    "Record",
    "RecordError",
    "Scheme",
    "SchemeError",
    "SmoothedClassifier",
    "SmoothedFunction",
    "VoteError",
    "channels",
    "data_fingerprint",
    "digest",
    "levels",
    "measure_jitter",
    "model_fingerprint",
    "quantize",
    "vote_dataset",
]
