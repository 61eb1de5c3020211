"""The cache gives back what was built, and no file in it can do harm."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ecm import ECM, Outcomes, make_design
from ecm.design import cache
from ecm.design import search as construction

SQRT = ECM.from_expr("z**0.5")
SMALL = Outcomes.from_rows([[1, 3], [2]], q=4, budget=4)


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


def test_a_bomb_is_not_unpacked(folder: Path) -> None:
    """A megabyte that claims to be gigabytes of rows: what cannot be the design asked for is not read."""
    first = make_design(SQRT, 16, 16)
    (entry,) = folder.iterdir()
    with entry.open("wb") as file:
        np.savez_compressed(file, q=16, budget=16, starts=np.arange(2), gaps=np.zeros(2**24, dtype=np.int64))
    tracemalloc.start()
    try:
        assert make_design(SQRT, 16, 16) == first
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert entry.stat().st_size < 10_000


def test_a_sound_entry_that_the_search_did_not_make_is_not_used(folder: Path) -> None:
    """A poorer list of outcomes is sound, too; only the search's own, under its own key, is taken from the cache."""
    first, other = make_design(SQRT, 16, 16), make_design(SQRT, 16, 16, seed=1)
    entries = {entry: entry.read_bytes() for entry in folder.iterdir()}
    assert len(entries) == 2
    one, two = entries
    one.write_bytes(entries[two])  # the entry of another search under this key
    two.write_bytes(entries[one])
    assert make_design(SQRT, 16, 16) == first
    assert make_design(SQRT, 16, 16, seed=1) == other
    for entry in entries:
        with np.load(entry) as file:
            content = dict(file)
        with entry.open("wb") as file:
            np.savez_compressed(file, **content | {"starts": np.array([0, 1]), "gaps": np.array([8])})
    assert make_design(SQRT, 16, 16) == first
    assert make_design(SQRT, 16, 16, seed=1) == other


def test_the_entries_of_another_user_are_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a cache that several people write, each takes what is their own or the administrator's."""
    first = make_design(SQRT, 16, 16)
    (entry,) = folder.iterdir()
    poor = Outcomes.from_rows([[8]], 16, 16)
    monkeypatch.setattr(cache.os, "getuid", lambda: entry.stat().st_uid + 1)
    monkeypatch.setattr(cache, "_ADMINISTRATOR", -1)
    cache.remember(entry.stem, poor)
    assert make_design(SQRT, 16, 16) == first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_no_file_is_passed_over(folder: Path) -> None:
    """A pipe would be waited for, a folder cannot be read."""
    first = make_design(SQRT, 16, 16)
    (entry,) = folder.iterdir()
    entry.unlink()
    os.mkfifo(entry)
    assert make_design(SQRT, 16, 16) == first
    entry.unlink()
    entry.mkdir()
    assert make_design(SQRT, 16, 16) == first


def test_the_cache_holds_exactly_what_it_may(folder: Path) -> None:
    """A list is found again if it is no larger than the bounds that are given, and not if it is much larger."""
    assert cache.cache_folder() == folder.parent
    assert cache.recall("key", dividers=3, outcomes=2) is None
    cache.remember("key", SMALL)
    assert cache.recall("key", dividers=3, outcomes=2) == SMALL
    assert cache.recall("other", dividers=3, outcomes=2) is None
    long = Outcomes.from_rows([range(1, 3001)], q=3000, budget=1)
    cache.remember("long", long)
    assert cache.recall("long", dividers=3000, outcomes=1) == long
    assert cache.recall("long", dividers=1000, outcomes=1) is None
    many = Outcomes.from_rows([[1]] * 3000, q=1, budget=3000)
    cache.remember("many", many)
    assert cache.recall("many", dividers=3000, outcomes=3000) == many
    assert cache.recall("many", dividers=3000, outcomes=1) is None


def test_without_the_variable_the_cache_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one means no cache."""
    monkeypatch.delenv("ECM_CACHE")
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.name == "ecm"
    monkeypatch.setenv("ECM_CACHE", "")
    assert cache.cache_folder() is None
    assert cache.recall("key", dividers=3, outcomes=2) is None


@pytest.mark.parametrize(("owner", "ours"), [(0, True), (1000, True), (1, False), (1001, False)])
def test_files_of_the_user_and_of_the_administrator_are_ours(
    owner: int, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The administrator is user 0."""
    monkeypatch.setattr(cache.os, "getuid", lambda: 1000, raising=False)
    file = SimpleNamespace(stat=lambda: SimpleNamespace(st_uid=owner))
    assert cache._ours(file) == ours  # type: ignore[arg-type]


def test_where_there_are_no_users_every_file_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows, where the cache folder is the user's."""
    monkeypatch.delattr(cache.os, "getuid", raising=False)
    assert cache._ours(Path("anything"))


def test_an_entry_with_another_divider_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it has as many rows and dividers; the folder is made where there is none."""
    monkeypatch.setenv("ECM_CACHE", str(folder / "of" / "its own"))
    cache.remember("key", SMALL)
    assert cache.recall("key", dividers=3, outcomes=2) == SMALL
    (entry,) = (folder / "of" / "its own" / "designs").iterdir()
    with np.load(entry) as file:
        content = dict(file)
    np.savez_compressed(entry, **content)
    assert cache.recall("key", dividers=3, outcomes=2) == SMALL
    np.savez_compressed(entry, **content | {"gaps": np.array([1, 4, 2])})
    assert cache.recall("key", dividers=3, outcomes=2) is None
