"""What can go wrong between a design and a certificate; every class is an `ECMError`, hence a `ValueError`."""

from __future__ import annotations

from ecm.errors import ECMError


class SchemeError(ECMError):
    """A coupling, order, shape or representation that does not fit the design.

    >>> from smoothing import Scheme
    >>> Scheme.l1(2, shape=(), q=4)
    Traceback (most recent call last):
        ...
    smoothing.errors.SchemeError: shape (): write the shape of one input, e.g. (3, 32, 32) or (12,)
    """


class InputError(ECMError):
    """An input that is not a batch of levels 0..q (or floats exactly on the grid v/q) of the scheme's shape.

    >>> import numpy as np
    >>> from smoothing import levels
    >>> levels(np.array([[0, 2, 5]]), q=4, shape=(3,))
    Traceback (most recent call last):
        ...
    smoothing.errors.InputError: the input spans 0..5; levels are 0..4
    """


class VoteError(ECMError):
    """The base classifier gave something no vote can be read from.

    >>> from smoothing import Scheme, certify
    >>> certify([1, 0], [0, 2, 4], Scheme.l1(2, shape=(3,), q=4), classes=2)
    Traceback (most recent call last):
        ...
    smoothing.errors.VoteError: votes of dtype int64: store classes as uint8, or as uint16 above 255 classes
    """


class RecordError(ECMError):
    """A vote record on disk that is damaged or belongs to another run.

    >>> from smoothing import Record
    >>> Record.open("no such folder")
    Traceback (most recent call last):
        ...
    smoothing.errors.RecordError: no such folder holds no vote record: header.json is missing
    """
