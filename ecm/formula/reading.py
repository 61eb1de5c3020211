"""Text or a sympy expression to a formula. The text is read by an `ast` walk with a whitelist, never evaluated."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
import sympy as sp
from sympy import Expr

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula.building import add, apply, compare, every, extremum, multiply, piecewise, power
from ecm.formula.constants import sign
from ecm.formula.expression import Z, bits, free, rational
from ecm.formula.hints import ALLOWED, FUNCTION_NAMES, NAMES, foreign_character, how_to_write, suggestion
from ecm.formula.printing import text_of
from ecm.formula.requirement import Requirement, of_branches, of_expression, of_power

MAX_LENGTH = 10_000
MAX_NESTING = 60
MAX_DEPTH = 100
MAX_NODES = 3_000
MAX_DIGITS = 1_000
MAX_NUMBER = 3_321
"""Numbers up to this many bits have at most MAX_DIGITS digits."""

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMPARE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONSTANTS = {"z": Z, "pi": sp.pi, "E": sp.E}


@attrs.frozen
class Formula:
    """A formula that was read: one sympy expression in z, and what the text needs beyond what the expression shows.

    `needs` holds the requirements that sympy's cancelling removed: z/z reads as 1, and needs that z is not 0.

    >>> read("0.5*sqrt(z)").expr
    sqrt(z)/2
    >>> read("z/z").needs[0]
    Requirement(need='nonzero', expr=z)
    """

    expr: Expr
    needs: tuple[Requirement, ...] = ()
    written: str = ""
    """The formula as it was given, for messages."""

    @property
    def text(self) -> str:
        """The canonical text."""
        return text_of(self.expr)


def read(source: object) -> Formula:
    """Return the formula given as text, as a number, or as a sympy expression in one symbol.

    >>> read("z**0.5/18").text
    'z**(1/2)/18'
    >>> read("z.real")
    Traceback (most recent call last):
    ...
    ecm.errors.ExpressionError: attribute access is not part of a formula; allowed are ...
    """
    if isinstance(source, bool):
        raise ExpressionError(f"a formula is a text, a number or a sympy expression, not {source!r}")
    if isinstance(source, int | Fraction):
        return Formula(readable(rational(Fraction(source))), (), str(source))
    if isinstance(source, str | float):
        text = source if isinstance(source, str) else repr(source)
        return _canonical(_Reader(text).read(), text)
    if isinstance(source, sp.Basic):
        return _canonical(_from_sympy(source), str(source))
    raise ExpressionError(f"a formula is a text or a sympy expression, not {type(source).__name__}")


def readable(e: Expr) -> Expr:
    """Return the same expression, if its text can be read again: no constant is longer than a number may be written."""
    if bits(e) > MAX_NUMBER:
        raise ExpressionError(f"a constant in the formula has more than {MAX_DIGITS} digits; write a simpler one")
    return e


@lru_cache(4096)
def _canonical(formula: Formula, written: str) -> Formula:
    """Return the formula that its own text gives: sympy may leave 3**(1/4)*3**(3/4) as it is until it is asked
    again."""
    expr, needs = readable(formula.expr), list(formula.needs)
    for _ in range(3):
        again = _Reader(text_of(expr)).read()
        needs += again.needs
        if again.expr == expr:
            break
        expr = readable(again.expr)
    return Formula(expr, tuple(dict.fromkeys(needs)), written)


class _Walk:
    """What reading a text and reading a sympy expression share: nodes are built, and what each needs is noted."""

    def __init__(self) -> None:
        self.noted = list[Requirement]()

    def finished(self, expr: Expr) -> Formula:
        """Return the formula, with those requirements that the expression does not show."""
        if not self.noted:
            return Formula(expr)
        shown = set(of_expression(expr))
        return Formula(expr, tuple(r for r in dict.fromkeys(self.noted) if r not in shown))

    def note(self, *requirements: Requirement) -> None:
        """Keeps what has to be proven; what a number needs is decided at once, where that can be done."""
        self.noted += [r for r in requirements if not r.trivial and not (free(r.expr) and _decided(r))]

    def power(self, base: Expr, exponent: Expr) -> Expr:
        if free(exponent):
            self.note(*of_power(base, exponent))
        return power(base, exponent)

    def inverse(self, e: Expr) -> Expr:
        return self.power(e, sp.Integer(-1))

    def apply(self, name: str, x: Expr) -> Expr:
        if name == "log":
            self.note(Requirement("positive", x))
        elif name == "log1p":
            self.note(Requirement("positive", x + 1))
        elif name in ("sqrt", "cbrt"):
            self.note(Requirement("nonnegative", x))
        return apply(name, x)

    def piecewise(self, branches: Iterable[tuple[Any, Any]]) -> Expr:
        """From (expression, condition) pairs that are yet to be built; each needs its own values only."""
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

    def expression(self, source: Any) -> Expr:
        raise NotImplementedError

    def condition(self, source: Any) -> sp.Basic:
        raise NotImplementedError


def _decided(r: Requirement) -> bool:
    """Return whether a requirement of a constant is settled; where it fails, building the node says so."""
    try:
        sign(r.expr)
    except Undecided:
        return False
    return True


class _Reader(_Walk):
    """One reading of one text; keeps the text for positions in errors."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.text = ""
        self.shift = 0
        self.depth = 0

    def fail(self, message: str, node: ast.AST | int | None = None) -> ExpressionError:
        position = node if isinstance(node, int) else getattr(node, "col_offset", None)
        if position is not None:
            position += self.shift
        return ExpressionError(message, self.source, position)

    def read(self) -> Formula:
        if len(self.source) > MAX_LENGTH:
            raise ExpressionError(f"the formula has {len(self.source)} characters; at most {MAX_LENGTH} are read")
        spaced = re.sub(r"[\t\r\n]", " ", self.source)
        self.text = spaced.strip(" ")
        self.shift = len(spaced) - len(spaced.lstrip(" "))
        if not self.text:
            raise ExpressionError('the formula is empty; write one such as "z**0.5/18"')
        self._scan()
        return self.finished(self.expression(self._tree()))

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
                terms.append(
                    -term if isinstance(op, ast.Sub) else self.inverse(term) if isinstance(op, ast.Div) else term
                )
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


class _SympyReader(_Walk):
    """A sympy expression in one symbol, built again from the whitelist; its symbol, whatever its name, is z."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def expression(self, source: Any) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"operations are nested deeper than {MAX_DEPTH}")
        try:
            return self._built(source)
        finally:
            self.depth -= 1

    def _built(self, e: Any) -> Expr:
        if isinstance(e, sp.Symbol):
            return Z
        if isinstance(e, sp.Rational) or e is sp.pi or e is sp.E:
            return e
        if isinstance(e, sp.Float):
            text = str(e)
            if not all(c in "0123456789.+-eE" for c in text) or len(text) > MAX_DIGITS:
                raise ExpressionError(f"{text[:40]} is not a real number")
            return rational(Fraction(text))
        if isinstance(e, sp.Piecewise):
            return self.piecewise(e.args)
        name = e.func.__name__
        known = name in (*FUNCTION_NAMES, "cos") and len(e.args) == 1  # sin(x + pi/2) is cos(x) in sympy
        if not (known or isinstance(e, sp.Add | sp.Mul | sp.Pow | sp.Min | sp.Max)):
            raise ExpressionError(f"{name} is not part of a formula; allowed are {ALLOWED}")
        parts = [self.expression(part) for part in e.args]
        if isinstance(e, sp.Add):
            return add(parts)
        if isinstance(e, sp.Mul):
            return multiply(parts)
        if isinstance(e, sp.Pow):
            return self.power(*parts)
        if isinstance(e, sp.Min | sp.Max):
            return extremum(name, parts)
        return self.apply(name, parts[0])

    def condition(self, source: Any) -> sp.Basic:
        if source in (sp.true, sp.false):
            return source
        if isinstance(source, sp.And):
            return every([self.condition(part) for part in source.args])
        if isinstance(source, sp.Lt | sp.Le | sp.Gt | sp.Ge):
            strict = isinstance(source, sp.Lt | sp.Gt)
            return compare(self.expression(source.lts), self.expression(source.gts), strict)
        raise ExpressionError(f"the condition {source} is not a comparison with < <= > >=")


def _from_sympy(source: sp.Basic) -> Formula:
    if not isinstance(source, sp.Expr):
        raise ExpressionError(f"a formula is a text or a sympy expression, not {type(source).__name__}")
    symbols = sorted(source.free_symbols, key=str)
    if len(symbols) > 1:
        raise ExpressionError(f"the expression has the symbols {', '.join(map(str, symbols))}; a metric has only one")
    walk = _SympyReader()
    try:
        return walk.finished(walk.expression(source))
    except (Undefined, Undecided) as error:
        raise ExpressionError(str(error)) from None
