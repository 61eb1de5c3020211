"""What can go wrong with data, models and runs. Every error says what was given and what to do about it."""

from __future__ import annotations

from ecm.errors import ECMError


class DataError(ECMError):
    """A data set that is unknown, missing, truncated or corrupt, or arrays that do not form one.

    >>> from zoo import load_data
    >>> load_data("digitz")
    Traceback (most recent call last):
        ...
    zoo.errors.DataError: 'digitz' is neither a data set ... nor a folder of images; did you mean 'digits'?
    """


class ModelError(ECMError):
    """A model that is unknown or does not fit the data, or a folder that is not one of ours.

    >>> from zoo import load
    >>> load("no such model")
    Traceback (most recent call last):
        ...
    zoo.errors.ModelError: 'no such model' is neither the folder of a model nor a known name; known names: ...
    """


class TrainingError(ECMError):
    """Settings that make no run, a run that cannot go on, or a device that is not there.

    >>> from zoo import Recipe
    >>> Recipe(epochs=10, objective="stabilty")
    Traceback (most recent call last):
        ...
    zoo.errors.SettingError: objective = 'stabilty': write one of noisy, stability, consistency, radius
    """


class SettingError(TrainingError):
    """A setting of a training that makes no run: what was given is wrong, not what was done with it."""


class CheckpointError(TrainingError):
    """A checkpoint that cannot be read, is damaged, or belongs to another run.

    >>> from pathlib import Path
    >>> from zoo.files import load_tensors
    >>> load_tensors(Path("weights.safetensors"), advice="restore it")
    Traceback (most recent call last):
        ...
    zoo.errors.CheckpointError: weights.safetensors is missing; restore it
    """


class CertifyError(ECMError):
    """A certification run that cannot go on: a full disk, a place that cannot be written.

    >>> from zoo import export
    >>> export("digits-l0.5-a4", [10000], "certificates")
    Traceback (most recent call last):
        ...
    zoo.errors.CertifyError: image 10000 has no votes in ...: certify more of them first
    """
