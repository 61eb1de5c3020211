"""The canonical text of a formula, which fingerprints hash: our own, so that it does not depend on sympy's version."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp
from sympy import Expr

from ecm.formula.expression import conditions, strict


@lru_cache(20_000)
def text_of(e: sp.Basic) -> str:
    """Return the text of a formula; reading it gives an equal formula.

    >>> from ecm.formula import Z
    >>> text_of(sp.sqrt(Z) / 18), text_of(1 - sp.exp(-3 * Z))
    ('z**(1/2)/18', '1 - exp(-3*z)')
    """
    if e.is_Rational:
        return _digits(int(e.p)) if e.q == 1 else f"{_digits(int(e.p))}/{_digits(int(e.q))}"
    if e.is_Symbol:
        return "z"
    if e is sp.pi:
        return "pi"
    if e is sp.E:
        return "E"
    if e.is_Add:
        return _sum(e)
    if e.is_Mul:
        return _product(e)
    if e.is_Pow:
        return _power(e)
    if isinstance(e, sp.cos):
        return f"sin({text_of(e.args[0] + sp.pi / 2)})"
    if isinstance(e, sp.Min | sp.Max):
        ordered = sorted(e.args, key=lambda part: (part.is_Rational, text_of(part)))
        return f"{e.func.__name__}({', '.join(map(text_of, ordered))})"
    if isinstance(e, sp.Piecewise):
        return f"Piecewise({', '.join(f'({text_of(value)}, {_condition(test)})' for value, test in e.args)})"
    if isinstance(e, sp.Function):
        return f"{e.func.__name__}({', '.join(map(text_of, e.args))})"
    return str(e)


def clip(e: Expr | str, most: int = 120) -> str:
    """Return the formula for a message, shortened."""
    text = e if isinstance(e, str) else text_of(e)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _digits(n: int) -> str:
    """Return a number in decimal digits, or in hexadecimal ones where it is longer than Python writes in decimal."""
    return str(n) if n.bit_length() <= 14_000 else hex(n)


def _negative(e: Expr) -> bool:
    return bool(e.as_coeff_Mul()[0].is_negative)


def _sum(e: Expr) -> str:
    """Return terms in the order of their texts, the number last, those with a minus sign behind the others."""
    terms = sorted(e.args, key=lambda term: (_negative(term), term.is_Rational, text_of(term)))
    out = text_of(terms[0])
    for term in terms[1:]:
        out += f" - {text_of(-term)}" if _negative(term) else f" + {text_of(term)}"
    return out


def _product(e: Expr) -> str:
    number, rest = e.as_coeff_Mul()
    above, below = list[str](), list[str]()
    for factor in sorted(sp.Mul.make_args(rest), key=text_of):
        if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(_wrapped(factor.base**-factor.exp))
        else:
            above.append(_wrapped(factor))
    if abs(number.p) != 1 or not above:
        above.insert(0, _digits(abs(int(number.p))))
    if number.q != 1:
        below.insert(0, _digits(int(number.q)))
    out = "/".join(["*".join(above), *below])
    return f"-{out}" if number.is_negative else out


def _power(e: Expr) -> str:
    if e.exp.is_Rational and e.exp.is_negative:
        return f"1/{_wrapped(e.base**-e.exp)}"
    base, exponent = text_of(e.base), text_of(e.exp)
    simple = not (e.base.is_Rational or e.base.is_Add or e.base.is_Mul or e.base.is_Pow) or base.isdigit()
    return f"{base if simple else f'({base})'}**{exponent if exponent.isalnum() else f'({exponent})'}"


def _wrapped(e: Expr) -> str:
    text = text_of(e)
    return f"({text})" if e.is_Add or e.is_Mul or (e.is_Rational and not text.isdigit()) else text


def _condition(test: sp.Basic) -> str:
    parts = [f"{text_of(c.lts)} {'<' if strict(c) else '<='} {text_of(c.gts)}" for c in conditions(test)]
    return " and ".join(sorted(parts)) or "True"
