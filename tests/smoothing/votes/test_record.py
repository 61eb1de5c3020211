"""A vote record keeps what it was given, knows what it belongs to, and notices every kind of damage."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from smoothing import (
    FromArrays,
    Header,
    InputError,
    Record,
    RecordError,
    Scheme,
    SmoothedClassifier,
    data_fingerprint,
    digest,
    model_fingerprint,
    vote_dataset,
)
from smoothing.verification.strategies import HashVote

IMAGES = torch.from_numpy(np.random.RandomState(0).randint(5, size=(9, 2, 2)))


def classifier(seed: int = 0, **settings: float) -> SmoothedClassifier:
    scheme = Scheme.l1(2, (2, 2), q=4, coupling="independent", seed=seed)
    return SmoothedClassifier(FromArrays(HashVote(0, 3), 3), scheme, 3, **settings)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_what_is_read_is_what_was_voted(tmp_path: Path) -> None:
    """Indices, votes, rankings, counts and image digests come back as they were; a vote takes one byte, a ranking
    four."""
    smoothed = classifier()
    record = vote_dataset(smoothed, IMAGES, tmp_path / "votes", indices=[5, 2, 8], model="hash")
    index, votes = Record.open(tmp_path / "votes").votes()
    assert index.tolist() == [2, 5, 8]
    assert votes.dtype == np.uint8
    assert np.array_equal(votes, smoothed.votes(IMAGES[[2, 5, 8]]))
    assert np.array_equal(record.rankings()[1], smoothed.rankings(IMAGES[[2, 5, 8]]))
    rows = record.read()
    assert np.array_equal(rows["counts"], smoothed.counts(votes))
    assert bytes(rows["digest"][1]).hex() == digest(IMAGES[5])
    assert (tmp_path / "votes" / "rank-00000.rows").stat().st_size == 3 * (8 + 32 + 8 + 3 * 8 + 4 * 8 + 4)


@pytest.mark.parametrize("batch_size", [1, 40])
def test_a_torn_end_is_cut_off_and_the_run_goes_on(tmp_path: Path, batch_size: int) -> None:
    """Cut after any byte, or with garbage in the last row, the continued record is the undisturbed one."""
    smoothed = classifier(batch_size=batch_size)
    whole = tmp_path / "whole"
    row = vote_dataset(smoothed, IMAGES, whole, model="hash").header.dtype.itemsize
    rows = (whole / "rank-00000.rows").read_bytes()
    for length in [0, 5, row, row + 1, 2 * row - 1, *range(8 * row, 9 * row + 1, 9)]:
        for tail in (b"", b"\0" * (row - length % row)):
            torn = tmp_path / f"torn-{length}-{len(tail)}"
            torn.mkdir()
            (torn / "header.json").write_bytes((whole / "header.json").read_bytes())
            (torn / "rank-00000.rows").write_bytes(rows[:length] + tail)
            assert len(Record.open(torn).votes()[0]) == length // row
            vote_dataset(smoothed, IMAGES, torn, model="hash")
            assert content(torn) == content(whole)


def test_finished_images_are_not_repeated(tmp_path: Path) -> None:
    """A continued run asks the base only about images that are missing."""
    asked = []

    def base(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        asked.append(len(lower))
        return HashVote(0, 3)(lower, upper)

    smoothed = SmoothedClassifier(FromArrays(base, 3), classifier().scheme, 3, batch_size=8)
    vote_dataset(smoothed, IMAGES, tmp_path / "votes", indices=range(4), model="hash")
    assert asked.count(8) == 4  # beside a few inputs to see that rows are not mixed
    vote_dataset(smoothed, IMAGES, tmp_path / "votes", model="hash")
    assert asked.count(8) == 9


def test_damage_in_the_middle_is_an_error(tmp_path: Path) -> None:
    """A changed byte before a whole row is not a torn end: nothing is cut, an error says where."""
    path = tmp_path / "votes"
    row = vote_dataset(classifier(), IMAGES, path, model="hash").header.dtype.itemsize
    file = path / "rank-00000.rows"
    raw = bytearray(file.read_bytes())
    raw[3 * row + 50] ^= 1
    file.write_bytes(raw)
    with pytest.raises(RecordError, match="row 3 is damaged"):
        Record.open(path).read()
    with pytest.raises(RecordError, match="row 3 is damaged"):
        vote_dataset(classifier(), IMAGES, path, model="hash")
    assert file.read_bytes() == raw


def test_another_run_is_refused(tmp_path: Path) -> None:
    """A record is continued only by the same scheme, model, data and tolerance; the error says what differs."""
    path = tmp_path / "votes"
    vote_dataset(classifier(), IMAGES, path, model="hash")
    for smoothed, images, model, field in [
        (classifier(seed=1), IMAGES, "hash", "scheme"),
        (classifier(), IMAGES, "other", "model"),
        (classifier(), IMAGES[:5], "hash", "data"),
        (classifier(tolerance=0.5), IMAGES, "hash", "tolerance"),
    ]:
        with pytest.raises(RecordError, match=f"its {field} is"):
            vote_dataset(smoothed, images, path, model=model)
    with pytest.raises(RecordError, match="give model"):
        vote_dataset(classifier(), IMAGES, tmp_path / "unnamed")
    with pytest.raises(RecordError, match="twice"):
        vote_dataset(classifier(), IMAGES, path, indices=[1, 1], model="hash")
    with pytest.raises(RecordError, match="no vote record"):
        Record.open(tmp_path / "nothing")
    (tmp_path / "header.json").write_text("{}")
    with pytest.raises(RecordError, match="not the JSON of the header"):
        Record.open(tmp_path)


def test_ranks_share_the_images(tmp_path: Path) -> None:
    """Several processes write a file each, and reading merges them into what one would have written."""
    smoothed = classifier(batch_size=16)
    for rank in (2, 0, 1):
        vote_dataset(smoothed, IMAGES, tmp_path / "three", rank=rank, ranks=3, model="hash")
    one = vote_dataset(smoothed, IMAGES, tmp_path / "one", model="hash")
    three = Record.open(tmp_path / "three")
    assert np.array_equal(three.read(), one.read())
    with pytest.raises(RecordError, match="rank 3 of 3"):
        vote_dataset(smoothed, IMAGES, tmp_path / "three", rank=3, ranks=3, model="hash")
    with three.writer(3) as writer:
        writer.append_rankings(0, digest(IMAGES[0]), np.zeros(8, dtype=np.uint32), None)
    with pytest.raises(RecordError, match="two ranks"):
        three.read()


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    """A second writer of the same rank is refused while the first is open."""
    record = vote_dataset(classifier(), IMAGES, tmp_path / "votes", indices=[], model="hash")
    with record.writer(), pytest.raises(RecordError, match="another process"), record.writer():
        pass
    with record.writer():
        pass


def test_further_columns_have_room(tmp_path: Path) -> None:
    """Pairwise counts and soft sums can be stored beside the votes and come back under their names."""
    columns = {"pairwise": ("<u4", (3, 3)), "sums": ("<f8", (3,))}
    record = Record.create(tmp_path, Header("s", "m", "d", samples=4, classes=3, tolerance=0.0, columns=columns))
    pairwise, sums = np.arange(9).reshape(3, 3), np.array([0.25, 1.5, 2.25])
    votes = np.array([0, 1, 255, 2], dtype=np.uint8)
    with record.writer() as writer:
        writer.append(7, digest(IMAGES[0]), votes, np.array([1, 1, 1]), pairwise=pairwise, sums=sums)
    (row,) = Record.open(tmp_path).read()
    assert row["index"] == 7
    assert np.array_equal(row["pairwise"], pairwise)
    assert np.array_equal(row["sums"], sums)
    assert np.array_equal(row["votes"], votes)


def test_a_models_fingerprint_is_its_weights() -> None:
    """The same weights give the same fingerprint on any load; one changed bit, or another structure, another one."""
    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    copy = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert model_fingerprint(copy) != model_fingerprint(base)
    copy.load_state_dict(base.state_dict())
    assert model_fingerprint(copy) == model_fingerprint(base)
    assert model_fingerprint(nn.Sequential(*copy, nn.ReLU())) != model_fingerprint(base)
    weight: Tensor = copy[0].weight.data
    weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(9.0))
    assert model_fingerprint(copy) != model_fingerprint(base)
    assert model_fingerprint(base.bfloat16()) != model_fingerprint(copy)


def test_a_data_set_has_one_fingerprint_whatever_holds_it() -> None:
    """Arrays and tensors of the same bytes, type and shape are the same data; others are not."""
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert data_fingerprint(array) == data_fingerprint(torch.from_numpy(array))
    assert data_fingerprint(array) != data_fingerprint(array.reshape(2, 4, 3))
    assert data_fingerprint(array) != data_fingerprint(array.astype(np.int64))


def test_rows_of_another_run_are_not_taken_for_its_own(tmp_path: Path) -> None:
    """Of the same size, whole, and under another header: a file of them is refused, a tail of them is voted anew."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    vote_dataset(classifier(), IMAGES, ours, indices=[0, 1, 2], model="hash")
    vote_dataset(classifier(seed=1), IMAGES, theirs, indices=[3, 4, 5], model="hash")
    foreign = (theirs / "rank-00000.rows").read_bytes()
    (ours / "rank-00001.rows").write_bytes(foreign)
    for touch in (Record.open(ours).read, Record.open(ours).writer(1).__enter__):
        with pytest.raises(RecordError, match="none of its 3 rows"):
            touch()
    (ours / "rank-00001.rows").unlink()
    with (ours / "rank-00000.rows").open("ab") as file:
        file.write(foreign)
    assert Record.open(ours).votes()[0].tolist() == [0, 1, 2]
    vote_dataset(classifier(), IMAGES, ours, indices=range(6), model="hash")
    assert np.array_equal(Record.open(ours).votes()[1], classifier().votes(IMAGES[:6]))


def test_an_older_record_is_read_and_continued(tmp_path: Path) -> None:
    """Its checksums do not know the header, and stay as they are."""
    new = vote_dataset(classifier(), IMAGES, tmp_path / "new", model="hash")
    old = Record.create(tmp_path / "old", attrs.evolve(new.header, format="ecm-votes-1"))
    vote_dataset(classifier(), IMAGES, tmp_path / "old", model="hash")
    again = Record.open(tmp_path / "old")
    assert again.header.format == "ecm-votes-1"
    assert np.array_equal(again.read()["votes"], new.read()["votes"])
    assert again.read()["crc"][0] == zlib.crc32(old.read()[0].tobytes()[:-4]) != new.read()["crc"][0]


@pytest.mark.parametrize(
    "votes",
    [np.array([1]), np.array(1), np.full(8, 257), np.full(8, 3), np.full(8, -1), np.zeros((1, 8), int)],
    ids=str,
)
def test_what_is_no_vote_of_every_sample_is_not_recorded(tmp_path: Path, votes: np.ndarray) -> None:
    """Nothing is repeated to fill the row, nor cut to a byte."""
    record = Record.create(tmp_path, Header("s", "m", "d", samples=8, classes=3, tolerance=0.0))
    with record.writer() as writer, pytest.raises(RecordError, match="UNSURE"):
        writer.append(0, "00" * 32, votes, np.array([8, 0, 0]))
    assert not len(record.read())


@pytest.mark.parametrize("indices", [[-1], [0, 9]])
def test_an_image_that_is_not_there_is_refused(tmp_path: Path, indices: list[int]) -> None:
    """Counted from the end it would be recorded under another name."""
    with pytest.raises(RecordError, match=r"images are 0\.\.8"):
        vote_dataset(classifier(), IMAGES, tmp_path, indices=indices, model="hash")


def test_buffers_that_are_not_saved_are_part_of_a_model() -> None:
    """Two models that differ in one must not share a record."""
    prints = set()
    for mean in (0.0, 1.0):
        model = nn.Flatten()
        model.register_buffer("mean", torch.tensor(mean), persistent=False)
        prints.add(model_fingerprint(model))
    assert len(prints) == 2


def test_numbers_of_any_type_make_a_header(tmp_path: Path) -> None:
    """As they come from a label array and from a measurement."""
    plain = vote_dataset(classifier(tolerance=0.5), IMAGES, tmp_path / "plain", model="hash")
    for tolerance in (np.float32(0.5), torch.tensor(0.5)):
        same = SmoothedClassifier(classifier().base, classifier().scheme, np.int64(3), tolerance=tolerance)  # type: ignore[arg-type]
        assert vote_dataset(same, IMAGES, tmp_path / repr(tolerance), model="hash").header == plain.header


def test_images_that_are_no_array_are_refused(tmp_path: Path) -> None:
    """A list of images has no fingerprint."""
    with pytest.raises(InputError, match="list"):
        vote_dataset(classifier(), list(IMAGES), tmp_path, model="hash")  # type: ignore[arg-type]


def altered(**fields: object) -> bytes:
    """A header with other fields."""
    whole = Header("s", "m", "d", samples=8, classes=3, tolerance=0.0).to_json()
    return json.dumps(json.loads(whole) | fields).encode()


@pytest.mark.parametrize(
    "header",
    [
        *(b"\xff\xfe", b"", b"5", b"[]", b"{}", b"[" * 100_000),
        *(altered(samples="8"), altered(samples=-8), altered(samples=10**30), altered(classes=1), altered(columns=[1])),
        *(altered(scheme=3), altered(model=0.5), altered(data=None)),
    ],
    ids=range(14),
)
def test_what_is_no_header_is_refused_in_words(tmp_path: Path, header: bytes) -> None:
    """Other bytes, other JSON, and sizes of no row, before any row is read."""
    (tmp_path / "header.json").write_bytes(header)
    with pytest.raises(RecordError, match="not the JSON of the header"):
        Record.open(tmp_path)


@pytest.mark.parametrize("indices", [[False, True], np.array([0.7]), [[0, 1]]], ids=range(3))
def test_indices_are_integers(tmp_path: Path, indices: Any) -> None:
    """A mask is not read as the images 0 and 1."""
    with pytest.raises(RecordError, match="flatnonzero"):
        vote_dataset(classifier(), IMAGES, tmp_path, indices=indices, model="hash")


def test_images_of_another_shape_leave_no_record(tmp_path: Path) -> None:
    """Else the folder would be taken for that of another run when the mistake is mended."""
    with pytest.raises(InputError, match="shape"):
        vote_dataset(classifier(), IMAGES[:, 0], tmp_path / "votes", model="hash")
    assert not (tmp_path / "votes").exists()


class Packed(nn.Linear):
    """Keeps more than tensors in its state, as quantized layers do."""

    def get_extra_state(self) -> tuple[int, int]:
        return 1, 2


def test_a_state_that_is_not_all_tensors_needs_a_name() -> None:
    """Its text need not show all of it."""
    with pytest.raises(RecordError, match="model="):
        model_fingerprint(Packed(2, 2))


def test_a_place_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    """By an error of ours that names it."""
    (tmp_path / "file").write_text("")
    classifier = SmoothedClassifier(nn.Linear(6, 2), Scheme.l1(2, shape=(3,), q=4), 2)
    with pytest.raises(RecordError, match=r"could not be written: Not a directory.*to resume"):
        vote_dataset(classifier, np.zeros((1, 3), dtype=np.int64), tmp_path / "file" / "votes")
