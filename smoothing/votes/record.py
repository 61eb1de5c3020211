"""Votes on disk: append-only, checked row by row, and safe against a kill at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.files import locked, replace_file, sync_folder
from smoothing.certificates import Codes, Packing, Tally, Votes, vote_dtype
from smoothing.errors import RecordError
from smoothing.votes.header import RANKINGS, Header
from smoothing.votes.packing import PACKED, pack, unpack

_HEADER, _SHARD = "header.json", "rank-{:05d}.rows"


@attrs.frozen
class Record:
    """A folder of votes: `header.json` and one file of fixed-size rows for every rank that wrote, or one packed file.

    Rows are appended image by image and flushed to the disk. A row that a kill left torn is recognised by its length
    or checksum and cut off at the next start; everything before it stays.

    >>> import tempfile
    >>> header = Header("scheme", "model", "data", samples=4, classes=2, tolerance=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Record.create(folder, header)
    ...     with record.writer() as writer:
    ...         writer.append(7, "00" * 32, np.array([1, 1, 0, 1]), np.array([1, 3]))
    ...     record.votes()
    (array([7]), array([[1, 1, 0, 1]], dtype=uint8))
    """

    path: Path
    header: Header

    @classmethod
    def create(cls, path: str | Path, header: Header) -> Record:
        """Start a record, or continue the one that is there if its header is the same."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _HEADER).exists():
            if any(folder.glob("*.rows*")):
                raise RecordError(
                    f"{folder} holds votes but no {_HEADER} that says of what: restore it, or delete the votes"
                )
            replace_file(folder / _HEADER, header.to_json().encode())
        record = cls.open(folder)
        for field in (field for field in attrs.fields(Header) if field.eq):
            ours, theirs = getattr(header, field.name), getattr(record.header, field.name)
            if ours != theirs:
                raise RecordError(
                    f"{folder} holds votes of another run: its {field.name} is {theirs!r}, this run's is {ours!r}; "
                    "choose another folder, or delete this one if its votes are not needed"
                )
        return record

    @staticmethod
    def exists(path: str | Path) -> bool:
        """Return whether the folder contains a record.

        >>> Record.exists("no such folder")
        False
        """
        return (Path(path) / _HEADER).exists()

    @classmethod
    def open(cls, path: str | Path) -> Record:
        """Return the record in that folder."""
        folder = Path(path)
        if not (folder / _HEADER).exists():
            raise RecordError(f"{folder} holds no vote record: {_HEADER} is missing")
        return cls(folder, Header.from_json((folder / _HEADER).read_text(errors="replace")))

    def read(self) -> NDArray[np.void]:
        """Return all finished rows of all ranks, by image index; the fields are those of `header.dtype`."""
        files = [*self._packed(), *sorted(self.path.glob(_SHARD.replace("{:05d}", "*")))]
        rows = np.concatenate([np.zeros(0, self.header.dtype), *(self._rows(file) for file in files)])
        rows = rows[np.argsort(rows["index"], kind="stable")]
        twice = rows["index"][1:][rows["index"][1:] == rows["index"][:-1]]
        if len(twice):
            raise RecordError(
                f"{self.path}: image {twice[0]} was recorded by two ranks; give every rank its own images"
            )
        return rows

    def votes(self) -> tuple[NDArray[np.int64], Votes]:
        """Return (image indices [n], votes [n, T]) of all finished images, by index."""
        rows = self.read()
        return rows["index"].astype(np.int64), rows["votes"].astype(vote_dtype(self.header.classes))

    def rankings(self) -> tuple[NDArray[np.int64], Codes]:
        """Return (image indices [n], packed rankings [n, T]) of all finished images, by index."""
        if not self.header.ranked:
            raise RecordError(
                f"{self.path} holds votes alone, which certify a plurality; a run-off needs rankings: record the "
                "images again, in another folder"
            )
        rows = self.read()
        return rows["index"].astype(np.int64), rows[RANKINGS].astype(np.uint32)

    def ballots(self) -> tuple[NDArray[np.int64], Votes | Codes]:
        """Return (image indices [n], the packed rankings [n, T], or the votes of a record that has no rankings)."""
        return self.rankings() if self.header.ranked else self.votes()

    @contextmanager
    def writer(self, rank: int = 0) -> Iterator[Writer]:
        """Append to this rank's file, from the end of its last whole row on. One process at a time."""
        path = self.path / _SHARD.format(rank)
        busy = RecordError(f"{path} is being written by another process: give every process its own rank")
        with path.open("ab+") as file, locked(file, busy):  # two writers would interleave their rows
            rows = self._rows(path)
            file.truncate(rows.nbytes)
            sync_folder(self.path)
            done = [rows, *(self._rows(packed) for packed in self._packed())]
            yield Writer(file, self.header, {index for part in done for index in part["index"].tolist()})

    def pack(self, path: str | Path) -> Record:
        """Write all finished rows, compressed, into the new folder `path`, and return the record there.

        It is read like any other, and new images can be added to it.
        """
        packed = Record.create(path, self.header)
        if any(packed.path.glob("*.rows*")):
            raise RecordError(f"{path} holds votes already: choose a new folder")
        replace_file(packed.path / PACKED, pack(self.read().tobytes()))
        return packed

    def _packed(self) -> list[Path]:
        path = self.path / PACKED
        return [path] if path.exists() else []

    def _rows(self, path: Path) -> NDArray[np.void]:
        dtype = self.header.dtype
        raw = unpack(path) if path.name == PACKED else path.read_bytes()
        whole = len(raw) // dtype.itemsize
        rows = np.frombuffer(raw, dtype, whole)
        good = np.array([self.header.checksum(row) == row["crc"] for row in rows], dtype=bool)
        kept = int(np.argmin(good)) if not good.all() else whole
        if not kept and whole > 1:
            raise RecordError(f"{path}: none of its {whole} rows is of this record; put the file where it belongs")
        if good[kept:].any() or (path.name == PACKED and len(raw) != kept * dtype.itemsize):
            raise RecordError(f"{path}: row {kept} is damaged, but the file does not end there; restore it from a copy")
        return rows[:kept]


@attrs.frozen
class Writer:
    """Appends rows; `done` are the images that the file holds already."""

    file: IO[bytes]
    header: Header
    done: set[int]

    def append(self, index: int, image: str, votes: Votes, counts: NDArray[np.int64], **columns: NDArray[Any]) -> None:
        """Add one image: its index, the sha256 of its levels (hex), its votes and counts, and the further columns."""
        given, codes = np.asarray(votes), (self.header.classes, np.iinfo(vote_dtype(self.header.classes)).max)
        if given.shape != (self.header.samples,) or ((given < 0) | ((given >= codes[0]) & (given != codes[1]))).any():
            raise RecordError(
                f"votes of shape {given.shape} for image {index}: {self.header.samples} classes 0..{codes[0] - 1} are "
                f"recorded, or {codes[1]} for UNSURE"
            )
        row = np.zeros((), self.header.dtype)
        row["index"], row["votes"], row["counts"] = index, votes, counts
        row["digest"] = np.frombuffer(bytes.fromhex(image), np.uint8)
        for name in self.header.columns:
            row[name] = columns[name]
        if self.header.ranked and (Packing.of(self.header.classes).votes(columns[RANKINGS]) != given).any():
            raise RecordError(f"the votes of image {index} are not the first places of its rankings: are both of it?")
        row["crc"] = self.header.checksum(row)
        self.file.write(row.tobytes())
        self.done.add(index)

    def append_rankings(self, index: int, image: str, codes: Codes, weights: NDArray[np.int64] | None) -> Votes:
        """Add one image by its packed rankings, from which its votes and counts follow; those that a record of votes
        alone keeps, too. Returns the votes."""
        votes = Packing.of(self.header.classes).votes(codes)
        counts = np.array(Tally.of(votes, self.header.classes, weights).counts, dtype=np.int64)
        self.append(index, image, votes, counts, **({RANKINGS: codes} if self.header.ranked else {}))
        return votes

    def sync(self) -> None:
        """Return when everything appended is on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())


def fitting_header(header: Header, path: str | Path) -> Header:
    """Return the header with a column for rankings, unless the record in the folder is one of votes alone."""
    older = (Path(path) / _HEADER).exists() and not Record.open(path).header.ranked
    return header if older else header.with_rankings()
