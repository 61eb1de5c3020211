"""A table is counted again from the votes beside it: whatever was written into it, no accuracy is reported that the
votes do not give."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import attrs
import pytest

import zoo
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Model, certify, load, read_certification
from zoo.certification.table import COLUMNS
from zoo.errors import ModelError
from zoo.folder import TABLE
from zoo.models import find_model


def rewritten(path: Path, change: Callable[[dict[str, str]], None]) -> None:
    """The table at `path` with every row changed."""
    header, *lines = path.read_text().splitlines()
    names, rows = header.split("\t"), []
    for line in lines:
        cells = dict(zip(names, line.split("\t"), strict=True))
        change(cells)
        rows.append("\t".join(cells[name] for name in names))
    path.write_text("\n".join([header, *rows]) + "\n")


def perfect(cells: dict[str, str]) -> None:
    """Every image right, certified everywhere."""
    cells |= {"predict": cells["label"], "correct": "1", "paper": "all", "integer": "all", "vote_aware": "all"}


def right(cells: dict[str, str]) -> None:
    cells |= {"label": cells["predict"], "correct": "1"}


def stronger(cells: dict[str, str]) -> None:
    ball, _, proof = cells["vote_aware"].partition(";")
    if ball.startswith("<"):
        cells["vote_aware"] = f"<{Fraction(ball[1:]) + Fraction(1, 10**6)};{proof}"


def without_proof(cells: dict[str, str]) -> None:
    cells["vote_aware"] = "all"


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A small model with a finished run."""
    made = tiny_model(tmp_path / "model", "z**0.5/2")
    certify(made, tiny_data(), progress=False)
    return load(made.path)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (perfect, "predict|paper"),
        (right, "label"),
        (stronger, "vote_aware"),
        (without_proof, "vote_aware"),
        (lambda cells: cells.update(hits=str(int(cells["hits"]) + 1)), "hits"),
        (lambda cells: cells.update(unsure="5"), "unsure"),
        (lambda cells: cells.update(paper="<=1/2"), "paper"),
        (lambda cells: cells.update(integer="<1/2"), "integer"),
    ],
    ids=["perfect", "right", "stronger", "without proof", "hits", "unsure", "paper", "integer"],
)
def test_a_row_that_contradicts_the_votes_is_an_error(
    model: Model, change: Callable[[dict[str, str]], None], word: str
) -> None:
    """It names the image and the column, and neither table nor card are written."""
    rewritten(model.path / TABLE, change)
    card = (model.path / "card.json").read_bytes()
    with pytest.raises(ModelError, match=rf"row of image \d+ does not follow from its votes: ({word})"):
        certify(model, tiny_data(), progress=False)
    assert (model.path / "card.json").read_bytes() == card


def test_an_honest_table_is_kept(model: Model) -> None:
    """Every row of it passes, and its times show that nothing was made anew."""
    table = (model.path / TABLE).read_bytes()
    assert b";" in table
    certify(model, tiny_data(), progress=False)
    assert (model.path / TABLE).read_bytes() == table


def test_a_table_from_before_the_multipliers_is_read(model: Model) -> None:
    """Its vote-aware balls are then computed again from the images."""
    first = read_certification(model.path)
    rewritten(model.path / TABLE, lambda cells: cells.update(vote_aware=cells["vote_aware"].partition(";")[0]))
    plain = read_certification(model.path)
    assert [row.balls["vote_aware"].strength for row in plain.rows] == [
        row.balls["vote_aware"].strength for row in first.rows
    ]
    assert certify(model, tiny_data(), progress=False).summary() == first.summary()


def test_the_shipped_model_cannot_be_made_perfect(tmp_path: Path) -> None:
    """A copy whose table says that all images are certified at every radius is not reported as such by anyone."""
    folder = tmp_path / "digits"
    shutil.copytree(find_model("digits-l0.5-a4"), folder)
    rewritten(folder / TABLE, perfect)
    for act in (lambda: zoo.certify(str(folder), progress=False), lambda: read_certification(folder)):
        with pytest.raises(ModelError, match="does not follow from its votes"):
            act()


def test_what_a_killed_process_left_is_cleared_away(model: Model) -> None:
    """The unfinished copy of a file has the number of a process that is gone."""
    (model.path / ".certify.json.1.part").write_text("{")
    certify(model, tiny_data(), progress=False)
    assert not list(model.path.glob(".*"))


def test_rows_without_votes_are_not_read(model: Model) -> None:
    """Where votes are kept, an image without any has no row; where none are kept, the result says so."""
    (shard,) = (model.path / "votes").glob("rank-*.rows")
    shard.write_bytes(b"")
    with pytest.raises(ModelError, match="no votes of it"):
        read_certification(model.path)
    shutil.rmtree(model.path / "votes")
    found = read_certification(model.path)
    assert not found.recounted
    assert "no recorded votes" in repr(found)
    assert "no recorded votes" not in repr(attrs.evolve(found, recounted=True))


@pytest.mark.parametrize("cell", ["<1e99999999", "<1/0", "<-1", "<1_0", "<" + "9" * 10**6, "<1/3;1:2:3", "<1/3;x"])
def test_a_cell_that_is_no_ball_is_refused_at_once(model: Model, cell: str) -> None:
    """No number is computed that a short text could make enormous."""
    rewritten(model.path / TABLE, lambda cells: cells.update(vote_aware=cell))
    with pytest.raises(ModelError, match="damaged row"):
        read_certification(model.path)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in ("radius", "correct", "votes", "predict")])
def test_long_numbers_are_refused(model: Model, name: str) -> None:
    """Python would refuse them in words that name neither the file nor the row."""
    rewritten(model.path / TABLE, lambda cells: cells.update({name: "1" * 5000}))
    with pytest.raises(ModelError, match="damaged row"):
        read_certification(model.path)
