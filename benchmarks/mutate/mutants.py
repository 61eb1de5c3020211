"""Mutants: one small change of one expression or statement in the syntax tree of a module."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

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
COMMUTATIVE = {"min", "max", "minimum", "maximum", "gcd", "lcm", "Min", "Max", "Add", "Mul"}
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
        case ast.Call(func=func, args=[first, second, *rest]) if not (
            isinstance(first, ast.Starred) or getattr(func, "id", getattr(func, "attr", "")) in COMMUTATIVE
        ):
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

    function: str
    """The qualified name of the outermost function or method that holds the change; empty outside of functions."""
    line: int
    """The first line of the statement that is changed."""
    what: str
    repeat: int
    """How many mutants of the same function read the same and stand before this one."""
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

    @property
    def key(self) -> str:
        """A name that does not change when other functions of the file do."""
        return f"{self.function}: {self.what}" + (f" ({self.repeat + 1})" if self.repeat else "")


def mutants(tree: ast.Module) -> list[Mutant]:
    """All mutants of the tree. Messages of errors, annotations, decorators and imports are left as they are.

    >>> [mutant.what for mutant in mutants(ast.parse("def f(a): return max(a) - 1 < 0"))]
    ['max(a) - 1 < 0  ->  max(a) - 1 <= 0', 'max(a) - 1  ->  max(a) + 1', 'max  ->  min', '1  ->  2', '0  ->  1']
    """
    found, seen = list[Mutant](), Counter[tuple[str, str]]()

    def walk(node: ast.AST, scope: tuple[str, ...], function: str, line: int) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope = (*scope, node.name)
        for field, value in ast.iter_fields(node):
            several = isinstance(value, list)
            within = function
            if isinstance(node, ast.FunctionDef) and field == "body":
                within = function or ".".join(scope)
            for index, child in enumerate(value if several else [value]):
                if field in SKIPPED_FIELDS or not isinstance(child, ast.AST) or _skipped(child):
                    continue
                at = child.lineno if isinstance(child, ast.stmt) else line
                for changed in variants(child):
                    what = f"{_short(child)}  ->  {_short(changed)}"
                    repeat = seen[within, what]
                    seen[within, what] += 1
                    found.append(Mutant(within, at, what, repeat, node, field, index if several else None, changed))
                walk(child, scope, within, at)

    walk(tree, (), "", 0)
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
