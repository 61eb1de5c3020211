"""How everything here is measured: in turn, in one run, with its spread, and with what it was measured on."""

from __future__ import annotations

import importlib
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

ROOT = Path(__file__).parent.parent
T = TypeVar("T")


class Times(NamedTuple):
    """Wall seconds of one action, one entry per round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def facts(self) -> dict[str, Any]:
        """Median and quartiles, as they are written to the results."""
        return spread(self.seconds) | {"rounds": len(self.seconds)}

    def over(self, other: Times) -> dict[str, float]:
        """How many times longer than `other`: the ratio round by round, so that a drift of the machine cancels."""
        return spread([a / b for a, b in zip(self.seconds, other.seconds, strict=True)])


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Run every action once unmeasured, then all in turn, `rounds` times."""
    for action in actions.values():
        action()
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            seconds[name].append(once(action)[1])
    return {name: Times(tuple(found)) for name, found in seconds.items()}


def once(action: Callable[[], T]) -> tuple[T, float]:
    """The answer and its wall seconds."""
    start = time.perf_counter()
    answer = action()
    return answer, time.perf_counter() - start


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return {"median": median, "low": low, "high": high}


def rounded(value: Any) -> Any:
    """Every float inside with four significant digits: more would be noise.

    >>> rounded({"a": [1.23456, 7], "b": "text"})
    {'a': [1.235, 7], 'b': 'text'}
    """
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) against log(size), least squares: 1 is linear growth.

    >>> exponent([1, 2, 4], [3, 6, 12])
    1.0
    """
    fit = statistics.linear_regression([math.log(s) for s in sizes], [math.log(v) for v in values])
    return round(fit.slope, 2)


def machine() -> dict[str, Any]:
    """What a time depends on; nothing that names the machine or its user."""
    import torch

    cpu = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", cpu.read_text()) if cpu.exists() else []
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
    }


def others() -> float:
    """Processor seconds that were not spent by this process and its finished children since the machine started."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, *rest = (int(n) for n in stat.read_text().splitlines()[0].split()[1:9])
    busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])


def peak_mb() -> float:
    """Peak resident memory of this process, MB (2^20 bytes).

    From the kernel's mark of this address space: what getrusage says includes the parent's memory at the fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s*(\d+) kB", status.read_text())[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def child(module: str, function: str, *arguments: Any) -> tuple[Any, float]:
    """The answer of `module.function(*arguments)` in a fresh interpreter, and that process's peak memory in MB.

    Arguments and answer travel as JSON, the answer's floats `rounded`. Designs are not read from a cache there: a
    search that is skipped says nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        task = json.dumps([module, function, arguments])
        environment = os.environ | {"ECM_CACHE": ""}
        subprocess.run(
            [sys.executable, "-m", "benchmarks._measure", task, str(answer)], cwd=ROOT, check=True, env=environment
        )
        found, peak = json.loads(answer.read_text())
    return found, peak


def _serve(task: str, path: str) -> None:
    module, function, arguments = json.loads(task)
    found = getattr(importlib.import_module(module), function)(*arguments)
    Path(path).write_text(json.dumps(rounded([found, peak_mb()])))


if __name__ == "__main__":
    _serve(*sys.argv[1:])
