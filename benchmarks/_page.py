"""docs/benchmarks.md and its figures, from benchmarks/results.json alone."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._text import joined, percent, table

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results.json"
FORMAT = "ecm-bench-1"
QUIET = 0.1  # of the processors, for everything else that runs

# name -> heading, in the order in which they are run and shown
PARTS = {
    "voting": "Voting",
    "early": "Early stop",
    "certificates": "Certificates against voting",
    "noise": "Noise",
    "growth": "Growth",
    "allocation": "Allocation against the integer program",
    "designs": "Outcome designs",
    "start": "Starting",
}


def part(name: str) -> Any:
    """The module of a part: `measure(quick)` gives its results, `section(results)` its piece of the page."""
    return importlib.import_module(f"benchmarks.{name}")


def read() -> dict[str, Any]:
    """The stored results, empty if there are none yet."""
    if not RESULTS.exists():
        return {"format": FORMAT, "parts": {}}
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    return results


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    stored = {name: results["parts"][name] for name in PARTS if name in results["parts"]}
    aims = [aim for name, one in stored.items() if hasattr(part(name), "aims") for aim in part(name).aims(one["found"])]
    pieces = [
        "# Benchmarks",
        joined(
            """Made by `make bench` from `benchmarks/results.json`; `make bench ONLY=noise` measures one part again.
            What is compared is measured in turn, in one run on one machine; a ratio is the median over the rounds, with
            quartiles in brackets. The times are this machine's, the ratios travel better. Only CPUs were measured: the
            GPU paths run the same code, but no number here says how fast they are."""
        ),
        table(("aim", "reached", ""), [(aim.wanted, aim.reached, "met" if aim.met else "**not met**") for aim in aims]),
    ]
    for name, one in stored.items():
        pieces += [f"## {PARTS[name]}", part(name).section(one["found"]), _measured(one)]
    return "\n\n".join(pieces) + "\n"


def _measured(one: dict[str, Any]) -> str:
    on = one["machine"]
    tiny = "**Tiny sizes, to show the form: run `make bench`.**" if one["quick"] else ""
    busy = "**The machine was not quiet: times are too long, ratios uncertain.**" if one["others"] > QUIET else ""
    return joined(
        f"""*{one["measured"]}, {one["seconds"]:.0f} s; {on["cpu"]}, {on["cores"]} cores, {on["memory_gb"]} GB,
        {on["system"]}, Python {on["python"]}, torch {on["torch"]} (threads: {on["threads"]}); other processes took
        {percent(one["others"])} of the processors.* {busy} {tiny}"""
    )


def drawing(name: str) -> str:
    """The stored figure of a part as SVG text, the same bytes for the same results."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ecm", "svg.fonttype": "none", "font.size": 9}):
        part(name).figure(read()["parts"][name]["found"]).savefig(file, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


FILES: dict[str, Callable[[], str]] = {
    "benchmarks.md": lambda: page(read()),
    "img/bench-early.svg": lambda: drawing("early"),
    "img/bench-growth.svg": lambda: drawing("growth"),
    "img/bench-voting.svg": lambda: drawing("voting"),
}
