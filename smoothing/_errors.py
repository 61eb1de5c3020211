"""What can go wrong between a design and a certificate; every class is an `ECMError`, hence a `ValueError`."""

from __future__ import annotations

from ecm._errors import ECMError


class SchemeError(ECMError):
    """A coupling, order, shape or representation that does not fit the design."""


class InputError(ECMError):
    """An input that is not a batch of levels 0..q (or floats exactly on the grid v/q) of the scheme's shape."""


class VoteError(ECMError):
    """The base classifier gave something no vote can be read from."""


class RecordError(ECMError):
    """A vote record on disk that is damaged or belongs to another run."""
