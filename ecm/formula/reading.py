"""Text or a sympy expression to a formula: both are read as text, by the one whitelist of `grammar`."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import attrs
import sympy as sp
from sympy import Expr
from sympy.functions.elementary.piecewise import ExprCondPair

from ecm.errors import ExpressionError
from ecm.formula.expression import bits, rational
from ecm.formula.functions import BY_CLASS
from ecm.formula.grammar import MAX_DEPTH, MAX_DIGITS, Reader
from ecm.formula.hints import ALLOWED
from ecm.formula.printing import text_of
from ecm.formula.requirement import Requirement

MAX_NUMBER = 3_321
"""Numbers up to this many bits have at most MAX_DIGITS digits."""

_FROM_SYMPY = (
    *(sp.Symbol, sp.Rational, sp.Float, type(sp.pi), type(sp.E), sp.Add, sp.Mul, sp.Pow, *BY_CLASS),
    *(sp.Min, sp.Max, sp.Piecewise, ExprCondPair, sp.And, sp.Lt, sp.Le, sp.Gt, sp.Ge, type(sp.true), type(sp.false)),
)
"""The classes of sympy that have a text in a formula."""


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
        return _canonical(text, text)
    if isinstance(source, sp.Basic):
        return _canonical(_text_of_sympy(source), str(source))
    raise ExpressionError(f"a formula is a text or a sympy expression, not {type(source).__name__}")


def readable(e: Expr) -> Expr:
    """Return the same expression, if its text can be read again: no constant is longer than a number may be written."""
    if bits(e) > MAX_NUMBER:
        raise ExpressionError(f"a constant in the formula has more than {MAX_DIGITS} digits; write a simpler one")
    return e


@lru_cache(4096)
def _canonical(text: str, written: str) -> Formula:
    """Return the formula that its own text gives: sympy may leave 3**(1/4)*3**(3/4) as it is until it is asked
    again."""
    expr, needs = Reader(text).read()
    for _ in range(3):
        again, more = Reader(text_of(readable(expr))).read()
        needs += more
        if again == expr:
            break
        expr = again
    return Formula(readable(expr), tuple(dict.fromkeys(needs)), written)


def _text_of_sympy(source: sp.Basic) -> str:
    """Return the text of a sympy expression in one symbol, which is z whatever its name; decimals become exact."""
    if not isinstance(source, sp.Expr):
        raise ExpressionError(f"a formula is a text or a sympy expression, not {type(source).__name__}")
    symbols = sorted(source.free_symbols, key=str)
    if len(symbols) > 1:
        raise ExpressionError(f"the expression has the symbols {', '.join(map(str, symbols))}; a metric has only one")
    _refuse_foreign(source)
    return text_of(source.xreplace({number: Reader(str(number)).read()[0] for number in source.atoms(sp.Float)}))


def _refuse_foreign(e: sp.Basic, depth: int = 0) -> None:
    """Raises ExpressionError for what has no text in a formula, or is nested too deeply to be written."""
    if depth > MAX_DEPTH:
        raise ExpressionError(f"operations are nested deeper than {MAX_DEPTH}")
    if not isinstance(e, _FROM_SYMPY):
        raise ExpressionError(f"{type(e).__name__} is not part of a formula; allowed are {ALLOWED}")
    for part in e.args:
        _refuse_foreign(part, depth + 1)
