"""The constructors of formula trees: they flatten, collect and fold, so that equal formulas have equal trees."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import arb, fmpz

from ecm.errors import ExpressionError, Undefined
from ecm.formula.expression import HALF, ONE, PI, ZERO, Add, Const, E, Function, Mul, Node, Num, Pow, Var, coefficient

MAX_BITS = 60_000
"""No exact constant grows beyond this size; a formula that asks for more is refused."""
MAX_EXPONENT = 10**6


def _guard(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        raise ExpressionError(f"a constant in the formula needs more than {MAX_BITS} bits")
    return value


def _product(factors: tuple[Node, ...]) -> Node:
    return factors[0] if len(factors) == 1 else Mul(factors)


def add(terms: Iterable[Node]) -> Node:
    """The sum: flattened, like terms collected, sorted."""
    total, collected = Fraction(0), dict[tuple[Node, ...], Fraction]()
    stack = list(terms)[::-1]
    while stack:
        term = stack.pop()
        if isinstance(term, Add):
            stack.extend(term.terms[::-1])
            continue
        number, rest = coefficient(term)
        if rest:
            collected[rest] = _guard(collected.get(rest, Fraction(0)) + number)
        else:
            total = _guard(total + number)
    parts = [mul((Num(c), _product(rest))) for rest, c in collected.items() if c]
    parts.sort(key=lambda node: node.text())
    if total or not parts:
        parts.append(Num(total))
    return parts[0] if len(parts) == 1 else Add(tuple(parts))


def mul(factors: Iterable[Node]) -> Node:
    """The product: flattened, powers of z and of constants collected, a number spread over a single sum.

    Powers of z are added as for z > 0, so z**2/z is z also at 0.
    """
    number, collected, order = Fraction(1), dict[Node, list[Node]](), list[Node]()
    stack = list(factors)[::-1]
    while stack:
        factor = stack.pop()
        if isinstance(factor, Mul):
            stack.extend(factor.factors[::-1])
        elif isinstance(factor, Num):
            number = _guard(number * factor.value)
        else:
            base, exponent = (factor.base, factor.exponent) if isinstance(factor, Pow) else (factor, ONE)
            if base not in collected:
                collected[base] = []
                order.append(base)
            collected[base].append(exponent)
    if not number:
        return ZERO
    parts = list[Node]()
    for base in order:
        for exponent in _collect(base, collected[base]):
            part = power(base, exponent)
            if isinstance(part, Num):
                number = _guard(number * part.value)
            elif isinstance(part, Mul):
                c, rest = coefficient(part)
                number = _guard(number * c)
                parts.extend(rest)
            else:
                parts.append(part)
    if not parts:
        return Num(number)
    if number == 1 and len(parts) == 1:
        return parts[0]
    if len(parts) == 1 and isinstance(parts[0], Add):
        return add(mul((Num(number), term)) for term in parts[0].terms)
    parts.sort(key=lambda node: node.text())
    return Mul(tuple(parts) if number == 1 else (Num(number), *parts))


def _collect(base: Node, exponents: list[Node]) -> list[Node]:
    """Exponents of one base, added where that changes neither value nor domain (z itself is never negative)."""
    if len(exponents) == 1:
        return exponents
    if isinstance(base, Var) or base.free:
        return [add(exponents)]
    up, down, others = Fraction(0), Fraction(0), list[Node]()
    for exponent in exponents:
        if isinstance(exponent, Num) and exponent.value.denominator == 1:
            if exponent.value > 0:
                up += exponent.value
            else:
                down += exponent.value
        else:
            others.append(exponent)
    return [*(Num(v) for v in (up, down) if v), *others]


def _exact_root(value: Fraction, exponent: Fraction) -> Fraction | None:
    """value**exponent if that is rational and value > 0."""
    d = exponent.denominator
    if d != 1:
        if d > 4096:
            return Fraction(1) if value == 1 else None
        top, bottom = fmpz(value.numerator), fmpz(value.denominator)
        a, b = int(top.root(d)), int(bottom.root(d))
        if a**d != value.numerator or b**d != value.denominator:
            return None
        value = Fraction(a, b)
    n = exponent.numerator
    if max(value.numerator.bit_length(), value.denominator.bit_length()) * abs(n) > MAX_BITS and abs(value) != 1:
        raise ExpressionError(f"the power {value}**{n} is too large to be written out")
    return Fraction(value) ** n


def power(base: Node, exponent: Node) -> Node:
    """base**exponent. The exponent must be free of z unless the base is: then it is exp(exponent * log(base))."""
    if not exponent.free:
        if not base.free:
            raise ExpressionError("z stands in the base and in the exponent of a power; use exp and log instead")
        return function("exp", mul((exponent, function("log", base))))
    if isinstance(exponent, Num):
        e = exponent.value
        if abs(e) > MAX_EXPONENT:
            raise ExpressionError(
                f"the exponent {e if e.denominator == 1 else ''} is too large; at most {MAX_EXPONENT}"
            )
        if e == 0:
            return ONE
        if e == 1:
            return base
        if isinstance(base, Num):
            return _number_power(base.value, e)
        if isinstance(base, Const) and base.name == "E":
            return function("exp", exponent)
        if isinstance(base, Pow) and isinstance(base.exponent, Num) and (e == -1 or _positive(base.base)):
            return power(base.base, Num(base.exponent.value * e))
        if isinstance(base, Mul):
            if e.denominator == 1:
                return mul(power(factor, exponent) for factor in base.factors)
            c, rest = coefficient(base)
            if c > 0 and c != 1:
                return mul((power(Num(c), exponent), power(_product(rest), exponent)))
    elif base == ONE:
        return ONE
    elif base == ZERO:
        from ecm.formula.values import sign

        if sign(exponent) <= 0:
            raise Undefined(f"0**({exponent.text()}) is not a number")
        return ZERO
    return Pow(base, exponent)


def _positive(base: Node) -> bool:
    """Whether (base**a)**b = base**(a*b), which holds for z and for positive constants."""
    return isinstance(base, Var) or (base.free and bool(base.ball(arb(0)) > 0))


def _number_power(value: Fraction, e: Fraction) -> Node:
    if value == 0:
        if e < 0:
            raise Undefined("a division by zero")
        return ZERO
    if value < 0:
        if e.denominator != 1:
            raise Undefined(f"({value})**({e}): a fractional power of a negative number is not real")
        sign = -1 if e.numerator % 2 else 1
        return mul((Num(Fraction(sign)), _number_power(-value, e)))
    root = _exact_root(value, e)
    return Pow(Num(value), Num(e)) if root is None else Num(_guard(root))


_ODD = ("sin", "tanh", "atan", "asinh", "sign")
_SINES = {
    Fraction(0): Fraction(0),
    Fraction(1, 6): Fraction(1, 2),
    Fraction(1, 2): Fraction(1),
    Fraction(5, 6): Fraction(1, 2),
}


def function(name: str, x: Node) -> Node:
    """The function `name` of x, folded where the value is rational."""
    if name == "sqrt":
        return power(x, HALF)
    if name == "cbrt":
        return power(x, Num(Fraction(1, 3)))
    if isinstance(x, Num):
        v = x.value
        if name == "sign":
            return Num(Fraction((v > 0) - (v < 0)))
        if name == "Abs":
            return Num(abs(v))
        if name in ("log", "log1p"):
            inner = v + (name == "log1p")
            if inner <= 0:
                raise Undefined(f"{name}({v}): the logarithm of {inner} is not real")
            return ZERO if inner == 1 else Function("log", Num(inner))
        if v == 0:
            return ONE if name == "exp" else ZERO
        if name == "exp" and v == 1:
            return E
        if name == "atan" and abs(v) == 1:
            return mul((Num(v / 4), PI))
    if name in ("exp", "expm1") and x.free and isinstance(x, Function) and x.name == "log" and _positive(x.argument):
        return x.argument if name == "exp" else x.argument - 1
    if name in _ODD and coefficient(x)[0] < 0:
        return -function(name, -x)
    if name in ("log", "log1p") and x.free and not isinstance(x, Num):
        inner_node = x + 1 if name == "log1p" else x
        if isinstance(inner_node, Const) and inner_node.name == "E":
            return ONE
        return function("log", inner_node) if isinstance(inner_node, Num) else Function("log", inner_node)
    if name == "sin":
        number, rest = coefficient(x)
        if rest == (PI,):
            number %= 2
            half, number = divmod(number, 1)
            if number in _SINES:
                return Num((-1) ** half * _SINES[number])
    elif name == "sign" and x.free:
        from ecm.formula.values import sign

        return Num(Fraction(sign(x)))
    elif name == "Abs" and isinstance(x, Var):
        return x
    return Function(name, x)


def extremum(name: str, arguments: Iterable[Node]) -> Node:
    """Min or Max; flattened, without repetitions, the numbers folded into one."""
    from ecm.formula.branches import Extremum

    flat, numbers = list[Node](), list[Fraction]()
    for argument in arguments:
        for part in argument.arguments if isinstance(argument, Extremum) and argument.name == name else (argument,):
            if isinstance(part, Num):
                numbers.append(part.value)
            elif part not in flat:
                flat.append(part)
    flat.sort(key=lambda node: node.text())
    if numbers:
        flat.append(Num(min(numbers) if name == "Min" else max(numbers)))
    if len(flat) > 1 and all(part.free for part in flat):
        from ecm.formula.values import extreme

        return extreme(flat, name)
    if not flat:
        raise ExpressionError(f"{name}() needs at least one argument")
    return flat[0] if len(flat) == 1 else Extremum(name, tuple(flat))


def minimum(*arguments: Node) -> Node:
    """Min(arguments)."""
    return extremum("Min", arguments)
