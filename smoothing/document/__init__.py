"""Certificates as documents, and the independent checker that shares no code with the rest."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.document.document import certificate_document, level_bytes, scheme_facts, vote_bytes

__all__ = ["certificate_document", "level_bytes", "scheme_facts", "vote_bytes"]

__getattr__ = lazy(
    __name__,
    {
        "document": "certificate_document level_bytes scheme_facts vote_bytes",
    },
)
