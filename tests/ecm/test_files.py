"""A file is there as a whole or not at all, and a lock is held by one process."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ecm.files import locked, replace_file


def test_a_write_that_fails_leaves_the_old_file_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the previous content and nothing else remains, and the error names the file that was meant."""
    path = tmp_path / "state"
    replace_file(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        replace_file(path, b"new")
    assert caught.value.filename == str(path)
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("state", b"old")]


def test_threads_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    """Each writes beside under its own name, so that the last rename wins with a whole content."""
    contents = [bytes([k]) * 100_000 for k in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: replace_file(tmp_path / "a", content), contents))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() in contents


def test_a_new_file_is_for_others_to_read_as_usual(tmp_path: Path) -> None:
    """Its permissions are those that the user's umask gives any file."""
    replace_file(tmp_path / "a", b"")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_lock_is_held_by_one_process_and_released(tmp_path: Path) -> None:
    """Another process gets the error that was asked for while the lock is held, and the lock afterwards."""
    code = (
        "import os, sys; from ecm.files import locked\n"
        "with locked(os.open(sys.argv[1], os.O_RDONLY), ValueError('busy')): print('mine')"
    )
    other = [sys.executable, "-c", code, str(tmp_path)]
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with locked(handle, ValueError("busy")):
            refused = subprocess.run(other, capture_output=True, text=True, check=False)
            assert "ValueError: busy" in refused.stderr
            assert refused.returncode == 1
        assert subprocess.run(other, capture_output=True, text=True, check=True).stdout == "mine\n"
    finally:
        os.close(handle)
