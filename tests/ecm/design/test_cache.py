"""The cache gives back what was built, and no file in it can do harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ecm import ECM, Outcomes, make_design
from ecm.design import search as construction

SQRT = ECM.from_expr("z**0.5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECM_CACHE", str(tmp_path))
    return tmp_path / "designs"


def no_search(*_: object) -> Outcomes:
    raise AssertionError("built although it was in the cache")


def test_nothing_is_built_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request, and the scaled problem, read the file; another seed does not."""
    first = make_design(SQRT, 16, 16)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(construction, "greedy", no_search)
    assert make_design(SQRT, 16, 16) == first
    assert make_design(SQRT / 3, 48, 16).outcomes[0].gaps.tolist() == first.outcomes[0].gaps.tolist()
    for other in ({"seed": 1}, {"effort": "thorough"}):
        with pytest.raises(AssertionError, match="built"):
            make_design(SQRT, 16, 16, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", ["empty", "half", "noise", "other q", "unsound"])
def test_a_damaged_entry_is_built_again(folder: Path, damage: str) -> None:
    """Whatever stands in the file, the design that comes back is the right one, and the file is repaired."""
    first = make_design(SQRT, 16, 16)
    (entry,) = folder.iterdir()
    content = entry.read_bytes()
    if damage in ("empty", "half", "noise"):
        entry.write_bytes({"empty": b"", "half": content[: len(content) // 2], "noise": bytes(200)}[damage])
    else:
        q, rows = (8, 1) if damage == "other q" else (16, 16)
        with entry.open("wb") as file:
            np.savez(file, q=q, budget=16, starts=np.arange(rows + 1), gaps=np.ones(rows, dtype=np.int64))
    assert make_design(SQRT, 16, 16) == first
    with np.load(entry) as file:
        assert file["gaps"].tolist() == first.outcomes[0].gaps.tolist()
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


def test_no_cache_and_no_place_are_no_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty ECM_CACHE keeps nothing; a place that cannot be written is passed over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ECM_CACHE", "")
    make_design(SQRT, 8, 8)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ECM_CACHE", str(tmp_path / "file"))
    make_design(SQRT, 8, 8)
