"""kill -9 at random moments, then the same run again: what is left in the end are the bytes of an undisturbed run."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from benchmarks.soak._result import Options, Result, same_bytes
from benchmarks.soak._runs import certification, ended, forked, table_without_times, training, voting
from smoothing import Record
from zoo.folder import SCHEME, WEIGHTS


@attrs.frozen
class Hunt:
    """One kind of run: what it is called, how it is started, what it must leave, and what it begins with."""

    what: str
    run: Callable[[Path], None]
    names: tuple[str, ...]
    begun: Callable[[Path, Path], None] | None = None


def soak(options: Options) -> Result:
    """Kill every kind of run as often as asked for."""
    result, rng = Result(), options.rng("kills")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["ECM_CACHE"] = str(place / "cache")
        run, votes = certification(place / "training" / "calm"), ("votes/header.json", "votes/rank-00000.rows")
        for hunt in (
            Hunt("training", training, (WEIGHTS, SCHEME)),
            Hunt("voting", voting, ("header.json", "rank-00000.rows")),
            Hunt("certification", run, votes),
            Hunt("table writing", run, votes, with_votes),
        ):
            _hunt(result, rng, hunt, place / hunt.what, options.kills)
        _two_processes(result, rng, place, run, options.kills)
    return result


def _hunt(result: Result, rng: random.Random, hunt: Hunt, place: Path, kills: int) -> None:
    calm = place / "calm"
    place.mkdir()
    began = time.monotonic()
    if ended(forked(hunt.run, calm)) != 0:
        result.fail(f"{hunt.what}: the undisturbed run did not end")
        return
    length = time.monotonic() - began
    done = 0
    for number in range(20 * kills):
        hunted = place / f"hunted-{number}"
        if hunt.begun is not None:
            hunt.begun(calm, hunted)
        while done < kills:  # several kills in the life of one run
            child = forked(hunt.run, hunted)
            time.sleep(rng.uniform(0, length))
            if os.waitpid(child, os.WNOHANG)[0]:
                break  # it had ended before
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            done += 1
        if ended(forked(hunt.run, hunted)) != 0:
            result.fail(f"{hunt.what}: a killed run does not go on ({hunted.name})")
        else:
            _compare(result, hunt, calm, hunted)
        shutil.rmtree(hunted, ignore_errors=True)
        if done >= kills:
            break
    result.counts[f"kills of {hunt.what}"] += done


def _compare(result: Result, hunt: Hunt, calm: Path, hunted: Path) -> None:
    for name in hunt.names:
        same_bytes(result, hunt.what, calm / name, hunted / name)
    if table_without_times(calm) != table_without_times(hunted):
        result.fail(f"{hunt.what}: the tables differ")
    if left := [path.name for path in hunted.rglob("*") if path.name.endswith(".part")]:
        result.fail(f"{hunt.what}: {left} is left behind")


def with_votes(calm: Path, hunted: Path) -> None:
    """Votes are there, the table is not: the run writes rows from its beginning."""
    shutil.copytree(calm / "votes", hunted / "votes")
    shutil.copy(calm / "scheme.json", hunted / "scheme.json")


def _two_processes(result: Result, rng: random.Random, place: Path, run: Callable[[Path], None], kills: int) -> None:
    """Either of two processes is killed, and the other goes with it, as torchrun would have it."""
    calm = place / "certification" / "calm"
    began = time.monotonic()
    if pair(run, place / "pair", None, 0.0) != [0, 0]:
        result.fail("two processes: the undisturbed run did not end")
        return
    length = time.monotonic() - began
    for number in range(kills):
        hunted, victim = place / f"pair-{number}", rng.randrange(2)
        pair(run, hunted, victim, rng.uniform(0, length))
        result.counts[f"kills of rank {victim} of 2"] += 1
        if pair(run, hunted, None, 0.0) != [0, 0]:
            result.fail(f"two processes: a killed run does not go on ({hunted.name})")
            continue
        votes = [Record.open(folder / "votes").votes() for folder in (calm, hunted)]
        if votes[0][0].tolist() != votes[1][0].tolist() or votes[0][1].tobytes() != votes[1][1].tobytes():
            result.fail(f"two processes: other votes ({hunted.name})")
        if table_without_times(calm) != table_without_times(hunted):
            result.fail(f"two processes: another table ({hunted.name})")


def pair(run: Callable[[Path], None], folder: Path, victim: int | None, delay: float) -> list[int | None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    children = [forked(run, folder, RANK=str(rank), LOCAL_RANK=str(rank), **shared) for rank in range(2)]
    if victim is None:
        return [ended(child) for child in children]
    time.sleep(delay)
    for child in (children[victim], children[1 - victim]):
        os.kill(child, signal.SIGKILL)  # not yet waited for, so the number is still theirs
        time.sleep(0.02)
    return [ended(child) for child in children]
