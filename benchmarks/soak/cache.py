"""Two processes that design into one cache, whose entries are damaged, mixed up and deleted under their hands."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

from benchmarks.soak._result import Options, Result
from benchmarks.soak._runs import ended, forked
from ecm import ECM, make_design

FORMULAS = ("z**0.5", "z/2", "log(1+5*z)/6")
CASES = [(formula, budget, seed) for formula in FORMULAS for budget in (12, 16) for seed in (0, 1)]


def soak(options: Options) -> Result:
    """Run for as many minutes as asked for."""
    result, rng = Result(), options.rng("cache")
    os.environ["ECM_CACHE"] = ""
    wanted = [_made(case) for case in CASES]
    with tempfile.TemporaryDirectory() as name:
        place, limit = Path(name), time.time() + 60 * options.minutes

        def work(log: Path) -> None:
            made, own = 0, random.Random(log.name)
            while time.time() < limit:
                at = own.randrange(len(CASES))
                if _made(CASES[at]) != wanted[at]:
                    raise AssertionError(f"{CASES[at]} is another design than without a cache")
                made += 1
            log.write_text(str(made))

        children = [forked(work, place / f"log-{k}", ECM_CACHE=str(place / "cache")) for k in range(2)]
        while time.time() < limit:
            result.counts["entries damaged"] += _damage(place / "cache" / "designs", rng)
            time.sleep(0.02)
        for k, child in enumerate(children):
            code = ended(child, 60)
            if code != 0:
                result.fail(f"process {k} ended with {'a hang' if code is None else code} (signal {signal.SIGKILL}?)")
            else:
                result.counts["designs"] += int((place / f"log-{k}").read_text())
        parts = list((place / "cache").rglob("*.part"))
        if parts:
            result.fail(f"{len(parts)} unfinished files are left in the cache")
    return result


def _made(case: tuple[str, int, int]) -> str:
    formula, budget, seed = case
    return make_design(ECM.from_expr(formula), budget, 16, seed=seed).fingerprint


def _damage(folder: Path, rng: random.Random) -> int:
    entries = sorted(folder.glob("*.npz")) if folder.exists() else []
    if not entries:
        return 0
    entry, other = rng.choice(entries), rng.choice(entries)
    try:
        content = entry.read_bytes()
        match rng.randrange(4):
            case 0:
                entry.unlink()
            case 1:
                entry.write_bytes(content[: rng.randrange(len(content) + 1)])
            case 2:
                entry.write_bytes(other.read_bytes())
            case _:
                changed = bytearray(content)
                changed[rng.randrange(len(changed))] ^= 0x55
                entry.write_bytes(bytes(changed))
    except (OSError, ValueError):
        return 0
    return 1
