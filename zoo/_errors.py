"""What can go wrong with data, models and runs. Every error says what was given and what to do about it."""

from __future__ import annotations

from ecm._errors import ECMError


class DataError(ECMError):
    """A data set that is unknown, missing, truncated or corrupt, or arrays that do not form one."""


class ModelError(ECMError):
    """A model that is unknown or does not fit the data, or a folder that is not one of ours."""


class TrainingError(ECMError):
    """Settings that make no run, a run that cannot go on, or a device that is not there."""


class CheckpointError(TrainingError):
    """A checkpoint that cannot be read, is damaged, or belongs to another run."""


class CertifyError(ECMError):
    """A certification run that cannot go on: a full disk, a place that cannot be written."""
