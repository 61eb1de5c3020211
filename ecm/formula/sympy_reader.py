"""A sympy expression in one symbol to a formula tree, by a whitelist walk."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ecm.errors import ExpressionError, Undefined
from ecm.formula.branches import Comparison
from ecm.formula.expression import PI, E, Node, Num, Z
from ecm.formula.folding import add, extremum, function, mul, power
from ecm.formula.parser import ALLOWED, MAX_DEPTH, comparisons, piecewise

_FUNCTIONS = {
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "tanh": "tanh",
    "atan": "atan",
    "asinh": "asinh",
    "sign": "sign",
    "Abs": "Abs",
}


def from_sympy(expression: Any) -> Node:
    """The tree of a sympy expression; its one free symbol, whatever its name, is z.

    >>> import sympy
    >>> from_sympy(sympy.sqrt(sympy.Symbol("t")) / 18).text()
    'z**(1/2)/18'
    """
    import sympy

    if not isinstance(expression, sympy.Expr):
        raise ExpressionError(f"a formula is a text or a sympy expression, not {type(expression).__name__}")
    symbols = sorted(expression.free_symbols, key=str)
    if len(symbols) > 1:
        raise ExpressionError(f"the expression has the symbols {', '.join(map(str, symbols))}; a metric has only one")
    try:
        return _walk(expression, 0)
    except Undefined as error:
        raise ExpressionError(str(error)) from None


def _walk(e: Any, depth: int) -> Node:
    import sympy

    if depth > MAX_DEPTH:
        raise ExpressionError(f"operations are nested deeper than {MAX_DEPTH}")
    if isinstance(e, sympy.Symbol):
        return Z
    if isinstance(e, sympy.Rational):
        return Num(Fraction(int(e.p), int(e.q)))
    if isinstance(e, sympy.Float):
        text = str(e)
        if not all(c in "0123456789.+-eE" for c in text) or len(text) > 1000:
            raise ExpressionError(f"{text[:40]} is not a real number")
        return Num(Fraction(text))
    if e is sympy.pi:
        return PI
    if e is sympy.E:
        return E
    if isinstance(e, sympy.Add):
        return add([_walk(a, depth + 1) for a in e.args])
    if isinstance(e, sympy.Mul):
        return mul([_walk(a, depth + 1) for a in e.args])
    if isinstance(e, sympy.Pow):
        return power(_walk(e.base, depth + 1), _walk(e.exp, depth + 1))
    if isinstance(e, sympy.Min | sympy.Max):
        return extremum(type(e).__name__, [_walk(a, depth + 1) for a in e.args])
    if isinstance(e, sympy.Piecewise):
        return piecewise([(_walk(value, depth + 1), _condition(test, depth + 1)) for value, test in e.args])
    name = type(e).__name__
    if name in _FUNCTIONS and len(e.args) == 1:
        return function(_FUNCTIONS[name], _walk(e.args[0], depth + 1))
    raise ExpressionError(f"{name} is not part of a formula; allowed are {ALLOWED}")


def _condition(test: Any, depth: int) -> tuple[Comparison, ...] | None:
    import sympy

    if test is sympy.true:
        return ()
    if test is sympy.false:
        return None
    if isinstance(test, sympy.And):
        parts = [_condition(part, depth + 1) for part in test.args]
        return None if any(part is None for part in parts) else tuple(c for part in parts for c in part or ())
    if isinstance(test, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
        lts, gts = _walk(test.lts, depth + 1), _walk(test.gts, depth + 1)
        return comparisons([(lts - gts, isinstance(test, sympy.Lt | sympy.Gt))])
    raise ExpressionError(f"the condition {test} is not a comparison with < <= > >=")
