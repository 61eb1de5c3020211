"""Formulas evaluated by mpmath and Python's own evaluator, which share no code with the library. Trusted text only.

mpmath rounds: what differs from a tie by the last digits only is taken as the tie, in comparisons, signs and roots.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from functools import lru_cache
from types import CodeType

import mpmath

_NUMBER = re.compile(r"(?<![A-Za-z_0-9.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FUNCTIONS = ("exp", "expm1", "sin", "tanh", "atan", "asinh", "pi", "mpf")
_COMPARE = {ast.Lt: "below", ast.LtE: "most", ast.Gt: "above", ast.GtE: "least"}


def _sign(x: mpmath.mpf) -> int:
    return 0 if abs(x) < mpmath.mpf(10) ** (10 - mpmath.mp.dps) else int(mpmath.sign(x))


def _piecewise(*branches: tuple[object, object]) -> mpmath.mpf:
    return next(value() for value, test in branches if test())  # type: ignore[operator]


def _power(x: mpmath.mpf, exponent: mpmath.mpf) -> mpmath.mpf:
    if _sign(x) == 0 and exponent != 0:
        if exponent < 0:
            raise ZeroDivisionError(f"{x}**{exponent}")
        return mpmath.mpf(0)
    if x < 0 and exponent != int(exponent):
        raise ValueError(f"{x}**{exponent} is not real")
    return x**exponent


def _log(x: mpmath.mpf) -> mpmath.mpf:
    if _sign(x) <= 0:  # mpmath has log(0) = -inf
        raise ZeroDivisionError(f"log({x})")
    return mpmath.log(x)


_NAMES = {
    **{name: getattr(mpmath, name) for name in _FUNCTIONS},
    **{"power": _power, "log": _log, "sign": lambda x: mpmath.mpf(_sign(x)), "Abs": abs, "E": mpmath.e},
    **{"sqrt": lambda x: _power(x, mpmath.mpf(1) / 2), "cbrt": lambda x: _power(x, mpmath.mpf(1) / 3)},
    **{"log1p": lambda x: _log(1 + x), "Min": lambda *x: min(x), "Max": lambda *x: max(x), "Piecewise": _piecewise},
    **{"below": lambda a, b: _sign(a - b) < 0, "most": lambda a, b: _sign(a - b) <= 0},
    **{"above": lambda a, b: _sign(a - b) > 0, "least": lambda a, b: _sign(a - b) >= 0},
}


def value(text: str, x: Fraction) -> mpmath.mpf:
    """The formula at x, in the working precision of mpmath."""
    names = {"__builtins__": {}, **_NAMES, "z": mpmath.mpf(x.numerator) / x.denominator}
    return mpmath.mpf(eval(_compiled(text), names))


@lru_cache(64)
def _compiled(text: str) -> CodeType:
    exact = _NUMBER.sub(lambda m: f"mpf('{m.group()}')", " ".join(text.split()))
    return compile(ast.fix_missing_locations(_Rewritten().visit(ast.parse(exact, mode="eval"))), "a formula", "eval")


class _Rewritten(ast.NodeTransformer):
    """Powers and comparisons become calls, and branches of a Piecewise are evaluated only where they apply."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """(a, c) becomes (lambda: a, lambda: c)."""
        self.generic_visit(node)
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Tuple([ast.Lambda(args=empty, body=part) for part in node.elts], ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """a**b becomes power(a, b)."""
        self.generic_visit(node)
        return _call("power", node.left, node.right) if isinstance(node.op, ast.Pow) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """a < b <= c becomes below(a, b) and most(b, c)."""
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        tests = [_call(_COMPARE[type(op)], *sides[k : k + 2]) for k, op in enumerate(node.ops)]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
