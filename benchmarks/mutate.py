"""Mutation testing of the modules that soundness rests on: small faults in memory, and the tests that must see them.

    python -m benchmarks.mutate [--sample N] [--log FILE] [module ...]

Every mutant is one change of one expression or statement (a comparison moved by one, a constant off by one, + for -,
min for max, `and` for `or`, a guard taken out, two arguments swapped, ...). The changed module is compiled from its
syntax tree in a forked process and imported in place of the real one, so that no file is ever touched; then the
module's doctests and its own tests run, file by file, until one fails. Hypothesis draws at most `EXAMPLES` examples a
test, always the same ones. Survivors are printed; docs/mutation.md explains those that are known.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.util
import json
import os
import random
import re
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

EXAMPLES = 20
CPU_SECONDS = 40  # a mutant that runs longer counts as seen: it would hang every test run
MEMORY = 16 << 30
PREPARED = ("numpy", "torch", "sympy", "flint", "hypothesis", "attrs", "cattrs", "pytest", "scipy.stats")


class Target(NamedTuple):
    """A module, the tests that guard it (the quick ones first), and which of its functions are meant (a pattern)."""

    path: str
    tests: tuple[str, ...]
    functions: str = ""


def _smoothing(name: str, *tests: str, functions: str = "") -> Target:
    return Target(f"smoothing/{name}.py", tuple(f"tests/smoothing/test_{test}" for test in tests), functions)


def _ecm(name: str, *tests: str, functions: str = "") -> Target:
    return Target(f"ecm/{name}.py", tuple(f"tests/ecm/test_{test}" for test in tests), functions)


BRUTE = "brute_force.py::test_no_point_of_a_certified_ball_has_another_class"
TARGETS = (
    _smoothing("_certificates/_tally", "certificates.py", BRUTE),
    _smoothing("_certificates/_integer", "certificates.py", BRUTE),
    _smoothing("_certificates/_paper", "certificates.py", BRUTE),
    _smoothing("_certificates/_touch", "vote_aware.py", BRUTE),
    _smoothing("_certificates/_dual", "vote_aware.py", BRUTE),
    _smoothing("_certificates/_vote_aware", "vote_aware.py", BRUTE),
    _smoothing("_certificates/_certify", "certificates.py", "vote_aware.py", BRUTE),
    _smoothing("_certificates/_certificate", "certificates.py", BRUTE),
    _smoothing("_certificates/_power", "certificates.py"),
    _smoothing("_scheme", "scheme.py", "noise.py"),
    _smoothing("_noise", "noise.py"),
    _ecm("_outcomes", "outcomes.py", "design.py"),
    _ecm("_design", "design.py", functions="__attrs_post_init__|verify|from_|load|_parse|to_"),
    _ecm("_allocation", "allocation.py", functions="verify_allocation|_pairs|from_|outcomes|infinite"),
    _ecm("_profile", "profile.py", functions="floors|at_least|_entries|number|exact|ball|_check"),
    _ecm("_floors", "profile.py"),
    Target("ecm/formula/constants.py", ("tests/ecm/formula/test_constants.py", "tests/ecm/metric/test_profile.py")),
    Target("ecm/proof/rules.py", ("tests/ecm/proof/test_proof.py",)),
    _smoothing("_early", "early.py"),
    _smoothing("_record", "record.py"),
)


# ---- mutants -------------------------------------------------------------------------------------------------------

COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
BINARY = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
PAIRS = "min max,minimum maximum,any all,argmin argmax,floor ceil,lower upper,low high,up down"
NAMES = {a: b for pair in PAIRS.split(",") for a, b in (pair.split(), pair.split()[::-1])}
STRINGS = {"left": "right", "right": "left"}
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "msg"}
SKIPPED_FUNCTIONS = {"__repr__", "__str__", "__hash__"}


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """The changed forms of one node."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield _with(node, ops=[*ops[:i], COMPARE[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in BINARY:
            yield _with(node, op=BINARY[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield _with(node, value=value + 1)
        case ast.Constant(value=str(value)) if value in STRINGS:
            yield _with(node, value=STRINGS[value])
        case ast.IfExp(body=body, orelse=orelse):
            yield _with(node, body=orelse, orelse=body)
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield _with(node, id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield _with(node, attr=NAMES[name])
        case ast.Call(args=[first, second, *rest]) if not isinstance(first, ast.Starred):
            yield _with(node, args=[second, first, *rest])
    match node:
        case ast.If(orelse=[]) | ast.AugAssign() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Call()):
            yield ast.copy_location(ast.Pass(), node)


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


class Mutant(NamedTuple):
    """A place in the tree (the parent's field, and the index into it if it is a list) and what stands there instead."""

    line: int
    what: str
    parent: ast.AST
    field: str
    place: int | None
    changed: ast.AST

    def plant(self) -> None:
        """Change the tree."""
        if self.place is None:
            setattr(self.parent, self.field, self.changed)
        else:
            getattr(self.parent, self.field)[self.place] = self.changed


def mutants(tree: ast.Module, functions: str = "") -> list[Mutant]:
    """All mutants of the tree inside functions whose name matches (all of the module for an empty pattern).

    Messages of errors, annotations, decorators and imports are left as they are.

    >>> [mutant.what for mutant in mutants(ast.parse("def f(a): return max(a) - 1 < 0"))]
    ['max(a) - 1 < 0  ->  max(a) - 1 <= 0', 'max(a) - 1  ->  max(a) + 1', 'max  ->  min', '1  ->  2', '0  ->  1']
    """
    found = []

    def walk(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.FunctionDef):
            inside = inside or bool(re.search(functions, node.name))
        for field, value in ast.iter_fields(node):
            several = isinstance(value, list)
            for index, child in enumerate(value if several else [value]):
                if field in SKIPPED_FIELDS or not isinstance(child, ast.AST) or _skipped(child):
                    continue
                for changed in variants(child) if inside else ():
                    line = getattr(child, "lineno", getattr(node, "lineno", 0))
                    what = f"{_short(child)}  ->  {_short(changed)}"
                    found.append(Mutant(line, what, node, field, index if several else None, changed))
                walk(child, inside)

    walk(tree, not functions)
    return found


def _skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.FunctionDef):
        return node.name in SKIPPED_FUNCTIONS
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."


# ---- running -------------------------------------------------------------------------------------------------------


class Swapped(SourceFileLoader):
    """Finds and loads one module from a tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        """The code of the tree."""
        return compile(ast.fix_missing_locations(self.tree), self.path, "exec")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Only the one module is found here."""
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None


class Fewer:
    """A pytest plugin: few and fixed examples a property, and the name of the first test that fails."""

    failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """No shrinking: a failure is enough."""
        from hypothesis import Phase, settings

        for item in items:
            test = getattr(item, "obj", None)
            used = getattr(test, "_hypothesis_internal_use_settings", None)
            if test is not None and used is not None:
                test._hypothesis_internal_use_settings = settings(
                    used,
                    max_examples=min(EXAMPLES, used.max_examples),
                    derandomize=True,
                    deadline=None,
                    database=None,
                    phases=[Phase.explicit, Phase.generate],
                )

    def pytest_runtest_logreport(self, report: Any) -> None:
        """The first failure."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Run(NamedTuple):
    """How a test run ended: whether a test failed, which one, and the time it took in seconds."""

    seen: bool
    by: str
    seconds: float


def run(target: Target, tree: ast.Module) -> Run:
    """The target's tests with the tree in place of its module, in a process of their own."""
    began, (out, into) = time.monotonic(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(into, json.dumps(_tested(target, tree)).encode())
        except BaseException as error:  # whatever the changed module raises at its import
            os.write(into, json.dumps(repr(error)[:200]).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    failed = json.loads(text) if text else "time limit"
    return Run(bool(failed), failed, time.monotonic() - began)


def _tested(target: Target, tree: ast.Module) -> str:
    """What failed, or an empty text."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    import pytest

    name = target.path.removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, Swapped(name, str(Path(target.path).resolve()), tree))
    importlib.import_module(name)  # before pytest, which would rewrite a file that is named to it
    for part in (target.path, *target.tests):
        plugin = Fewer()
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", part], plugins=[plugin])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return plugin.failed or f"{part}: {code!r}"
    return ""


def examine(target: Target, sample: int, numbers: Sequence[int], log: Path | None) -> None:
    """Try a sample of one target's mutants (or those with these numbers) and print every survivor when it is found."""
    source = Path(target.path).read_text()
    count = len(mutants(ast.parse(source), target.functions))
    chosen = numbers or sorted(random.Random(target.path).sample(range(count), min(sample, count)))
    clean = run(target, ast.parse(source))
    print(f"{target.path}: {len(chosen)} of {count} mutants; unchanged: {clean.seconds:.0f} s", flush=True)
    if clean.seen:
        print(f"  the tests fail without any change: {clean.by}", flush=True)
        return
    left = 0
    for number in chosen:
        tree = ast.parse(source)
        mutant = mutants(tree, target.functions)[number]
        mutant.plant()
        result = run(target, tree)
        left += not result.seen
        if not result.seen:
            print(f"  SURVIVED #{number} line {mutant.line}: {mutant.what}", flush=True)
        if log is not None:
            row = {"path": target.path, "of": count, "number": number, "line": mutant.line, "what": mutant.what}
            with log.open("a") as file:
                file.write(json.dumps(row | result._asdict()) + "\n")
    print(f"  {len(chosen)} tried, {len(chosen) - left} seen by a test, {left} survived", flush=True)


def main() -> None:
    """Examine the targets whose path holds one of the given words, each in a process that has imported what it can."""
    parser = argparse.ArgumentParser(description="Mutation testing of the soundness-critical modules.")
    parser.add_argument("words", nargs="*", metavar="module", help="part of a module's path; all by default")
    parser.add_argument("--sample", type=int, default=40, help="at most this many mutants a module, fixed seed")
    parser.add_argument("--number", type=int, action="append", default=[], help="these mutants, by their numbers")
    parser.add_argument("--log", type=Path, help="append one JSON line a mutant")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    for name in PREPARED:
        importlib.import_module(name)
    for target in TARGETS:
        if given.words and not any(word in target.path for word in given.words):
            continue
        child = os.fork()
        if not child:
            try:
                if target.path.startswith("smoothing"):
                    importlib.import_module("ecm.design.design")
                examine(target, given.sample, given.number, given.log)
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
