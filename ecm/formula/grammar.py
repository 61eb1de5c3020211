"""The whitelist of a formula's text: an `ast` walk that builds one node at a time and never evaluates anything.

Every refusal says where it stands in the text, and what to write instead where that can be guessed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from fractions import Fraction

import sympy as sp
from sympy import Expr

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula.building import add, apply, compare, every, extremum, multiply, piecewise, power
from ecm.formula.constants import sign
from ecm.formula.expression import Z, free, rational
from ecm.formula.hints import ALLOWED, FUNCTION_NAMES, NAMES, foreign_character, how_to_write, suggestion
from ecm.formula.requirement import Requirement, of_branches, of_expression, of_power

MAX_LENGTH = 10_000
MAX_NESTING = 60
MAX_DEPTH = 100
MAX_NODES = 3_000
MAX_DIGITS = 1_000

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMPARE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONSTANTS = {"z": Z, "pi": sp.pi, "E": sp.E}


class Reader:
    """One reading of one text; keeps the text for positions in errors, and what each node that it builds needs."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.noted = list[Requirement]()
        self.text = ""
        self.shift = 0
        self.depth = 0

    def fail(self, message: str, node: ast.AST | int | None = None) -> ExpressionError:
        position = node if isinstance(node, int) else getattr(node, "col_offset", None)
        if position is not None:
            position += self.shift
        return ExpressionError(message, self.source, position)

    def read(self) -> tuple[Expr, tuple[Requirement, ...]]:
        """Return the expression, and those requirements of the text that the expression does not show."""
        if len(self.source) > MAX_LENGTH:
            raise ExpressionError(f"the formula has {len(self.source)} characters; at most {MAX_LENGTH} are read")
        spaced = re.sub(r"[\t\r\n]", " ", self.source)
        self.text = spaced.strip(" ")
        self.shift = len(spaced) - len(spaced.lstrip(" "))
        if not self.text:
            raise ExpressionError('the formula is empty; write one such as "z**0.5/18"')
        self._scan()
        expr = self.expression(self._tree())
        shown = set(of_expression(expr)) if self.noted else set()
        return expr, tuple(r for r in dict.fromkeys(self.noted) if r not in shown)

    def _tree(self) -> ast.expr:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text, mode="eval").body
            if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
                raise self.fail(f"the formula has more than {MAX_NODES} parts")
        except SyntaxError as error:
            position = max(0, min((error.offset or 1) - 1, len(self.text) - 1))
            raise self.fail(f"this is not a formula ({error.msg}){how_to_write(self.text)}", position) from None
        except (RecursionError, MemoryError, ValueError, OverflowError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise ExpressionError("the formula is nested too deeply or holds too long a number") from None
        return tree

    def _scan(self) -> None:
        foreign = foreign_character(self.text)
        if foreign:
            position, hint = foreign
            raise self.fail(f"the character {self.text[position]!r} is not part of a formula{hint}", position)
        long = re.search(rf"\d{{{MAX_DIGITS + 1}}}", self.text)
        if long:
            raise self.fail(f"a number is too long; at most {MAX_DIGITS} digits are read", long.start())
        depth = 0
        for i, character in enumerate(self.text):
            depth += (character == "(") - (character == ")")
            if depth > MAX_NESTING:
                raise self.fail(f"parentheses are nested deeper than {MAX_NESTING}", i)
            if depth < 0:
                raise self.fail("a closing parenthesis without an opening one", i)

    def expression(self, source: ast.expr) -> Expr:
        """Return the expression of one ast node, every refusal with its position."""
        if self.depth > MAX_DEPTH:
            raise self.fail(f"operations are nested deeper than {MAX_DEPTH}", source)
        self.depth += 1
        try:
            return self._built(source)
        except ExpressionError as error:
            raise error if error.position is not None else self.fail(error.message, source) from None
        except (Undefined, Undecided) as error:
            raise self.fail(str(error), source) from None
        finally:
            self.depth -= 1

    def _built(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.expression(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return self.power(self.expression(left), self.expression(right))
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return self._chain(node)
            case ast.Call():
                return self._call(node)
            case ast.Tuple(elts=[first, *_]):
                comma = self.text.find(",", first.end_col_offset or 0)
                raise self.fail(
                    "a comma outside a function is not part of a formula; a decimal point is written .", comma
                )
        kinds = {
            ast.Attribute: "attribute access",
            ast.Lambda: "a lambda",
            ast.Compare: "a comparison outside Piecewise",
            ast.BoolOp: "a condition outside Piecewise",
            ast.BinOp: "this operator",
            ast.UnaryOp: "this operator",
        }
        raise self.fail(f"{kinds.get(type(node), 'this')} is not part of a formula; allowed are {ALLOWED}", node)

    def _chain(self, node: ast.expr) -> Expr:
        """a + b - c ... without recursion along the chain."""
        parts = list[tuple[ast.operator, ast.expr]]()
        same: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            same = (ast.Mult, ast.Div)
        while isinstance(node, ast.BinOp) and isinstance(node.op, same):
            parts.append((node.op, node.right))
            node = node.left
        terms = [self.expression(node)]
        for op, right in reversed(parts):
            term = self.expression(right)
            try:
                if isinstance(op, ast.Div):
                    term = self.power(term, sp.Integer(-1))
                terms.append(-term if isinstance(op, ast.Sub) else term)
            except Undefined:
                raise self.fail("a division by zero", right) from None
        return add(terms) if same == (ast.Add, ast.Sub) else multiply(terms)

    def _number(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self.fail(f"{node.value!r} is not part of a formula; allowed are {ALLOWED}", node)
        literal = self.text[node.col_offset : node.end_col_offset]
        if not _NUMBER.fullmatch(literal):
            raise self.fail(f"write the number {literal[:40]} in plain decimal digits", node)
        mantissa, _, exponent = literal.lower().partition("e")
        if len(mantissa) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or 0)) > MAX_DIGITS:
            raise self.fail(f"the number {literal[:40]} is too long; at most {MAX_DIGITS} digits are read", node)
        return rational(Fraction(literal))

    def _name(self, name: str, node: ast.expr) -> Expr:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in NAMES:
            raise self.fail(f"{name} is a function; write {name}(...)", node)
        if name.lower() in ("nan", "inf", "oo", "infinity"):
            raise self.fail(f"{name} is not a real number", node)
        raise self.fail(f"unknown name {name!r}{suggestion(name)}; the variable is z, and allowed are {ALLOWED}", node)

    def _call(self, node: ast.Call) -> Expr:
        if not isinstance(node.func, ast.Name):
            what = "attribute access" if isinstance(node.func, ast.Attribute) else "calling this"
            raise self.fail(f"{what} is not part of a formula; allowed are {ALLOWED}", node.func)
        name = node.func.id
        if node.keywords:
            raise self.fail("keyword arguments are not part of a formula", node.keywords[0].value)
        if name == "Piecewise":
            return self.piecewise([self._branch(argument) for argument in node.args])
        if name in ("Min", "Max"):
            return extremum(name, [self.expression(argument) for argument in node.args])
        if name not in FUNCTION_NAMES:
            raise self.fail(f"unknown function {name!r}{suggestion(name)}; allowed are {ALLOWED}", node.func)
        if len(node.args) != 1:
            hint = "; the logarithm to base b is log(...)/log(b)" if name == "log" else ""
            raise self.fail(f"{name} takes one argument, not {len(node.args)}{hint}", node)
        return self.apply(name, self.expression(node.args[0]))

    def _branch(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
            raise self.fail("a branch of Piecewise is a pair (formula, condition)", node)
        return node.elts[0], node.elts[1]

    def condition(self, source: ast.expr) -> sp.Basic:
        """Return the comparisons that must all hold."""
        if isinstance(source, ast.Constant) and isinstance(source.value, bool):
            return sp.true if source.value else sp.false
        if isinstance(source, ast.BoolOp) and isinstance(source.op, ast.And):
            return every([self.condition(value) for value in source.values])
        if not isinstance(source, ast.Compare) or not all(isinstance(op, _COMPARE) for op in source.ops):
            raise self.fail("a condition compares with < <= > >= (joined by `and`), or is True", source)
        sides = [self.expression(side) for side in (source.left, *source.comparators)]
        tests = []
        for a, op, b in zip(sides, source.ops, sides[1:], strict=False):
            low, high = (a, b) if isinstance(op, ast.Lt | ast.LtE) else (b, a)
            tests.append(compare(low, high, isinstance(op, ast.Lt | ast.Gt)))
        return every(tests)

    def note(self, *requirements: Requirement) -> None:
        """Keeps what has to be proven; what a number needs is decided at once, where that can be done."""
        self.noted += [r for r in requirements if not r.trivial and not (free(r.expr) and _decided(r))]

    def power(self, base: Expr, exponent: Expr) -> Expr:
        if free(exponent):
            self.note(*of_power(base, exponent))
        return power(base, exponent)

    def apply(self, name: str, x: Expr) -> Expr:
        if name == "log":
            self.note(Requirement("positive", x))
        elif name == "log1p":
            self.note(Requirement("positive", x + 1))
        elif name in ("sqrt", "cbrt"):
            self.note(Requirement("nonnegative", x))
        return apply(name, x)

    def piecewise(self, branches: Iterable[tuple[ast.expr, ast.expr]]) -> Expr:
        """Return the Piecewise of (expression, condition) pairs; what each of them needs is noted apart."""
        built = []
        for value, test in branches:
            outside = self.noted
            self.noted = []
            expr = self.expression(value)
            self.noted, of_value = [], self.noted
            condition = self.condition(test)
            self.noted, of_condition = outside, self.noted
            built.append((expr, condition, of_value, of_condition))
        out = piecewise((expr, condition) for expr, condition, _, _ in built)
        self.noted += of_branches(built)
        return out


def _decided(r: Requirement) -> bool:
    """Return whether a requirement of a constant is settled; where it fails, building the node says so."""
    try:
        sign(r.expr)
    except Undecided:
        return False
    return True
