"""Text or a sympy expression to a formula tree. The text is read by an `ast` walk with a whitelist, never evaluated."""

from __future__ import annotations

import ast
import re
import warnings
from difflib import get_close_matches
from fractions import Fraction

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula.branches import Comparison, Piecewise
from ecm.formula.expression import PI, E, Node, Num, Z
from ecm.formula.folding import add, extremum, function, mul, power

MAX_LENGTH = 10_000
MAX_NESTING = 60
MAX_DEPTH = 100
MAX_NODES = 3_000
MAX_DIGITS = 1_000
MAX_BITS = 3_321
"""Numbers up to here have at most MAX_DIGITS digits."""

FUNCTIONS = ("sqrt", "cbrt", "exp", "expm1", "log", "log1p", "sin", "tanh", "atan", "asinh", "sign", "Abs")
NAMES = ("z", "pi", "E", *FUNCTIONS, "Min", "Max", "Piecewise")
ALLOWED = f"numbers, z, + - * / **, parentheses, {' '.join(NAMES[1:])} and the comparisons < <= > >="

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_OTHER_NAMES = {
    **{"ln": "log(...)", "log2": "log(...)/log(2)", "log10": "log(...)/log(10)", "pow": "a**b for pow(a, b)"},
    **{"cos": "sin(... + pi/2)", "sinh": "(exp(x) - exp(-x))/2", "cosh": "(exp(x) + exp(-x))/2"},
}
_FOREIGN = re.compile(r"[^A-Za-z0-9_ .,+\-*/()<>=&]", re.ASCII)
_ASSIGNS = re.compile(r"[^<>=]=[^=]")
_WRITE = {
    **{"^": "** for a power", "²": "**2", "³": "**3", "½": "(1/2)", "√": "sqrt(...)", "π": "pi", "|": "Abs(...)"},
    **{"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "∧": "and"},
    **{"[": "(...)", "{": "(...)", ":": "Piecewise((formula, condition), ...) for cases"},
}
_COMPARE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def parse(source: object) -> Node:
    """The tree of a formula given as text or as a sympy expression in one symbol.

    >>> parse("0.5*sqrt(z) + z/4").text()
    'z**(1/2)/2 + z/4'
    >>> parse("z**0.5/18") == parse("z**(1/2) / 18")
    True
    >>> parse("z.real")
    Traceback (most recent call last):
    ...
    ecm.errors.ExpressionError: attribute access is not part of a formula; allowed are ...
    """
    return readable(_parsed(source))


def readable(node: Node) -> Node:
    """The same formula, if `parse` can read its text again: no constant is longer than a number may be written."""
    if node.bits > MAX_BITS:
        raise ExpressionError(f"a constant in the formula has more than {MAX_DIGITS} digits; write a simpler one")
    return node


def _parsed(source: object) -> Node:
    if isinstance(source, Node):
        return source
    if isinstance(source, str):
        return _Reader(source).read()
    if isinstance(source, bool):
        raise ExpressionError(f"a formula is a text, a number or a sympy expression, not {source!r}")
    if isinstance(source, int | Fraction):
        return Num(Fraction(source))
    if isinstance(source, float):
        return _Reader(repr(source)).read()
    if type(source).__module__.split(".")[0] == "sympy":
        from ecm.formula.sympy_reader import from_sympy

        return from_sympy(source)
    raise ExpressionError(f"a formula is a text or a sympy expression, not {type(source).__name__}")


class _Reader:
    """One reading of one text; keeps the text for positions in errors."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.text = ""
        self.shift = 0

    def fail(self, message: str, node: ast.AST | int | None = None) -> ExpressionError:
        position = node if isinstance(node, int) else getattr(node, "col_offset", None)
        if position is not None:
            position += self.shift
        return ExpressionError(message, self.source, position)

    def read(self) -> Node:
        if len(self.source) > MAX_LENGTH:
            raise ExpressionError(f"the formula has {len(self.source)} characters; at most {MAX_LENGTH} are read")
        spaced = re.sub(r"[\t\r\n]", " ", self.source)
        self.text = spaced.strip(" ")
        self.shift = len(spaced) - len(spaced.lstrip(" "))
        if not self.text:
            raise ExpressionError('the formula is empty; write one such as "z**0.5/18"')
        self._scan()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text, mode="eval").body
            if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
                raise self.fail(f"the formula has more than {MAX_NODES} parts")
        except SyntaxError as error:
            position = max(0, min((error.offset or 1) - 1, len(self.text) - 1))
            raise self.fail(f"this is not a formula ({error.msg}){_cure(self.text)}", position) from None
        except (RecursionError, MemoryError, ValueError, OverflowError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise ExpressionError("the formula is nested too deeply or holds too long a number") from None
        return self.build(tree, 0)

    def _scan(self) -> None:
        foreign = _FOREIGN.search(self.text)
        if foreign:
            cure = _WRITE.get(foreign.group())
            hint = f"; write {cure} instead" if cure else ""
            raise self.fail(f"the character {foreign.group()!r} is not part of a formula{hint}", foreign.start())
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

    def build(self, node: ast.expr, depth: int) -> Node:
        """The tree below one ast node, every refusal with its position."""
        if depth > MAX_DEPTH:
            raise self.fail(f"operations are nested deeper than {MAX_DEPTH}", node)
        try:
            return self._build(node, depth)
        except ExpressionError as error:
            raise error if error.position is not None else self.fail(error.message, node) from None
        except (Undefined, Undecided) as error:
            raise self.fail(str(error), node) from None

    def _build(self, node: ast.expr, depth: int) -> Node:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.build(operand, depth + 1)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.build(operand, depth + 1)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return power(self.build(left, depth + 1), self.build(right, depth + 1))
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return self._chain(node, depth)
            case ast.Call():
                return self._call(node, depth)
        kinds = {
            ast.Attribute: "attribute access",
            ast.Lambda: "a lambda",
            ast.Compare: "a comparison outside Piecewise",
            ast.BoolOp: "a condition outside Piecewise",
            ast.Tuple: "a comma outside a function (the decimal point is written .)",
            ast.BinOp: "this operator",
            ast.UnaryOp: "this operator",
        }
        raise self.fail(f"{kinds.get(type(node), 'this')} is not part of a formula; allowed are {ALLOWED}", node)

    def _chain(self, node: ast.expr, depth: int) -> Node:
        """a + b - c ... without recursion along the chain."""
        parts = list[tuple[ast.operator, ast.expr]]()
        same: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            same = (ast.Mult, ast.Div)
        while isinstance(node, ast.BinOp) and isinstance(node.op, same):
            parts.append((node.op, node.right))
            node = node.left
        terms = [self.build(node, depth + 1)]
        for op, right in reversed(parts):
            term = self.build(right, depth + 1)
            try:
                terms.append(-term if isinstance(op, ast.Sub) else term**-1 if isinstance(op, ast.Div) else term)
            except Undefined:
                raise self.fail("a division by zero", right) from None
        return add(terms) if same == (ast.Add, ast.Sub) else mul(terms)

    def _number(self, node: ast.Constant) -> Node:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self.fail(f"{node.value!r} is not part of a formula; allowed are {ALLOWED}", node)
        literal = self.text[node.col_offset : node.end_col_offset]
        if not _NUMBER.fullmatch(literal):
            raise self.fail(f"write the number {literal[:40]} in plain decimal digits", node)
        mantissa, _, exponent = literal.lower().partition("e")
        if len(mantissa) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or 0)) > MAX_DIGITS:
            raise self.fail(f"the number {literal[:40]} is too long; at most {MAX_DIGITS} digits are read", node)
        return Num(Fraction(literal))

    def _name(self, name: str, node: ast.expr) -> Node:
        if name == "z":
            return Z
        if name == "pi":
            return PI
        if name == "E":
            return E
        if name in NAMES:
            raise self.fail(f"{name} is a function; write {name}(...)", node)
        if name.lower() in ("nan", "inf", "oo", "infinity"):
            raise self.fail(f"{name} is not a real number", node)
        raise self.fail(f"unknown name {name!r}{_suggest(name)}; the variable is z, and allowed are {ALLOWED}", node)

    def _call(self, node: ast.Call, depth: int) -> Node:
        if not isinstance(node.func, ast.Name):
            what = "attribute access" if isinstance(node.func, ast.Attribute) else "calling this"
            raise self.fail(f"{what} is not part of a formula; allowed are {ALLOWED}", node.func)
        name = node.func.id
        if node.keywords:
            raise self.fail("keyword arguments are not part of a formula", node.keywords[0].value)
        if name == "Piecewise":
            return piecewise([self._branch(argument, depth + 1) for argument in node.args])
        if name in ("Min", "Max"):
            return extremum(name, [self.build(argument, depth + 1) for argument in node.args])
        if name not in FUNCTIONS:
            raise self.fail(f"unknown function {name!r}{_suggest(name)}; allowed are {ALLOWED}", node.func)
        if len(node.args) != 1:
            hint = "; the logarithm to base b is log(...)/log(b)" if name == "log" else ""
            raise self.fail(f"{name} takes one argument, not {len(node.args)}{hint}", node)
        return function(name, self.build(node.args[0], depth + 1))

    def _branch(self, node: ast.expr, depth: int) -> tuple[Node, tuple[Comparison, ...] | None]:
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
            raise self.fail("a branch of Piecewise is a pair (formula, condition)", node)
        return self.build(node.elts[0], depth + 1), self._condition(node.elts[1], depth + 1)

    def _condition(self, node: ast.expr, depth: int) -> tuple[Comparison, ...] | None:
        """The comparisons that must all hold; None if one never does."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return () if node.value else None
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            parts = [self._condition(value, depth + 1) for value in node.values]
            return None if any(part is None for part in parts) else tuple(c for part in parts for c in part or ())
        if not isinstance(node, ast.Compare) or not all(isinstance(op, _COMPARE) for op in node.ops):
            raise self.fail("a condition compares with < <= > >= (joined by `and`), or is True", node)
        sides = [self.build(side, depth + 1) for side in (node.left, *node.comparators)]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return comparisons(
            [
                (a - b if isinstance(op, ast.Lt | ast.LtE) else b - a, isinstance(op, ast.Lt | ast.Gt))
                for a, op, b in pairs
            ]
        )


def _cure(text: str) -> str:
    """What to write where Python's parser gave up, if a common habit explains it."""
    if _ASSIGNS.search(text):
        return "; write only the formula, without g(z) ="
    if re.search(r"[\d)]\s*[A-Za-z(]|[A-Za-z)]\s+[A-Za-z\d(]", text):
        return "; a product is written with *, as in 2*z, and a function with parentheses, as in sqrt(z)"
    return ""


def _suggest(name: str) -> str:
    if name in _OTHER_NAMES:
        return f" (write {_OTHER_NAMES[name]})"
    close = [known for known in NAMES if known.lower() == name.lower()] or get_close_matches(name, NAMES, 1, 0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def comparisons(differences: list[tuple[Node, bool]]) -> tuple[Comparison, ...] | None:
    """Comparisons difference < 0 (strict) or <= 0; those between constants are decided at once."""
    from ecm.formula.values import sign

    kept = []
    for difference, strict in differences:
        comparison = Comparison(difference, strict)
        if not difference.free:
            kept.append(comparison)
        elif not comparison.holds(sign(difference)):
            return None
    return tuple(kept)


def piecewise(branches: list[tuple[Node, tuple[Comparison, ...] | None]]) -> Node:
    """The Piecewise of these branches, without those that can never apply."""
    kept = list[tuple[Node, tuple[Comparison, ...]]]()
    for value, conditions in branches:
        if conditions is None:
            continue
        kept.append((value, conditions))
        if not conditions:
            break
    if not kept:
        raise ExpressionError("no branch of the Piecewise can ever apply")
    return kept[0][0] if not kept[0][1] else Piecewise(tuple(kept))
