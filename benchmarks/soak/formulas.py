"""Fuzzed formulas: the program `benchmarks.fuzz`, whose referee is mpmath, in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from benchmarks.soak._result import Options, Result


def soak(options: Options) -> Result:
    """As many formulas as asked for."""
    result = Result()
    if importlib.util.find_spec("benchmarks.fuzz") is None:
        result.fail("benchmarks/fuzz.py is missing")
        return result
    command = [sys.executable, "-m", "benchmarks.fuzz", str(options.formulas), str(options.seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    result.counts["formulas"] = options.formulas
    if done.returncode:
        result.fail((done.stdout + done.stderr)[-2000:])
    return result
