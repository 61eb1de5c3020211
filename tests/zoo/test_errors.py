"""What can go wrong on a real machine: full disks, places that cannot be written, damaged files, missing devices."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zoo.tiny import tiny_data, tiny_model
from zoo import CertifyError, CheckpointError, DataError, ModelError, TrainingError, certify, report, train
from zoo.folder import ABOUT, TABLE
from zoo.models import load

IMAGES = 900


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small tmpfs cannot be mounted here (that takes root): the full disk was not tried")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path, small_disk: Path) -> None:
    """The error says so; after making room the same call ends with the rows of an undisturbed run."""
    data = tiny_data(IMAGES)
    model = tiny_model(tmp_path / "model", data=data)
    calm = certify(model, data, progress=False, tolerance=1e-4, batch_size=12, out=tmp_path / "calm")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(80_000))
    with pytest.raises(CertifyError, match=r"No space left on device.*Finished images are kept"):
        certify(model, data, progress=False, tolerance=1e-4, batch_size=12, out=small_disk / "run")
    kept = (small_disk / "run" / "votes" / "rank-00000.rows").stat().st_size
    assert kept > 1000
    filler.unlink()
    again = certify(model, data, progress=False, limit=300, tolerance=1e-4, batch_size=12, out=small_disk / "run")
    assert [row.balls for row in again.rows] == [row.balls for row in calm.rows[:300]]


@pytest.mark.parametrize("place", ["under a file", "in /proc"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    """Certify, report and train say which folder it was. (Root may write anywhere else.)"""
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "run" if place == "under a file" else Path("/proc/ecm-test/run")
    model = tiny_model(tmp_path / "model")
    with pytest.raises(CertifyError, match=str(out.parent.name)):
        certify(model, tiny_data(), out=out, progress=False)
    certify(model, tiny_data(), limit=2, progress=False)
    with pytest.raises(ModelError, match="choose another place"):
        report(model.path, out / "page.html")
    with pytest.raises(TrainingError, match="cannot be used"):
        train("z**0.5/2", tiny_data(), out=out, epochs=1, progress=False)


def test_no_permission_is_an_error_that_says_so(tmp_path: Path) -> None:
    """A folder without write permission, for those whom permissions bind."""
    if os.geteuid() == 0:
        pytest.skip("root is not bound by permissions: a folder without write permission was not tried")
    model = tiny_model(tmp_path / "model")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(CertifyError, match="Permission denied"):
        certify(model, tiny_data(), out=locked / "run", progress=False)


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    """A GPU asked for by number, and a device nobody has heard of."""
    model = tiny_model(tmp_path / "model")
    for device in ("cuda:93", "abacus"):
        with pytest.raises(TrainingError, match=device):
            certify(model, tiny_data(), device=device, progress=False)


def test_unknown_names(tmp_path: Path) -> None:
    """Data sets and models that do not exist."""
    model = tiny_model(tmp_path / "model")
    with pytest.raises(DataError, match="digits"):
        certify(model, "digist", progress=False)
    with pytest.raises(ModelError, match="known name"):
        certify("cifar10-l0.5-a99", progress=False)


@pytest.mark.parametrize("name", [ABOUT, TABLE, "votes/header.json"])
def test_damaged_results_are_refused_not_guessed(tmp_path: Path, name: str) -> None:
    """A damaged certify.json, table or header of the votes is an error of our own that names the file or what it is."""
    from ecm import ECMError

    model = tiny_model(tmp_path / "model")
    certify(model, tiny_data(), limit=3, progress=False)
    path = model.path / name
    text = path.read_text()
    path.write_text(text.replace("1", "x") if name == TABLE else text[: len(text) // 2])
    with pytest.raises(ECMError, match=r"certify|vote record"):
        certify(load(model.path), tiny_data(), limit=3, progress=False)


def test_a_damaged_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    """Training on from a file that is no checkpoint is refused with what to do."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(CheckpointError, match="delete it"):
        train("z**0.5/2", tiny_data(), out=tmp_path / "run", epochs=1, budget=12, progress=False)
