"""Votes on disk: append-only, checked row by row, and safe against a kill at any moment."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ecm.files import locked, replace_file, sync_folder
from ecm.jsontext import JsonForm
from ecm.progress import ProgressBar
from smoothing.certificates import Codes, Packing, Tally, Votes, vote_dtype
from smoothing.errors import InputError, RecordError, VoteError
from smoothing.scheme import Images, digest
from smoothing.votes.arrays import FromArrays
from smoothing.votes.classifier import SmoothedClassifier
from smoothing.votes.packing import PACKED, pack, unpack

FORMAT, UNBOUND = "ecm-votes-2", "ecm-votes-1"
_FORM = JsonForm(
    "the header of a vote record", (FORMAT, UNBOUND), RecordError, "was the folder written by vote_dataset?"
)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_HEADER, _SHARD = "header.json", "rank-{:05d}.rows"
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


def _in_words(write: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a full disk or a missing permission, said in one sentence."""

    @wraps(write)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return write(*args, **kwargs)
        except OSError as error:
            raise RecordError(
                f"{error.filename or 'the record'} could not be written: {error.strerror or error}. Finished images "
                "are kept; free some space or choose another folder, then run the same call again to resume"
            ) from error

    return call


@_in_words
def vote_dataset(
    classifier: SmoothedClassifier,
    images: Images,
    path: str | Path,
    *,
    indices: Sequence[int] | None = None,
    rank: int = 0,
    ranks: int = 1,
    model: str | None = None,
    progress: bool = False,
) -> Record:
    """Record the rankings of `images[indices]` (all by default), and with them the votes, in the folder `path`;
    continues where a run was stopped. A record of votes alone, of an older version, goes on with votes alone.

    With `ranks` processes, the one with number `rank` takes its share of the images. `model` names the base in the
    header; by default it is `model_fingerprint(base)`. A run that was killed and continued leaves the same bytes as
    one that was not: images are written in order, and batched in the same groups.

    >>> import tempfile
    >>> from smoothing import Scheme
    >>> bright = FromArrays(lambda lower, upper: ((lower + upper).mean(1) > 1).astype(int), classes=2)
    >>> classifier = SmoothedClassifier(bright, Scheme.l1(2, shape=(3,), q=4), classes=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     indices, votes = vote_dataset(classifier, np.array([[0, 0, 0], [4, 4, 4]]), folder, model="bright").votes()
    >>> indices.tolist(), votes.mean(axis=1).tolist()
    ([0, 1], [0.0, 1.0])
    """
    if not isinstance(images, torch.Tensor | np.ndarray):
        raise InputError(f"images are a {type(images).__name__}: give one tensor or array [N, *shape] of levels")
    classifier.levels(images[:1])  # before a folder is made for what cannot be voted on
    given = np.arange(len(images)) if indices is None else np.asarray(indices)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise RecordError(
            f"indices of dtype {given.dtype}, shape {given.shape}: write integers, numpy.flatnonzero(mask) say"
        )
    chosen = given.astype(np.int64)
    if len(np.unique(chosen)) != len(chosen):
        raise RecordError("an index is given twice: every image is recorded once")
    if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(images):
        raise RecordError(f"indices {chosen.min()}..{chosen.max()}: the images are 0..{len(images) - 1}")
    if model is None and isinstance(classifier.base, FromArrays):
        raise RecordError("a function of arrays has no fingerprint: give model='a name that changes with it'")
    if not 0 <= rank < ranks:
        raise RecordError(f"rank {rank} of {ranks}: ranks are numbered 0..{ranks - 1}")
    header = Header(
        scheme=classifier.scheme.fingerprint,
        model=model or model_fingerprint(classifier.base),
        data=data_fingerprint(images),
        samples=classifier.scheme.samples,
        classes=classifier.classes,
        tolerance=classifier.tolerance,
    )
    record = Record.create(path, fitting_header(header, path))
    size = classifier.group
    groups = [chosen[i : i + size] for i in range(0, len(chosen), size)][rank::ranks]
    with record.writer(rank) as writer, ProgressBar(sum(map(len, groups)), "images", progress) as advance:
        for group in groups:
            if not set(group.tolist()) <= writer.done:
                batch = classifier.levels(images[group])
                for row in zip(group.tolist(), map(digest, batch), classifier.rankings(batch), strict=True):
                    if row[0] not in writer.done:  # a kill between two rows of a group
                        writer.append_rankings(*row, classifier.scheme.weights)
                writer.sync()
            advance(len(group))
    return record


def fitting_header(header: Header, path: str | Path) -> Header:
    """Return the header with a column for rankings, unless the record in the folder is one of votes alone."""
    older = (Path(path) / _HEADER).exists() and not Record.open(path).header.ranked
    return header if older else header.with_rankings()


def model_fingerprint(base: nn.Module) -> str:
    """Return sha256 over a module's structure (its repr) and its state: names, types, shapes and bytes of all tensors,
    also of buffers that a state dict leaves out.

    >>> model_fingerprint(nn.Identity()) == model_fingerprint(nn.Identity()) != model_fingerprint(nn.Flatten())
    True
    """
    hashed = hashlib.sha256(repr(base).encode())
    state = base.state_dict()
    for name, tensor in sorted((dict(base.named_buffers()) | state).items()):
        if not isinstance(tensor, torch.Tensor):
            raise RecordError(
                f"{name} is a {type(tensor).__name__}, which has no fingerprint: give vote_dataset a name that changes "
                "with the base, model='...'"
            )
        hashed.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        hashed.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def data_fingerprint(images: Images) -> str:
    """Return sha256 over a data set's type, shape and bytes.

    >>> data_fingerprint(np.zeros((2, 3), np.uint8)) == data_fingerprint(torch.zeros((2, 3), dtype=torch.uint8))
    True
    """
    array = images if isinstance(images, np.ndarray) else images.cpu().numpy()
    hashed = hashlib.sha256(f"{array.dtype}:{array.shape}".encode())
    hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()
