"""Measure, store, and write the page.

    python -m benchmarks [part ...] [--quick]

Every part runs in a fresh process and replaces its own piece of benchmarks/results.json, with the time and the machine;
then docs/benchmarks.md and its figures are written anew. `--quick` runs tiny sizes and stores nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import Any

from benchmarks._measure import ROOT, child, machine, once, others
from benchmarks._page import FILES, PARTS, RESULTS, part, read


def run(name: str, quick: bool) -> dict[str, Any]:
    """One part, here: its results with when and on what they were measured."""
    on, before = machine(), others()
    found, seconds = once(lambda: part(name).measure(quick))
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    busy = max(0.0, others() - before) / (seconds * on["cores"])
    return {"measured": when, "quick": quick, "seconds": seconds, "machine": on, "others": busy, "found": found}


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing stored")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.part if name not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]!r} is no part; choose from {', '.join(PARTS)}")
    for name in chosen.part or PARTS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        measured, peak = child("benchmarks.__main__", "run", name, chosen.quick)
        print(f"{part(name).section(measured['found'])}\n\n{measured['seconds']:.0f} s, {peak:.0f} MB\n", flush=True)
        if not chosen.quick:
            results = read()
            parts = results["parts"] | {name: measured}
            results["parts"] = {known: parts[known] for known in PARTS if known in parts}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if not chosen.quick and read()["parts"].keys() == PARTS.keys():
        for file, content in FILES.items():
            (ROOT / "docs" / file).write_text(content())


if __name__ == "__main__":
    main()
