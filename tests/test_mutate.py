"""The mutator changes what is loaded, in place and wherever it is known, and touches no file."""

from __future__ import annotations

import ast
import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.mutate.mutants import mutants
from benchmarks.mutate.results import Results, table
from benchmarks.mutate.swap import HITS, counted, functions, rebind, swap
from benchmarks.mutate.targets import ROOMS, TESTS, floor

SOURCE = '''"""A module."""

LIMIT = 3


def clipped(value, least=0):
    """At most the limit."""
    if value < least:
        raise ValueError("below")
    return min(value, LIMIT)


class Box:
    """Holds a number."""

    def twice(self, number):
        """Two of them."""
        return [number * k for k in (2,)][0]
'''


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, loaded from a folder of its own, from which paths are counted."""
    (tmp_path / "mutated_example.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mutated_example", raising=False)
    return importlib.import_module("mutated_example")


def planted(what: str) -> ast.Module:
    """The tree with the mutant that reads so."""
    tree = ast.parse(SOURCE)
    (one,) = (mutant for mutant in mutants(tree) if mutant.key == what)
    one.plant()
    return tree


def test_every_name_of_a_function_is_changed(loaded: ModuleType) -> None:
    """Also one that was imported before, a method, and a constant; the file stays as it is."""
    path, clipped, box = "mutated_example.py", loaded.clipped, loaded.Box()
    alive = functions([path])[path]
    swap(planted("clipped: min  ->  max"), path, alive)
    assert clipped(1) == 3
    swap(planted("Box.twice: number * k  ->  number + k"), path, alive)
    assert box.twice(5) == 7
    swap(ast.parse(SOURCE), path, alive)
    assert (clipped(1), box.twice(5)) == (1, 10)
    rebind(planted(": 3  ->  4"), path)
    assert clipped(9) == 4
    rebind(planted(": 0  ->  1"), path)
    with pytest.raises(ValueError, match="below"):
        clipped(0)
    assert Path(path).read_text() == SOURCE


def test_the_lines_that_a_call_reaches_are_noted(loaded: ModuleType) -> None:
    """By the first line of each statement."""
    path, hits = "mutated_example.py", set[int]()
    setattr(loaded, HITS, hits)
    swap(counted(ast.parse(SOURCE)), path, functions([path])[path])
    assert loaded.clipped(1) == 1
    assert hits == {8, 10}
    assert loaded.Box().twice(1) == 2
    assert hits == {8, 10, 18}


def test_mutants_have_names_of_their_own() -> None:
    """By which results are found again when other functions have changed."""
    for paths in ROOMS.values():
        for path in paths:
            keys = [mutant.key for mutant in mutants(ast.parse(Path(path).read_text()))]
            assert len(keys) == len(set(keys)), path
            assert all(Path(test).exists() for test in TESTS[floor(path)])


def test_results_are_read_back_and_counted(tmp_path: Path) -> None:
    """The last line of a mutant counts; explained ones are counted apart."""
    why = tmp_path / "explained.json"
    why.write_text('[{"why": "commutative", "mutants": {"a.py": ["f: b"]}}]')
    results = Results(tmp_path / "results.jsonl", why)
    for key, seen in (("f: a", False), ("f: b", False), ("f: c", False), ("f: a", True)):
        results.add({"path": "a.py", "key": key, "seen": seen})
    again = Results(tmp_path / "results.jsonl", why)
    count = again.count("a.py", ["f: a", "f: b", "f: c", "f: d"])
    assert count == Counter(mutants=4, tried=3, seen=1, explained=1, left=1)
    assert table({"a.py": count}).splitlines()[-1] == "| all | 4 | 3 | 1 | 1 | 1 |"
