"""The formula tree: small frozen nodes with exact rational constants, built only through folding constructors.

Two texts that mean the same sum or product give equal trees, so equality, hash and `text` are canonical. Nothing
here evaluates user text (see `_parse`) and nothing imports sympy until a symbolic form is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from flint import arb, fmpq, fmpz
from numpy.typing import NDArray

from ecm._errors import ExpressionError, Undecided, Undefined
from ecm.atoms import ATOMS

MAX_BITS = 60_000
"""No exact constant grows beyond this size; a formula that asks for more is refused."""
MAX_EXPONENT = 10**6
MAX_SLOPE = 50_000

Floats = NDArray[np.float64]


@attrs.frozen(slots=False, cache_hash=True)
class Node:
    """A formula in the one variable z. Use the operators, `apply`, `minimum` and `maximum` to build others."""

    def ball(self, x: arb) -> arb:
        """An enclosure of the value on the ball x; not finite where the formula is not known to be real."""
        raise NotImplementedError

    def float(self, z: Floats) -> Floats:
        """Floating-point values, for pictures."""
        raise NotImplementedError

    def sympy(self, symbol: Any) -> Any:
        """The sympy form with `symbol` for z."""
        raise NotImplementedError

    def text(self) -> str:
        """Canonical text; parses back to an equal tree."""
        return self._text

    @cached_property
    def _text(self) -> str:
        raise NotImplementedError

    def diff(self) -> Node:
        """The derivative, valid wherever the formula is smooth."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Node, ...]:
        return ()

    @cached_property
    def free(self) -> bool:
        """Whether z does not occur."""
        return all(child.free for child in self.children)

    @cached_property
    def smooth(self) -> bool:
        """Whether no Min, Max, Abs, sign or Piecewise of z occurs."""
        return all(child.smooth for child in self.children)

    @cached_property
    def size(self) -> int:
        """How many nodes the tree has."""
        return 1 + sum(child.size for child in self.children)

    @cached_property
    def slope(self) -> Node:
        """The derivative, computed once; raises Undecided where it would be too long to be of use."""
        if self.free:
            return ZERO
        if self.slope_size > MAX_SLOPE:
            raise Undecided(f"the derivative of {self.text()[:60]}... is too long")
        return self.diff()

    @cached_property
    def slope_size(self) -> int:
        """A bound of the size of the derivative."""
        return self.size * (1 + len(self.children)) + sum(child.slope_size for child in self.children)

    def derivatives(self, x: arb) -> tuple[arb, arb, arb]:
        """Enclosures of the value and of the first two derivatives on the ball x (smooth formulas)."""
        return self.ball(x), self.slope.ball(x), self.slope.slope.ball(x)

    def apply(self, name: str) -> Node:
        """The function `name` of this formula."""
        return function(name, self)

    def quarter(self) -> Node:
        """This formula plus pi/2 (cos x = sin(x + pi/2))."""
        return add((self, mul((HALF, PI))))

    def __add__(self, other: Node | int | Fraction) -> Node:
        return add((self, as_node(other)))

    __radd__ = __add__

    def __neg__(self) -> Node:
        return mul((Num(Fraction(-1)), self))

    def __sub__(self, other: Node | int | Fraction) -> Node:
        return add((self, -as_node(other)))

    def __rsub__(self, other: int | Fraction) -> Node:
        return add((as_node(other), -self))

    def __mul__(self, other: Node | int | Fraction) -> Node:
        return mul((self, as_node(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Node | int | Fraction) -> Node:
        return mul((self, power(as_node(other), MINUS_ONE)))

    def __pow__(self, exponent: Node | int | Fraction | str) -> Node:
        return power(self, as_node(Fraction(exponent) if isinstance(exponent, str) else exponent))

    def __str__(self) -> str:
        return self.text()


@attrs.frozen(slots=False, cache_hash=True)
class Num(Node):
    """An exact rational."""

    value: Fraction

    def ball(self, x: arb) -> arb:
        return arb(fmpq(self.value.numerator, self.value.denominator))

    def float(self, z: Floats) -> Floats:
        return np.full_like(z, as_float(self.value))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Rational(self.value.numerator, self.value.denominator)

    @cached_property
    def _text(self) -> str:
        return str(self.value)

    def diff(self) -> Node:
        return ZERO


@attrs.frozen(slots=False, cache_hash=True)
class Const(Node):
    """pi or E."""

    name: str

    def ball(self, x: arb) -> arb:
        return arb.pi() if self.name == "pi" else arb.const_e()

    def float(self, z: Floats) -> Floats:
        return np.full_like(z, np.pi if self.name == "pi" else np.e)

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.pi if self.name == "pi" else sympy.E

    @cached_property
    def _text(self) -> str:
        return self.name

    def diff(self) -> Node:
        return ZERO


@attrs.frozen(slots=False, cache_hash=True)
class Var(Node):
    """z, the distance of two values of a feature, in [0, 1]."""

    @cached_property
    def free(self) -> bool:
        return False

    def ball(self, x: arb) -> arb:
        return x

    def float(self, z: Floats) -> Floats:
        return z

    def sympy(self, symbol: Any) -> Any:
        return symbol

    @cached_property
    def _text(self) -> str:
        return "z"

    def diff(self) -> Node:
        return ONE


@attrs.frozen(slots=False, cache_hash=True)
class Add(Node):
    """A sum; at most one number, no two terms that differ only in their coefficient."""

    terms: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.terms

    def ball(self, x: arb) -> arb:
        total = self.terms[0].ball(x)
        for term in self.terms[1:]:
            total = total + term.ball(x)
        return total

    def float(self, z: Floats) -> Floats:
        return np.asarray(np.sum([term.float(z) for term in self.terms], axis=0))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Add(*(term.sympy(symbol) for term in self.terms))

    @cached_property
    def _text(self) -> str:
        signed = [(coefficient(term)[0] < 0, term) for term in self.terms]
        signed.sort(key=lambda pair: pair[0])
        out = ""
        for negative, term in signed:
            if not out:
                out = term.text()
            else:
                out += f" - {(-term).text()}" if negative else f" + {term.text()}"
        return out

    def diff(self) -> Node:
        return add(term.slope for term in self.terms)


@attrs.frozen(slots=False, cache_hash=True)
class Mul(Node):
    """A product; a number, if there is one, stands first."""

    factors: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.factors

    def ball(self, x: arb) -> arb:
        total = self.factors[0].ball(x)
        for factor in self.factors[1:]:
            total = total * factor.ball(x)
        return total

    def float(self, z: Floats) -> Floats:
        return np.asarray(np.prod([factor.float(z) for factor in self.factors], axis=0))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Mul(*(factor.sympy(symbol) for factor in self.factors))

    @cached_property
    def _text(self) -> str:
        number, rest = coefficient(self)
        above, below = [], []
        for factor in rest:
            if isinstance(factor, Pow) and isinstance(factor.exponent, Num) and factor.exponent.value < 0:
                below.append(_wrapped(power(factor.base, -factor.exponent)))
            else:
                above.append(_wrapped(factor))
        if abs(number.numerator) != 1 or not above:
            above.insert(0, str(abs(number.numerator)))
        if number.denominator != 1:
            below.insert(0, str(number.denominator))
        out = "/".join(["*".join(above), *below])
        return f"-{out}" if number < 0 else out

    def diff(self) -> Node:
        return add(
            mul((*self.factors[:i], factor.slope, *self.factors[i + 1 :]))
            for i, factor in enumerate(self.factors)
            if not factor.free
        )


@attrs.frozen(slots=False, cache_hash=True)
class Pow(Node):
    """base**exponent, the exponent free of z; fractional powers are real only for base >= 0."""

    base: Node
    exponent: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.base, self.exponent)

    def ball(self, x: arb) -> arb:
        return ball_power(self.base.ball(x), self.exponent)

    def float(self, z: Floats) -> Floats:
        return np.asarray(np.power(self.base.float(z), self.exponent.float(np.zeros(1))[0]))

    def sympy(self, symbol: Any) -> Any:
        return self.base.sympy(symbol) ** self.exponent.sympy(symbol)

    @cached_property
    def _text(self) -> str:
        if isinstance(self.exponent, Num) and self.exponent.value < 0:
            return f"1/{_wrapped(power(self.base, -self.exponent))}"
        exponent = self.exponent.text()
        base = self.base.text()
        simple = isinstance(self.base, Var | Const | Function | Extremum | Piecewise) or base.isdigit()
        return f"{base if simple else f'({base})'}**{exponent if exponent.isalnum() else f'({exponent})'}"

    def diff(self) -> Node:
        return mul((self.exponent, power(self.base, self.exponent - 1), self.base.slope))


@attrs.frozen(slots=False, cache_hash=True)
class Function(Node):
    """One of the atoms applied to a formula."""

    name: str
    argument: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)

    @cached_property
    def smooth(self) -> bool:
        return self.free or (self.name not in ("sign", "Abs") and self.argument.smooth)

    def ball(self, x: arb) -> arb:
        atom, inner = ATOMS[self.name], self.argument.ball(x)
        if atom.above is not None and inner <= atom.above:
            raise Undefined(f"{self.name}({short(inner)}) is not real")
        return atom.ball(inner)

    def float(self, z: Floats) -> Floats:
        return np.asarray(ATOMS[self.name].numeric(self.argument.float(z)), dtype=np.float64)

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return ATOMS[self.name].sympy(sympy, self.argument.sympy(symbol))

    @cached_property
    def _text(self) -> str:
        return f"{self.name}({self.argument.text()})"

    def diff(self) -> Node:
        derivative: Node = ATOMS[self.name].derivative(self.argument)
        return mul((derivative, self.argument.slope))


@attrs.frozen(slots=False, cache_hash=True)
class Extremum(Node):
    """Min or Max of two or more formulas."""

    name: str
    arguments: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.arguments

    @cached_property
    def smooth(self) -> bool:
        return self.free

    def ball(self, x: arb) -> arb:
        best = self.arguments[0].ball(x)
        for argument in self.arguments[1:]:
            other = argument.ball(x)
            best = best.min(other) if self.name == "Min" else best.max(other)
        return best

    def float(self, z: Floats) -> Floats:
        values = [argument.float(z) for argument in self.arguments]
        return np.asarray(np.min(values, axis=0) if self.name == "Min" else np.max(values, axis=0))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        build = sympy.Min if self.name == "Min" else sympy.Max
        return build(*(argument.sympy(symbol) for argument in self.arguments))

    @cached_property
    def _text(self) -> str:
        return f"{self.name}({', '.join(argument.text() for argument in self.arguments)})"

    def diff(self) -> Node:
        raise NotImplementedError("Min and Max are resolved into pieces before they are differentiated")


@attrs.frozen(cache_hash=True)
class Comparison:
    """difference < 0 (strict) or difference <= 0."""

    difference: Node
    strict: bool

    def holds(self, sign: int) -> bool:
        """Whether it holds where the difference has this sign."""
        return sign < 0 or (sign == 0 and not self.strict)

    def text(self) -> str:
        left, right = [], []
        for term in self.difference.terms if isinstance(self.difference, Add) else (self.difference,):
            if coefficient(term)[0] < 0:
                right.append(-term)
            else:
                left.append(term)
        return f"{add(left).text()} {'<' if self.strict else '<='} {add(right).text()}"


@attrs.frozen(slots=False, cache_hash=True)
class Piecewise(Node):
    """The first value whose comparisons all hold; the last branch has none (it is the default)."""

    branches: tuple[tuple[Node, tuple[Comparison, ...]], ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(
            node for value, conditions in self.branches for node in (value, *(c.difference for c in conditions))
        )

    @cached_property
    def smooth(self) -> bool:
        return False

    def ball(self, x: arb) -> arb:
        hull: arb | None = None
        for value, conditions in self.branches:
            verdict = True
            for c in conditions:
                d = c.difference.ball(x)
                if d > 0 or (d >= 0 and c.strict):
                    break
                if not (d < 0 or (d <= 0 and not c.strict)):
                    verdict = False
            else:
                inner = value.ball(x)
                hull = inner if hull is None else hull.union(inner)
                if verdict:
                    return hull
        raise Undefined("no branch of the Piecewise applies")

    def float(self, z: Floats) -> Floats:
        tests = [
            np.logical_and.reduce(
                [c.difference.float(z) < 0 if c.strict else c.difference.float(z) <= 0 for c in conditions],
                axis=0,
                initial=True,
            )
            for _, conditions in self.branches
        ]
        with np.errstate(all="ignore"):
            values = [value.float(z) for value, _ in self.branches]
        return np.select([np.broadcast_to(test, z.shape) for test in tests], values, default=np.nan)

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Piecewise(
            *(
                (
                    value.sympy(symbol),
                    sympy.And(
                        *((sympy.Lt if c.strict else sympy.Le)(c.difference.sympy(symbol), 0) for c in conditions)
                    ),
                )
                for value, conditions in self.branches
            )
        )

    @cached_property
    def _text(self) -> str:
        parts = []
        for value, conditions in self.branches:
            test = " and ".join(c.text() for c in conditions) or "True"
            parts.append(f"({value.text()}, {test})")
        return f"Piecewise({', '.join(parts)})"

    def diff(self) -> Node:
        raise NotImplementedError("Piecewise is resolved into pieces before it is differentiated")


Z = Var()
PI = Const("pi")
E = Const("E")
ZERO = Num(Fraction(0))
ONE = Num(Fraction(1))
MINUS_ONE = Num(Fraction(-1))
HALF = Num(Fraction(1, 2))


def as_node(value: Node | int | Fraction) -> Node:
    """A number as a node; a node as itself."""
    return value if isinstance(value, Node) else Num(Fraction(value))


def as_float(value: Fraction) -> float:
    """The nearest float, also for numerators and denominators that are no floats themselves."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def short(value: arb) -> str:
    """A ball in a few digits, for messages."""
    return str(value.str(6, radius=False))


def coefficient(node: Node) -> tuple[Fraction, tuple[Node, ...]]:
    """The rational factor in front, and the other factors."""
    if isinstance(node, Num):
        return node.value, ()
    if isinstance(node, Mul) and isinstance(node.factors[0], Num):
        return node.factors[0].value, node.factors[1:]
    return Fraction(1), node.factors if isinstance(node, Mul) else (node,)


def _wrapped(node: Node) -> str:
    text = node.text()
    return f"({text})" if isinstance(node, Add | Mul) or (isinstance(node, Num) and not text.isdigit()) else text


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
        from ecm._exact import sign

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
        from ecm._exact import sign

        return Num(Fraction(sign(x)))
    elif name == "Abs" and isinstance(x, Var):
        return x
    return Function(name, x)


def extremum(name: str, arguments: Iterable[Node]) -> Node:
    """Min or Max; flattened, without repetitions, the numbers folded into one."""
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
        from ecm._exact import extreme

        return extreme(flat, name)
    if not flat:
        raise ExpressionError(f"{name}() needs at least one argument")
    return flat[0] if len(flat) == 1 else Extremum(name, tuple(flat))


def minimum(*arguments: Node) -> Node:
    """Min(arguments)."""
    return extremum("Min", arguments)


def _whole_power(x: arb, n: int) -> arb:
    """x**n; flint's own power gives nan on a ball around 0."""
    if not x.mid().is_zero() or x.is_zero():
        return x**n
    if n < 0:
        return arb.nan()
    out, square = arb(1), x
    while n:
        if n % 2:
            out = out * square
        square, n = square * square, n // 2
    return out


def ball_power(x: arb, exponent: Node) -> arb:
    """x**exponent on a ball, exact at 0 and at 1."""
    if not isinstance(exponent, Num):
        e = exponent.ball(arb(0))
        if x < 0 or (x.is_zero() and not e > 0):
            raise Undefined(f"the power {exponent.text()[:40]} of {short(x)} is not real")
        return arb(0) if x.is_zero() else (e * x.log()).exp()
    n, d = exponent.value.numerator, exponent.value.denominator
    if d == 1:
        if n < 0 and x.is_zero():
            raise Undefined("a division by zero")
        return _whole_power(x, n)
    if x < 0:
        raise Undefined(f"a fractional power of {short(x)} is not real")
    if x.is_zero():
        if n < 0:
            raise Undefined("a division by zero")
        return arb(0)
    if d == 2:
        root = x.sqrt() if n > 0 else x.rsqrt()
        return root if abs(n) == 1 else root ** abs(n)
    if d <= 64 and abs(n) <= 64:
        root = x.root(d)
        return root if n == 1 else root**n
    return x ** arb(fmpq(n, d))
