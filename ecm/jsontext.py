"""Objects as JSON text: how all of them are read, and what is said about text that is none of theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from ecm.errors import ECMError


def read_json(text: str | bytes) -> Any:
    """Return JSON that anybody may have written: ValueError for what is none, however it is nested.

    >>> read_json("[" * 200_000)
    Traceback (most recent call last):
        ...
    ValueError: nested too deeply to be read
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


@attrs.frozen
class JsonForm:
    """The JSON of one kind of object: `what` it is, which formats are read, the error for text that is none, and where
    good text comes from.

    >>> form = JsonForm("a metric", ("ecm-metric/1",), ECMError, "pass what ECM.to_json wrote")
    >>> with form.reading('{"format": "ecm-metric/1"}') as fields:
    ...     fields["groups"]
    Traceback (most recent call last):
        ...
    ecm.errors.ECMError: not the JSON of a metric (KeyError('groups')): pass what ECM.to_json wrote
    """

    what: str
    formats: tuple[str, ...]
    error: type[ECMError]
    advice: str

    @contextmanager
    def reading(self, text: str | bytes) -> Iterator[dict[str, Any]]:
        """The fields of an object of this format. What the block does with them may fail as damaged text makes it fail
        (a missing entry, a wrong type): that is the same error."""
        try:
            fields = read_json(text)
            if (found := fields["format"]) not in self.formats:
                wanted = " or ".join(map(repr, self.formats))
                raise self.error(f"{self.what} has the format {found!r}, not {wanted}: make it again with this version")
            yield fields
        except ECMError:  # raised on purpose
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise self.error(f"not the JSON of {self.what} ({error!r}): {self.advice}") from error
