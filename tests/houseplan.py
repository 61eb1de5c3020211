"""The imports of the project as a graph: what every module needs when it runs, lazy imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FLOORS = ("ecm", "smoothing", "zoo")


class Import(NamedTuple):
    """One imported name: `module` as written, `name` (empty for `import module`), and whether only types need it."""

    module: str
    name: str
    for_types: bool


def module_name(path: Path) -> str:
    """ecm/design/__init__.py is `ecm.design`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def sources(root: Path = ROOT) -> dict[str, str]:
    """The text of every module of the three floors."""
    files = [file for floor in FLOORS for file in sorted((root / floor).rglob("*.py"))]
    return {module_name(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files}


@cache
def imports(source: str) -> tuple[Import, ...]:
    """Every import of a module: at the top, inside functions, and those under TYPE_CHECKING (marked as such)."""
    return tuple(_imports(ast.parse(source), False))


def _imports(node: ast.AST, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for part in child.body:
                yield from _statement(part, True)
                yield from _imports(part, True)
            for part in child.orelse:
                yield from _statement(part, for_types)
                yield from _imports(part, for_types)
            continue
        yield from _statement(child, for_types)
        yield from _imports(child, for_types)


def _statement(node: ast.AST, for_types: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, "", for_types) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (Import(node.module, alias.name, for_types) for alias in node.names)


class Plan(NamedTuple):
    """The modules of the house, by name, with their text."""

    modules: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Plan({len(self.modules)} modules)"

    def room(self, module: str) -> str:
        """The room of a module; a module that stands in the hall of its floor is a place of its own."""
        return ".".join(module.split(".")[:2])

    @property
    def rooms(self) -> list[str]:
        """The packages directly on a floor."""
        return sorted({self.room(name) for name in self.modules if name.count(".") >= 2})

    def is_door(self, module: str) -> bool:
        """A room itself, or a floor itself: what others may import from."""
        return module in self.rooms or module in FLOORS

    def source_of(self, door: str, name: str) -> str:
        """The module in which a name that a door exports is defined, as far as doors say it."""
        if f"{door}.{name}" in self.modules:
            return f"{door}.{name}"
        if self.is_door(door):
            for one in imports(self.modules[door]):
                if one.name == name and one.module.split(".")[0] == door.split(".", maxsplit=1)[0]:
                    return self.source_of(one.module, name)
        return door

    def edges(self) -> dict[str, set[str]]:
        """Which modules a module needs when it runs; a name that comes through a door counts as its module."""
        found: dict[str, set[str]] = {}
        for module, source in self.modules.items():
            needed = {
                self.source_of(one.module, one.name) if one.name else one.module
                for one in imports(source)
                if one.module in self.modules and not one.for_types
            }
            if self.is_door(module):  # what a door offers it loads, at once or when it is asked
                needed |= {
                    self.source_of(one.module, one.name)
                    for one in imports(source)
                    if one.module in self.modules and one.module.split(".")[0] == module.split(".")[0]
                }
            found[module] = needed - {module}
        return found

    def room_edges(self) -> dict[str, set[str]]:
        """Which rooms (and modules of the hall) a room needs; a floor's own `__init__` is its front door."""
        found: dict[str, set[str]] = {}
        for module, needed in self.edges().items():
            here = found.setdefault(self.room(module), set())
            here |= {self.room(other) for other in needed if self.room(other) != self.room(module)}
        return found


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of one cycle, in order, the first again at the end; empty if there is none."""
    done: set[str] = set()
    path: list[str] = []

    def visit(node: str) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        path.append(node)
        for other in sorted(graph.get(node, ())):
            if found := visit(other):
                return found
        path.pop()
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := visit(node))), [])
