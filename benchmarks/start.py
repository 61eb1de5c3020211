"""What it takes to start: `import ecm` and the command line against an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

from benchmarks._measure import ROOT, interleaved
from benchmarks._text import duration, joined, table, times

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import ecm": ("-c", "import ecm"),
    "import torch": ("-c", "import torch"),
    "ecm --help": ("-m", "zoo", "--help"),
    'ecm derive "z**0.5/18" --budget 18000': ("-m", "zoo", "derive", "z**0.5/18", "--budget", "18000"),
}


def measure(quick: bool) -> dict[str, Any]:
    """Wall time from start to end of a process, in turn."""
    chosen = dict(list(COMMANDS.items())[: 3 if quick else None])
    found = interleaved(
        {
            name: partial(subprocess.run, [sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True)
            for name, arguments in chosen.items()
        },
        rounds=1 if quick else 9,
    )
    nothing = found["python -c pass"]
    return {"rows": [{"command": n, "seconds": t.facts(), "ratio": t.over(nothing)} for n, t in found.items()]}


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    rows = [(f"`{row['command']}`", duration(row["seconds"]["median"]), times(row["ratio"])) for row in found["rows"]]
    return joined(
        """From the start of a process to its end. Importing `ecm` and the command line load neither torch nor a solver;
        `import numpy` and `import torch` are there as yardsticks.""",
        table(("process", "median", "against `python -c pass`"), rows),
    )
