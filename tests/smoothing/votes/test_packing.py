"""A packed record is the record that it was made of; what is no such file is refused early and in words."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from smoothing import Record, RecordError, vote_dataset
from smoothing.votes import packing
from tests.smoothing.votes.test_record import IMAGES, classifier


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return vote_dataset(classifier(), IMAGES, tmp_path / "votes", indices=range(6), model="hash")


def test_a_packed_record_is_read_and_continued_like_any_other(record: Record, tmp_path: Path) -> None:
    """The same rows; images that it has are not voted on again, and new ones are added."""
    packed = record.pack(tmp_path / "packed")
    assert packed == Record.open(tmp_path / "packed")
    assert packed.read().tobytes() == record.read().tobytes()
    longer = vote_dataset(classifier(), IMAGES, tmp_path / "packed", model="hash")
    assert (tmp_path / "packed" / "rank-00000.rows").stat().st_size == 3 * longer.header.dtype.itemsize
    whole = vote_dataset(classifier(), IMAGES, tmp_path / "votes", model="hash")
    assert longer.read().tobytes() == whole.read().tobytes()
    again = longer.pack(tmp_path / "again")
    assert again.read().tobytes() == whole.read().tobytes()


def test_a_folder_with_votes_is_not_packed_into(record: Record) -> None:
    """Neither its own nor another that holds votes."""
    with pytest.raises(RecordError, match="holds votes already"):
        record.pack(record.path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "longer", "row", "torn row", "no xz"])
def test_damage_is_an_error(record: Record, tmp_path: Path, damage: str) -> None:
    """Wherever it is: nothing of a packed file is cut off silently, as the end of a file that was being written is."""
    packed = record.pack(tmp_path / "packed")
    path = packed.path / packing.PACKED
    raw, rows = path.read_bytes(), bytearray(record.read().tobytes())
    flipped = bytearray(raw)
    flipped[len(raw) // 2] ^= 1
    changed = bytearray(rows)
    changed[-20] ^= 1
    path.write_bytes(
        {
            "cut": raw[:-20],
            "flipped": bytes(flipped),
            "longer": raw + b"more",
            "row": packing.pack(bytes(changed)),
            "torn row": packing.pack(bytes(rows[:-1])),
            "no xz": bytes(rows),
        }[damage]
    )
    with pytest.raises(RecordError, match="restore it from a copy"):
        packed.read()


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that unpack to more than any record has."""
    monkeypatch.setattr(packing, "LARGEST_UNPACKED", 1 << 22)
    path = tmp_path / packing.PACKED
    path.write_bytes(lzma.compress(bytes(1 << 25)))
    with pytest.raises(RecordError, match="unpacks to more than"):
        packing.unpack(path)


def test_rows_that_compress_badly_come_back_too(tmp_path: Path) -> None:
    """More than one step of the reader, in and out."""
    rows = np.random.RandomState(0).bytes(3 << 20)
    (tmp_path / "file").write_bytes(packing.pack(rows))
    assert packing.unpack(tmp_path / "file") == rows
