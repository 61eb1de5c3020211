"""A disk that is full, or that cannot be written: an error of ours, and after making room the bytes of a calm run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.soak._result import Options, Result, same_bytes
from benchmarks.soak._runs import certification, table_without_times, training, voting
from benchmarks.soak.kills import pair, with_votes
from ecm import ECMError
from zoo.folder import WEIGHTS


def soak(options: Options) -> Result:
    """Each kind of run on disks that fill up at different moments, and on one that is read-only."""
    result, rng = Result(), options.rng("disks")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["ECM_CACHE"] = str(place / "cache")
        training(place / "training")
        certify = certification(place / "training")
        runs: list[tuple[str, Callable[[Path], None], list[str]]] = [
            ("training", training, [WEIGHTS]),
            ("voting", voting, ["header.json", "rank-00000.rows"]),
            ("certification", certify, ["votes/rank-00000.rows"]),
            ("table writing", certify, ["votes/rank-00000.rows"]),
        ]
        try:
            with _disk(place / "try", 64):
                pass
        except (OSError, subprocess.CalledProcessError):
            result.counts["disks, since none can be mounted here (that takes root)"] = 0
            return result
        for what, run, names in runs:
            calm = place / f"calm {what}"
            run(calm)
            used = sum(file.stat().st_size for file in calm.rglob("*") if file.is_file()) // 1024
            for _ in range(options.kills):
                with _disk(place / "disk", 4 * used + 400) as disk:
                    if what == "table writing":
                        with_votes(calm, disk / "run")
                    filler = _filled(disk, rng.randint(1, max(2, used // 4)))
                    _refused(result, f"full disk, {what}", run, disk / "run")
                    filler.unlink()
                    run(disk / "run")
                    result.counts["full disks"] += 1
                    for file in names:
                        same_bytes(result, f"full disk, {what}", calm / file, disk / "run" / file)
                    _same_tables(result, f"full disk, {what}", calm, disk / "run")
            with _disk(place / "disk", 4 * used + 400, "ro") as disk:
                result.counts["read-only disks"] += 1
                if not _refused(result, f"read-only disk, {what}", run, disk / "run"):
                    result.fail(f"read-only disk, {what}: no error")
        for number in range(1 + options.kills // 3):
            with _disk(place / "disk", 4 * used + 400, "ro" if number == 0 else "rw") as disk:
                filler = _filled(disk, rng.randint(1, max(2, used // 4))) if number else None
                codes = pair(certify, disk / "run", None, 0.0)
                if None in codes or (filler is None and 0 in codes):
                    result.fail(f"two processes on a full or read-only disk ended with {codes}")
                result.counts["disks under two processes"] += 1
                if filler is not None:
                    filler.unlink()
                    if pair(certify, disk / "run", None, 0.0) != [0, 0]:
                        result.fail("two processes: a run does not go on after a full disk")
                    _same_tables(result, "two processes after a full disk", place / "calm certification", disk / "run")
    return result


def _filled(disk: Path, left: int) -> Path:
    """A file that leaves so many kilobytes of the disk."""
    filler, space = disk / "filler", os.statvfs(disk)
    filler.write_bytes(bytes(max(0, space.f_bavail * space.f_frsize - 1024 * left)))
    return filler


def _same_tables(result: Result, what: str, one: Path, other: Path) -> None:
    if table_without_times(one) != table_without_times(other):
        result.fail(f"{what}: the tables differ")


def _refused(result: Result, what: str, run: Callable[[Path], None], folder: Path) -> bool:
    """Whether the run ended with an error, which must be one of ours. A disk may be just large enough, too."""
    try:
        run(folder)
    except ECMError:
        result.counts["refusals in words"] += 1
        return True
    except Exception as error:
        result.fail(f"{what}: {error!r}")
        return True
    return False


@contextmanager
def _disk(folder: Path, kilobytes: int, mode: str = "rw") -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    options = f"size={kilobytes}k,{mode}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
