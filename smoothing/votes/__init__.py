"""Votes: the smoothed classifier, how it is evaluated, and the record of its votes."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.votes.arrays import FromArrays
    from smoothing.votes.classifier import SmoothedClassifier
    from smoothing.votes.dataset import data_fingerprint, model_fingerprint, vote_dataset
    from smoothing.votes.early_stop import Decision, decide, ranking_chunks, vote_chunks
    from smoothing.votes.header import Header
    from smoothing.votes.jitter import Jitter, measure_jitter
    from smoothing.votes.logits import record_logits
    from smoothing.votes.record import Record, fitting_header
    from smoothing.votes.smoothed_function import UNIT, SmoothedFunction

__all__ = [
    "UNIT",
    "Decision",
    "FromArrays",
    "Header",
    "Jitter",
    "Record",
    "SmoothedClassifier",
    "SmoothedFunction",
    "data_fingerprint",
    "decide",
    "fitting_header",
    "measure_jitter",
    "model_fingerprint",
    "ranking_chunks",
    "record_logits",
    "vote_chunks",
    "vote_dataset",
]

__getattr__ = lazy(
    __name__,
    {
        "arrays": "FromArrays",
        "classifier": "SmoothedClassifier",
        "dataset": "data_fingerprint model_fingerprint vote_dataset",
        "early_stop": "Decision decide ranking_chunks vote_chunks",
        "header": "Header",
        "jitter": "Jitter measure_jitter",
        "logits": "record_logits",
        "record": "Record fitting_header",
        "smoothed_function": "SmoothedFunction UNIT",
    },
)
