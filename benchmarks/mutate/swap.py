"""Change functions of a loaded module in place, from a changed syntax tree.

A function keeps its identity and gets other code, so every name that it goes by, in whatever module, is changed too.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

FLOORS = ("ecm", "smoothing", "zoo")
HITS = "__hits__"

CACHE = type(functools.lru_cache(maxsize=1)(int))


def functions(paths: list[str]) -> dict[str, dict[tuple[str, int], list[FunctionType]]]:
    """For each file the functions that are alive, by qualified name and first line."""
    full = {str(Path(path).resolve()): path for path in paths}
    found: dict[str, dict[tuple[str, int], list[FunctionType]]] = {path: defaultdict(list) for path in paths}
    for one in gc.get_objects():
        if type(one) is FunctionType and (path := full.get(one.__code__.co_filename)) is not None:
            found[path][one.__code__.co_qualname, one.__code__.co_firstlineno].append(one)
    return found


def swap(tree: ast.Module, path: str, alive: dict[tuple[str, int], list[FunctionType]]) -> None:
    """Give the functions that are alive the code of the tree."""
    whole = compile(ast.fix_missing_locations(tree), str(Path(path).resolve()), "exec")
    for code in _codes(whole):
        for function in alive.get((code.co_qualname, code.co_firstlineno), ()):
            if len(alive[code.co_qualname, code.co_firstlineno]) > 1 and code.co_name == "<lambda>":
                continue  # two on one line: only the function around them tells which is which
            if code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code


def around(tree: ast.Module, line: int) -> ast.Module:
    """The part of a module that is compiled to change one line: its function or class, and `from __future__`.

    >>> ast.unparse(around(ast.parse("def f():\\n    return 1\\ndef g():\\n    return 2"), 4)).splitlines()
    ['def g():', '    return 2']
    """
    parts = [
        part
        for part in tree.body
        if (isinstance(part, ast.ImportFrom) and part.module == "__future__")
        or part.lineno <= line <= (part.end_lineno or part.lineno)
    ]
    return ast.Module(parts, [])


def rebind(tree: ast.Module, path: str) -> None:
    """Give the constants of the module, and the defaults of its functions, the values that the tree gives them."""
    real = module(path)
    other = ModuleType(real.__name__)
    other.__file__, other.__package__ = real.__file__, real.__package__
    exec(compile(ast.fix_missing_locations(tree), str(Path(path).resolve()), "exec"), other.__dict__)
    for name, now in vars(other).items():
        old = vars(real).get(name)
        if isinstance(now, FunctionType) and isinstance(old, FunctionType):
            old.__defaults__, old.__kwdefaults__ = now.__defaults__, now.__kwdefaults__
        elif isinstance(now, type) and isinstance(old, type):
            for key, method in vars(now).items():
                before = vars(old).get(key)
                if isinstance(method, FunctionType) and isinstance(before, FunctionType):
                    before.__defaults__, before.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
        elif not name.startswith("__") and type(now) is type(old) and not isinstance(now, ModuleType):
            for place in list(sys.modules.values()):
                if getattr(place, "__dict__", {}).get(name) is old:
                    setattr(place, name, now)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def counted(tree: ast.Module) -> ast.Module:
    """Change the tree: a note of its line before every statement of a function; the tree again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _count(node.body)
    return tree


def _count(body: list[ast.stmt]) -> None:
    for at in range(len(body) - 1, -1, -1):
        statement = body[at]
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                _count(getattr(statement, field, []))
            for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                _count(part.body)
        if at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        note = ast.parse(f"{HITS}.add({statement.lineno})").body[0]
        for part in ast.walk(note):
            ast.copy_location(part, statement)
        body.insert(at, note)


def forget() -> None:
    """Empty every cache of the project's own functions, so that no answer of the unchanged code is left."""
    for one in gc.get_objects():
        if type(one) is CACHE and str(getattr(one, "__module__", "")).split(".")[0] in FLOORS:
            one.cache_clear()


def module(path: str) -> ModuleType:
    """The module of a file."""
    return importlib.import_module(path.removesuffix(".py").replace("/", "."))
