"""A pytest session that collects once and then forks for every mutant.

The parent imports the project and collects the tests of a floor, but runs none. A first child runs every test once and
notes its time and the lines that it reaches. Then every mutant gets a child of its own, in which the changed function
has its new code, and which runs the tests that reach the changed line, the quick and successful ones first, until one
fails.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.mutate.mutants import Mutant, mutants
from benchmarks.mutate.swap import HITS, around, counted, forget, functions, module, rebind, swap

MEMORY = 12 << 30
OWN_ERROR = 70


class Reached(NamedTuple):
    """A test's processor seconds without any fault, and for each file the lines of the statements that it reaches."""

    seconds: float
    lines: dict[str, list[int]]


class Outcome(NamedTuple):
    """Whether a test saw the mutant, which one ("time" if it ran on, "import" if it could not be planted), how long."""

    seen: bool
    by: str
    tests: int
    seconds: float


class Session:
    """The plugin. `work` gets the session when all is collected."""

    def __init__(self, paths: Sequence[str], examples: int, map_file: Path, work: Callable[[Session], None]) -> None:
        self.paths, self.examples, self.map_file, self.work = list(paths), examples, map_file, work
        self.sources = {path: Path(path).read_text() for path in paths}  # once: files may change meanwhile
        self.trees: dict[str, tuple[ast.Module, list[Mutant]]] = {}
        self.items: dict[str, Any] = {}
        self.reached: dict[str, Reached] = {}
        self.kills = Counter[str]()
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """The first failure."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Where this program itself went wrong."""
        print(excrepr, file=sys.__stderr__)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Measure, and then do the work, instead of running the tests."""
        self.items = {item.nodeid: item for item in session.items}
        for item in session.items:
            _fewer(item, self.examples)
        session.config._tmp_path_factory.getbasetemp()
        _warm()
        forget()
        for path in self.paths:
            module(path)
        self.alive = functions(self.paths)
        gc.collect()
        gc.freeze()  # what children never look at is never copied for them
        self._measure()
        self.work(self)
        return True

    # ---- which test reaches what ----

    def _measure(self) -> None:
        sources = {path: sha256(source.encode()).hexdigest()[:16] for path, source in self.sources.items()}
        stored = json.loads(self.map_file.read_text()) if self.map_file.exists() else {}
        if stored.get("sources") == sources:
            self.reached = {name: Reached(*entry) for name, entry in stored["tests"].items()}
        missing = [name for name in self.items if name not in self.reached]
        for at in range(0, len(missing), 40):
            part = missing[at : at + 40]
            self.reached |= {name: Reached(*entry) for name, entry in _child(lambda: self._traced(part), 600)}  # noqa: B023
            for name in part:  # what failed without a fault, or did not come to its end, is of no use
                self.reached.setdefault(name, Reached(float("inf"), {}))
            entries = {name: list(entry) for name, entry in self.reached.items()}
            self.map_file.write_text(json.dumps({"sources": sources, "tests": entries}))
        print(f"{len(self.items)} tests, {len(missing)} of them measured", file=sys.__stderr__, flush=True)

    def _traced(self, names: list[str]) -> Iterator[tuple[str, Reached]]:
        hits: dict[str, set[int]] = {path: set() for path in self.paths}
        for path, source in self.sources.items():
            setattr(module(path), HITS, hits[path])
            swap(counted(ast.parse(source)), path, self.alive[path])
        for name, after in zip(names, [*names[1:], None], strict=False):
            for lines in hits.values():
                lines.clear()
            forget()
            began = time.process_time()
            if not self._fails(name, after):
                lines_of = {path: sorted(lines) for path, lines in hits.items() if lines}
                yield name, Reached(time.process_time() - began, lines_of)

    def _fails(self, name: str, after: str | None) -> bool:
        self.failed = ""
        item, following = self.items[name], self.items[after] if after else None
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return bool(self.failed)

    # ---- mutants ----

    def mutants(self, path: str) -> list[Mutant]:
        """All mutants of a file."""
        if path not in self.trees:
            tree = ast.parse(self.sources[path])
            self.trees[path] = tree, mutants(tree)
        return self.trees[path][1]

    def guarded(self, path: str) -> dict[int, int]:
        """By the line of an `if`, the line of the first statement that it guards."""
        self.mutants(path)
        found = (node for node in ast.walk(self.trees[path][0]) if isinstance(node, ast.If))
        return {node.lineno: node.body[0].lineno for node in found}

    def chosen(self, path: str, mutant: Mutant, budget: float) -> list[str]:
        """The tests that reach the mutant, the most promising first, until their seconds are more than the budget.

        For a condition those come first that reach what it guards."""
        line = mutant.line if mutant.function else None
        guarded = self.guarded(path).get(mutant.line)
        able = [
            (guarded not in entry.lines.get(path, ()), entry.seconds / (1 + 5 * self.kills[name]), name)
            for name, entry in self.reached.items()
            if name in self.items and entry.seconds < 60
            if (line in entry.lines.get(path, ()) if line else path in entry.lines)
        ]
        names, spent = list[str](), 0.0
        for *_, name in sorted(able):
            if names and spent + self.reached[name].seconds > budget:
                continue
            names.append(name)
            spent += self.reached[name].seconds
        return names

    def trial(self, path: str, number: int, budget: float) -> Outcome:
        """Plant one mutant in a child and run its tests."""
        mutant = self.mutants(path)[number]
        tree = self.trees[path][0]  # a child changes its own copy
        names = self.chosen(path, mutant, budget)
        began, limit = time.monotonic(), 3 + 5 * sum(self.reached[name].seconds for name in names)

        def attempt() -> Iterator[str]:
            mutant.plant()
            try:
                if mutant.function:
                    swap(around(tree, mutant.line), path, self.alive[path])
                else:
                    rebind(tree, path)
            except Exception:
                yield "import"
                return
            for name, after in zip(names, [*names[1:], None], strict=False):
                signal.setitimer(signal.ITIMER_PROF, 0.8 + 5 * self.reached[name].seconds)  # ends the child
                if self._fails(name, after):
                    yield name
                    return
            yield ""

        found = list(_child(attempt, int(limit)))
        by = found[0] if found else "time"
        if by in self.items:
            self.kills[by] += 1
        return Outcome(bool(by), by, len(names), round(time.monotonic() - began, 2))


def _fewer(item: Any, examples: int) -> None:
    """Few and fixed examples, and no shrinking: a failure is enough."""
    test = getattr(item, "obj", None)
    used = getattr(test, "_hypothesis_internal_use_settings", None)
    if used is not None:
        test._hypothesis_internal_use_settings = settings(
            used,
            max_examples=min(examples, used.max_examples),
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
        )


def _warm() -> None:
    """Fill the caches of other people's packages, so that no child has to."""
    import torch

    from ecm import ECM

    @settings(max_examples=5, database=None, deadline=None, derandomize=True)
    @given(st.tuples(st.lists(st.integers()), st.text(), st.fractions(0, 1), st.data()))
    def nothing(_: object) -> None:
        pass

    nothing()
    torch.set_num_threads(1)
    torch.zeros(3).sum().item()
    for text in ("z**0.5/2", "log1p(3*z)/2", "Min(2*z, 1)", "tanh(2*z)"):
        ECM(text)


def _child(work: Callable[[], Iterator[Any]], seconds: int) -> Iterator[Any]:
    """What a forked process yields until it ends, fails or has used its seconds of processor time."""
    out, into = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(600 + 30 * seconds)  # a child that waits forever, even on a busy machine
            quiet, ours = os.open(os.devnull, os.O_WRONLY), os.dup(2)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            for found in work():
                os.write(into, (json.dumps(found) + "\n").encode())
        except Exception as error:
            os.write(ours, f"{type(error).__name__} in this program: {error}\n".encode())
            os._exit(OWN_ERROR)
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        found = [json.loads(line) for line in pipe if line.endswith("\n")]
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == OWN_ERROR:
        raise RuntimeError("a child of this program failed by itself")
    yield from found


def collected(session: Session, tests: Sequence[str]) -> None:
    """Collect the tests and do the session's work."""
    options = ["-q", "-p", "no:cacheprovider", "-o", "timeout=0", "-s", "-m", "not slow", "--tb=no"]
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        code = pytest.main([*options, *tests], plugins=[session])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"the tests cannot be collected: {code!r}")
