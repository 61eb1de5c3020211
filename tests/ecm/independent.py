"""Formulas evaluated by mpmath and Python's own evaluator, which share no code with the library. Trusted text only."""

from __future__ import annotations

import re
from fractions import Fraction

import mpmath

_NUMBER = re.compile(r"(?<![A-Za-z_])\d+\.?\d*(e[+-]?\d+)?")
_FUNCTIONS = ("sqrt", "exp", "expm1", "sin", "tanh", "atan", "asinh", "pi", "mpf")


def _piecewise(*branches: tuple[object, object]) -> mpmath.mpf:
    return next(value() for value, test in branches if test())  # type: ignore[operator]


def _root(x: mpmath.mpf) -> mpmath.mpf:
    return x ** (mpmath.mpf(1) / 3)


def _log(x: mpmath.mpf) -> mpmath.mpf:
    if not x > 0:  # mpmath has log(0) = -inf
        raise ZeroDivisionError(f"log({x})")
    return mpmath.log(x)


def value(text: str, x: Fraction) -> mpmath.mpf:
    """The formula at x, in the working precision of mpmath."""
    exact = _lazy(_NUMBER.sub(lambda m: f"mpf('{m.group()}')", text))
    names = {name: getattr(mpmath, name) for name in _FUNCTIONS}
    names |= {
        "cbrt": _root,
        "log": _log,
        "log1p": lambda x: _log(1 + x),
        "sign": mpmath.sign,
        "E": mpmath.e,
        "Min": min,
        "Max": max,
        "Abs": abs,
    }
    names |= {"Piecewise": _piecewise, "z": mpmath.mpf(x.numerator) / x.denominator}
    return mpmath.mpf(eval(exact, {"__builtins__": {}, **names}))


def _lazy(text: str) -> str:
    """Branches of a Piecewise are evaluated only where they apply: (a, c) becomes (lambda: a, lambda: c)."""
    import ast

    class Branches(ast.NodeTransformer):
        def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
            self.generic_visit(node)
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            return ast.Tuple([ast.Lambda(args=empty, body=part) for part in node.elts], ast.Load())

    return ast.unparse(ast.fix_missing_locations(Branches().visit(ast.parse(text, mode="eval"))))
