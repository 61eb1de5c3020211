"""Try to break the package, for as long as is wanted; nothing here is part of `make test`.

    python -m benchmarks.soak [part ...] [--formulas N] [--documents N] [--folders N] [--kills N] [--minutes M]

- formulas:  fuzzed formulas (where the fuzzer is there);
- documents: certificates, facts, votes and images, tampered with; an accepted claim must be true by brute force;
- folders:   model folders, tampered with; no accuracy may change, and only our own errors come out;
- kills:     kill -9 at random moments of training, voting, table writing and certification by two processes;
- disks:     a full and a read-only disk under each of them (that takes root);
- cache:     two processes in one cache of designs, whose entries are damaged meanwhile.

The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time

import attrs

from benchmarks.soak._result import Options

PARTS = ("formulas", "documents", "folders", "kills", "disks", "cache")


def main(arguments: list[str]) -> int:
    """Run the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"Any of {', '.join(PARTS)}; all by default.")
    for field in attrs.fields(Options):
        kind = float if isinstance(field.default, float) else int
        parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    given = vars(parser.parse_args(arguments))
    chosen = given.pop("parts") or PARTS
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no part is called {unknown.pop()}; write any of {', '.join(PARTS)}")
    options, failed = Options(**given), 0
    for part in chosen:
        name = f"benchmarks.soak.{part}"
        if importlib.util.find_spec(name) is None:
            print(f"{part}: not here", flush=True)
            continue
        began = time.perf_counter()
        result = importlib.import_module(name).soak(options)
        counts = ", ".join(f"{count} {what}" for what, count in result.counts.items())
        print(f"{part}: {counts}; {len(result.failures)} failures ({time.perf_counter() - began:.0f} s)", flush=True)
        for failure in result.failures[:20]:
            print(f"  FAILED {failure}", flush=True)
        failed += len(result.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
