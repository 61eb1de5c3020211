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
from ecm import ECMError
from zoo.folder import WEIGHTS


def soak(options: Options) -> Result:
    """Each kind of run on disks that fill up at different moments, and on one that is read-only."""
    result, rng = Result(), options.rng("disks")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["ECM_CACHE"] = str(place / "cache")
        training(place / "training")
        runs: list[tuple[str, Callable[[Path], None], list[str]]] = [
            ("training", training, [WEIGHTS]),
            ("voting", voting, ["header.json", "rank-00000.rows"]),
            ("certification", certification(place / "training"), ["votes/rank-00000.rows"]),
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
                    filler = disk / "filler"
                    filler.write_bytes(bytes(1024 * (4 * used + 400 - rng.randint(8, max(9, used))) * 9 // 10))
                    _refused(result, f"full disk, {what}", run, disk / "run")
                    filler.unlink()
                    run(disk / "run")
                    result.counts["full disks"] += 1
                    for file in names:
                        same_bytes(result, f"full disk, {what}", calm / file, disk / "run" / file)
                    tables = [table_without_times(folder) for folder in (calm, disk / "run")]
                    if tables[0] != tables[1]:
                        result.fail(f"full disk, {what}: the tables differ")
            with _disk(place / "disk", 4 * used + 400, "ro") as disk:
                result.counts["read-only disks"] += 1
                if not _refused(result, f"read-only disk, {what}", run, disk / "run"):
                    result.fail(f"read-only disk, {what}: no error")
    return result


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
