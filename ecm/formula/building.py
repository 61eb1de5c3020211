"""Formulas are put together here: sympy's constructors behind checks of size and of real values.

sympy would write 9**(9**9) out, compare the arguments of a Min at length, and fold what is not real into complex
numbers. So every size is checked before a node is made, and Min, Max, Abs, sign and Piecewise stay as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import sympy as sp
from flint import arb
from sympy import Expr
from sympy.functions.elementary.piecewise import ExprCondPair

from ecm.errors import ExpressionError, Undecided, Undefined
from ecm.formula.balls import Value, as_ball, ball_at, ball_of, constant_ball, ctx_bits, precision
from ecm.formula.constants import brief, sign
from ecm.formula.expression import (
    MAX_BITS,
    MAX_EXPONENT,
    Z,
    conditions,
    difference,
    free,
    holds,
    number_bits,
    rational,
    smooth,
)
from ecm.formula.functions import FUNCTIONS

_TOO_LONG = f"a constant in the formula needs more than {MAX_BITS} bits"


def add(terms: Iterable[Expr]) -> Expr:
    """Return the sum."""
    return _joined(sp.Add, list(terms))


def multiply(factors: Iterable[Expr]) -> Expr:
    """Return the product."""
    return _joined(sp.Mul, list(factors))


def _joined(kind: type[Expr], parts: list[Expr]) -> Expr:
    """Return the sum or product; raises ExpressionError before numbers are put together that would make a huge one."""
    if sum(number_bits(part.as_coeff_Mul()[0]) for part in parts) > 16 * MAX_BITS:
        raise ExpressionError(_TOO_LONG)
    return _checked(kind(*parts))


def _checked(e: Expr) -> Expr:
    if number_bits(e.as_coeff_Mul()[0]) > MAX_BITS or (e.is_Add and number_bits(e.as_coeff_Add()[0]) > MAX_BITS):
        raise ExpressionError(_TOO_LONG)
    return e


def power(base: Expr, exponent: Expr) -> Expr:
    """base**exponent. The exponent must be free of z unless the base is: then it is exp(exponent * log(base))."""
    if not free(exponent):
        if not free(base):
            raise ExpressionError("z stands in the base and in the exponent of a power; use exp and log instead")
        return apply("exp", multiply((exponent, apply("log", base))))
    if exponent.is_Rational:
        _refuse_huge_power(base, exponent)
    if free(base) and not (exponent.is_Integer and exponent >= 0):
        _require_real_power(base, exponent)
    if base.is_zero and exponent != 0:
        return sp.Integer(0)
    return _checked(base**exponent)


def _refuse_huge_power(base: Expr, exponent: sp.Rational) -> None:
    """Raises ExpressionError where sympy would write out a number that is too long."""
    if abs(exponent) > MAX_EXPONENT:
        raise ExpressionError(f"the exponent {brief(exponent)} is too large; at most {MAX_EXPONENT}")
    for factor in sp.Mul.make_args(base):
        number, inner = factor.as_base_exp()
        if not (number.is_Rational and inner.is_Rational) or abs(number) in (0, 1):
            continue
        if number_bits(number) * abs(inner * exponent) > MAX_BITS:
            raise ExpressionError(f"the power {brief(number)}**{brief(inner * exponent)} is too large to write out")


def _require_real_power(base: Expr, exponent: Expr) -> None:
    """Raises Undefined unless the power of a constant is real, as far as that can be decided."""
    try:
        s = sign(base)
        if s < 0 and not exponent.is_Integer:
            raise Undefined(
                f"({brief(base)})**({brief(exponent)}): a fractional power of a negative number is not real"
            )
        if s == 0 and sign(exponent) < 0:
            raise Undefined("a division by zero")
    except Undecided:
        return


def apply(name: str, x: Expr) -> Expr:
    """Return the function `name` of x."""
    if name == "sqrt":
        return power(x, sp.Rational(1, 2))
    if name == "cbrt":
        return power(x, sp.Rational(1, 3))
    if name == "expm1":
        return add((apply("exp", x), sp.Integer(-1)))
    if name == "log1p":
        return apply("log", add((x, sp.Integer(1))))
    if name in ("sign", "Abs"):
        return _switch(name, x)
    if name == "log" and free(x) and sign(x) <= 0:
        raise Undefined(f"log({brief(x)}): the logarithm of a number that is not positive is not real")
    if name == "exp":
        for term in sp.Add.make_args(x):  # exp(10**9*log(2)) would be written out
            number, rest = term.as_coeff_Mul()
            if isinstance(rest, sp.log):
                _refuse_huge_power(rest.args[0], number)
    if name in ("sin", "cos") and free(x) and abs(constant_ball(x)) > arb(2) ** MAX_BITS:
        raise ExpressionError(  # sympy would compute as many digits of pi as x has
            f"{name}({brief(x)}): the angle is a constant beyond 2**{MAX_BITS}, whose {name} is out of reach; write a "
            "smaller one"
        )
    return _checked(FUNCTIONS[name].sympy(x))


def _switch(name: str, x: Expr) -> Expr:
    """Return sign(u) or Abs(u), evaluated for constants and for z, otherwise as it is."""
    if free(x):
        s = sign(x)
        return sp.Integer(s) if name == "sign" else s * x
    number, rest = x.as_coeff_Mul()
    if rest == Z:
        inner = sp.sign(Z) if name == "sign" else Z
    else:
        inner = FUNCTIONS[name].sympy(rest, evaluate=False)
    return (sign(number) if name == "sign" else abs(number)) * inner


def extremum(name: str, arguments: Iterable[Expr]) -> Expr:
    """Min or Max: flat, without repetitions, the constants folded into one."""
    kind = sp.Min if name == "Min" else sp.Max
    flat = list(dict.fromkeys(part for a in arguments for part in (a.args if isinstance(a, kind) else (a,))))
    if not flat:
        raise ExpressionError(f"{name}() needs at least one argument")
    numbers = [part for part in flat if part.is_Rational]
    moving = [part for part in flat if not part.is_Rational]
    if moving and all(map(free, moving)):
        return extreme(name, flat)
    if numbers:
        moving.append(min(numbers) if name == "Min" else max(numbers))
    return moving[0] if len(moving) == 1 else kind(*moving, evaluate=False)


def extreme(name: str, values: Sequence[Expr], sign_of: Callable[[Expr], int] = sign) -> Expr:
    """Return the least (Min) or greatest (Max) of the values."""
    best = values[0]
    for value in values[1:]:
        s = sign_of(value - best)
        if s != 0 and (s < 0) == (name == "Min"):
            best = value
    return best


def compare(left: Expr, right: Expr, is_strict: bool) -> sp.Basic:
    """left < right or left <= right, with terms on the side where they are positive; decided for constants."""
    gap = add((left, multiply((sp.Integer(-1), right))))
    kind = sp.StrictLessThan if is_strict else sp.LessThan
    terms = sp.Add.make_args(gap)
    above = [term for term in terms if not term.as_coeff_Mul()[0].is_negative]
    below = [-term for term in terms if term.as_coeff_Mul()[0].is_negative]
    comparison = kind(sp.Add(*above), sp.Add(*below), evaluate=False)
    if not free(gap):
        return comparison
    return sp.true if holds(comparison, sign(gap)) else sp.false


def every(tests: Iterable[sp.Basic]) -> sp.Basic:
    """Return the condition that all tests hold."""
    kept = [part for test in tests for part in conditions(test)]
    if sp.false in kept:
        return sp.false
    if len(kept) < 2:
        return kept[0] if kept else sp.true
    return sp.And(*kept, evaluate=False)


def piecewise(branches: Iterable[tuple[Expr, sp.Basic]]) -> Expr:
    """Return the first value whose condition holds; branches that can never apply are left out."""
    kept = list[tuple[Expr, sp.Basic]]()
    for value, test in branches:
        if test is not sp.false:
            kept.append((value, test))
        if test is sp.true:
            break
    if not kept:
        raise ExpressionError("no branch of the Piecewise can ever apply")
    if kept[0][1] is sp.true:
        return kept[0][0]
    return sp.Basic.__new__(Piecewise, *(sp.Basic.__new__(ExprCondPair, *pair) for pair in kept))


class Piecewise(sp.Piecewise):  # type: ignore[misc]
    """Branches as they are written: sympy would rewrite conditions that hold a Piecewise themselves.

    It does so when it makes one, which `piecewise` avoids, and when it raises one to a power.
    """

    def _eval_power(self, exponent: Expr) -> None:
        return None


def rebuild(e: Expr, parts: Sequence[Expr]) -> Expr:
    """Return the same operation on other parts."""
    if e.is_Add:
        return add(parts)
    if e.is_Mul:
        return multiply(parts)
    if e.is_Pow:
        return power(parts[0], parts[1])
    if isinstance(e, sp.Min | sp.Max):
        return extremum(e.func.__name__, parts)
    return apply(e.func.__name__, parts[0])


def exact(e: Expr, x: Fraction | Expr) -> Expr:
    """Return the value of the formula at x (a fraction, or a constant) as an exact constant.

    Raises Undefined where there is none, ExpressionError where it is too long to be written out.

    >>> from ecm.formula import read
    >>> exact(read("sqrt(z)/18 + Min(z, 1/3)").expr, Fraction(4, 9))
    10/27
    """
    return resolved(e, rational(x) if isinstance(x, Fraction | int) else x, sign)


def resolved(e: Expr, x: Expr, sign_of: Callable[[Expr], int]) -> Expr:
    """Return the formula with x in place of z, and with the branch that applies in place of every switch.

    `sign_of` gives the sign of the differences that decide between branches.
    """
    memo = dict[Expr, Expr]({Z: x})

    def walk(n: Expr) -> Expr:
        if n not in memo:
            memo[n] = n if free(n) or (x == Z and smooth(n)) else step(n)
        return memo[n]

    def step(n: Expr) -> Expr:
        if isinstance(n, sp.Piecewise):
            for value, test in n.args:
                if all(holds(c, sign_of(walk(difference(c)))) for c in conditions(test)):
                    return walk(value)
            raise Undefined("no branch of the Piecewise applies")
        parts = [walk(part) for part in n.args]
        if isinstance(n, sp.Min | sp.Max):
            return extreme(n.func.__name__, parts, sign_of)
        if isinstance(n, sp.sign | sp.Abs):
            s = sign_of(parts[0])
            return sp.Integer(s) if isinstance(n, sp.sign) else s * parts[0]
        return rebuild(n, parts)

    return walk(e)


def point_ball(e: Expr, x: Fraction) -> Value:
    """Return an enclosure of the formula at the fraction x; the exact value is taken where balls alone see too
    little."""
    found = ball_at(e, x)
    if found.is_finite() and (smooth(e) or found.rad() < arb(2) ** (-ctx_bits() // 2)):
        return found
    return constant_ball(exact(e, x))


def sign_at(e: Expr, x: Fraction) -> int:
    """Return the sign of the formula at the fraction x; raises Undecided where it is open."""
    for bits in (ctx_bits(), 4 * ctx_bits()):  # beside a root the exact value would be long
        with precision(bits):
            found = ball_of(e, as_ball(x))
            if found > 0 or found < 0:
                return 1 if found > 0 else -1
    return sign(exact(e, x))


def moved(e: Expr, to: Expr) -> Expr:
    """Return the smooth formula with another expression in place of z."""
    return e.xreplace({Z: to})
