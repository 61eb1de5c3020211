"""Mutation testing of the modules that soundness rests on: small faults in memory, and the tests that must see them.

    python -m benchmarks.mutate [--folder F] [--seconds S] [--examples N] [--again] [--table] [room or module ...]

Every mutant is one change of one expression or statement (a comparison moved by one, a constant off by one, + for -,
min for max, `and` for `or`, a guard taken out, two arguments swapped, ...). No file is ever touched. The results go to
one file, line by line; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from pathlib import Path

from benchmarks.mutate.mutants import mutants
from benchmarks.mutate.results import Results, table
from benchmarks.mutate.session import Session, collected
from benchmarks.mutate.targets import ROOMS, TESTS, floor

TRIED = Path(__file__).with_name("results.jsonl")


def main() -> None:
    """Try the mutants of the rooms or modules that are named, or of all, that have not been tried."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description="Mutation testing.")
    parser.add_argument(
        "words", nargs="*", metavar="room", help=f"{', '.join(ROOMS)}, or part of a path; all by default"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/mutation"), help="where is kept which test reaches what"
    )
    parser.add_argument("--results", type=Path, default=TRIED, help="one line for each mutant that was tried")
    parser.add_argument("--seconds", type=float, default=3.0, help="tests per mutant, in seconds of the unchanged code")
    parser.add_argument("--examples", type=int, default=20, help="at most this many Hypothesis examples per test")
    parser.add_argument("--again", action="store_true", help="try the unexplained survivors again")
    parser.add_argument("--tests", nargs="+", help="only these files of tests, instead of all that guard the floor")
    parser.add_argument("--table", action="store_true", help="only print the table of docs/mutation.md")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    results = Results(given.results)
    paths = [path for room in ROOMS for path in ROOMS[room] if _named(room, path, given.words)]
    if given.table:
        keys = {path: [mutant.key for mutant in mutants(ast.parse(Path(path).read_text()))] for path in paths}
        print(table({path: results.count(path, names) for path, names in keys.items()}))
        for path, names in keys.items():
            for key in names:
                if not results.of(path).get(key, {"seen": True})["seen"] and not results.why(path, key):
                    print(f"left: {path}: {key}")
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    for name in dict.fromkeys(floor(path) for path in paths):
        child = os.fork()
        if not child:
            mine = [path for path in paths if floor(path) == name]
            every = [path for room in ROOMS.values() for path in room if floor(path) == name]

            def work(session: Session, mine: list[str] = mine) -> None:
                for path in mine:
                    _examine(session, results, path, given)

            collected(Session(every, given.examples, given.folder / f"{name}.json", work), given.tests or TESTS[name])
            os._exit(0)
        os.waitpid(child, 0)


def _named(room: str, path: str, words: list[str]) -> bool:
    return not words or any(word == room or ("." in word and word in path) for word in words)


def _examine(session: Session, results: Results, path: str, given: argparse.Namespace) -> None:
    done, tried, left = results.of(path), 0, 0
    for number, mutant in enumerate(session.mutants(path)):
        before = done.get(mutant.key)
        if before is not None and (before["seen"] or not given.again or results.why(path, mutant.key)):
            continue
        outcome = session.trial(path, number, given.seconds)
        results.add({"path": path, "key": mutant.key, "seen": outcome.seen, "by": outcome.by})
        tried += 1
        if not outcome.seen:
            left += 1
            _say(f"  SURVIVED line {mutant.line} ({outcome.tests} tests): {mutant.key}")
    _say(f"{path}: {tried} tried, {left} survived")


def _say(text: str) -> None:
    os.write(2, (text + "\n").encode())


if __name__ == "__main__":
    main()
