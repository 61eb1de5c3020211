"""The header of a vote record: what its votes are of, and how a row is laid out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.jsontext import JsonForm
from smoothing.certificates import vote_dtype
from smoothing.errors import RecordError, VoteError

FORMAT, UNBOUND = "ecm-votes-2", "ecm-votes-1"
_FORM = JsonForm(
    "the header of a vote record", (FORMAT, UNBOUND), RecordError, "was the folder written by vote_dataset?"
)
RANKINGS = "rankings"


def _columns(columns: Mapping[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    found = {name: (str(dtype), tuple(int(n) for n in shape)) for name, (dtype, shape) in columns.items()}
    for name, (dtype, _) in found.items():
        if np.dtype(dtype).kind not in "biuf":  # an object would be a pointer into the memory of whoever wrote the file
            raise RecordError(f"the column {name!r} has the type {dtype}: write a type of plain numbers, such as '<i8'")
    return found


def _tolerance(_: object, attribute: object, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise RecordError(f"tolerance = {value!r}: the tolerance is a difference of two logits, a number >= 0")


@attrs.frozen
class Header:
    """The scheme, model and data that a record belongs to. Two runs may share a record only if these are equal.

    `columns` are further arrays a row holds (name -> (dtype, shape)), for certificates that need more than the votes:
    the samples' packed rankings ("rankings", [samples], see `ranked`), soft sums ("sums", [classes]), and so on.
    The rows' checksums start from the header's own, so that rows of another run are not taken for this one's (in the
    older `format` "ecm-votes-1" they start from 0).

    >>> header = Header("scheme", "model", "data", samples=512, classes=10, tolerance=1e-4)
    >>> header.dtype["votes"].shape, Header.from_json(header.to_json()) == header
    ((512,), True)
    """

    scheme: str = attrs.field(validator=attrs.validators.instance_of(str))
    model: str = attrs.field(validator=attrs.validators.instance_of(str))
    data: str = attrs.field(validator=attrs.validators.instance_of(str))
    samples: int
    classes: int
    tolerance: float = attrs.field(validator=_tolerance)
    columns: Mapping[str, tuple[str, tuple[int, ...]]] = attrs.field(factory=dict, converter=_columns)
    format: str = attrs.field(default=FORMAT, validator=attrs.validators.in_((FORMAT, UNBOUND)), eq=False)

    @property
    def ranked(self) -> bool:
        """Whether the record holds rankings, which a run-off needs; older records hold only votes."""
        return RANKINGS in self.columns

    def with_rankings(self) -> Header:
        """Return this header with a column for the packed rankings, four bytes per sample.

        >>> Header("scheme", "model", "data", samples=4, classes=2, tolerance=0.0).with_rankings().columns
        {'rankings': ('<u4', (4,))}
        """
        return attrs.evolve(self, columns={**self.columns, RANKINGS: ("<u4", (self.samples,))})

    def checksum(self, row: NDArray[np.void] | np.void) -> int:
        """Return CRC32 of a row without its last field, begun with that of the header."""
        start = 0 if self.format == UNBOUND else zlib.crc32(self.to_json().encode())
        return zlib.crc32(row.tobytes()[:-4], start)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One row: the image's index in the data set, the sha256 of its levels, its votes, the (weighted) counts of the
        sure ones, further columns, CRC32 of all before."""
        votes = vote_dtype(self.classes).newbyteorder("<")
        more = [(name, dtype, shape) for name, (dtype, shape) in self.columns.items()]
        return np.dtype(
            [
                ("index", "<i8"),
                ("digest", "u1", (32,)),
                ("votes", votes, (self.samples,)),
                ("counts", "<i8", (self.classes,)),
                *more,
                ("crc", "<u4"),
            ]
        )

    def to_json(self) -> str:
        """Return canonical JSON text."""
        fields = {**attrs.asdict(self, recurse=False), "columns": dict(self.columns)}
        return json.dumps(fields, sort_keys=True, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Header:
        """Read `to_json`."""
        with _FORM.reading(text) as fields:
            header = cls(**fields)
            try:
                np.zeros(0, header.dtype)  # sizes that make no row are no sizes
            except VoteError as error:
                raise ValueError(str(error)) from error
            return header
