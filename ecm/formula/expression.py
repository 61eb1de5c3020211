"""The formula tree: small frozen nodes with exact rational constants, built only through folding constructors.

Two texts that mean the same sum or product give equal trees, so equality, hash and `text` are canonical. Nothing
here evaluates user text (see `parser`) and nothing imports sympy until a symbolic form is asked for.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from flint import arb, fmpq

from ecm.arrays import Floats
from ecm.errors import Undecided, Undefined
from ecm.formula.atoms import ATOMS

MAX_SLOPE = 50_000


@attrs.frozen(slots=False, cache_hash=True)
class Node:
    """A formula in the one variable z. Use the operators and `apply` to build others."""

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
    def bits(self) -> int:
        """The length of the longest numerator or denominator in it."""
        return max((child.bits for child in self.children), default=0)

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

    def apply(self, name: str) -> Node:
        """The function `name` of this formula."""
        return fold.function(name, self)

    def quarter(self) -> Node:
        """This formula plus pi/2 (cos x = sin(x + pi/2))."""
        return fold.add((self, fold.mul((HALF, PI))))

    def __add__(self, other: Node | int | Fraction) -> Node:
        return fold.add((self, as_node(other)))

    __radd__ = __add__

    def __neg__(self) -> Node:
        return fold.mul((Num(Fraction(-1)), self))

    def __sub__(self, other: Node | int | Fraction) -> Node:
        return fold.add((self, -as_node(other)))

    def __rsub__(self, other: int | Fraction) -> Node:
        return fold.add((as_node(other), -self))

    def __mul__(self, other: Node | int | Fraction) -> Node:
        return fold.mul((self, as_node(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Node | int | Fraction) -> Node:
        return fold.mul((self, fold.power(as_node(other), MINUS_ONE)))

    def __pow__(self, exponent: Node | int | Fraction | str) -> Node:
        return fold.power(self, as_node(Fraction(exponent) if isinstance(exponent, str) else exponent))

    def __str__(self) -> str:
        return self.text()


@attrs.frozen(slots=False, cache_hash=True)
class Num(Node):
    """An exact rational."""

    value: Fraction

    @cached_property
    def bits(self) -> int:
        return max(self.value.numerator.bit_length(), self.value.denominator.bit_length())

    def ball(self, x: arb) -> arb:
        return arb(fmpq(self.value.numerator, self.value.denominator))

    def float(self, z: Floats) -> Floats:
        return np.full_like(z, as_float(self.value))

    def sympy(self, symbol: Any) -> Any:
        import sympy

        return sympy.Rational(self.value.numerator, self.value.denominator)

    @cached_property
    def _text(self) -> str:
        above, below = self.value.numerator, self.value.denominator
        return digits(above) if below == 1 else f"{digits(above)}/{digits(below)}"

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
        return fold.add(term.slope for term in self.terms)


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
                below.append(_wrapped(fold.power(factor.base, -factor.exponent)))
            else:
                above.append(_wrapped(factor))
        if abs(number.numerator) != 1 or not above:
            above.insert(0, digits(abs(number.numerator)))
        if number.denominator != 1:
            below.insert(0, digits(number.denominator))
        out = "/".join(["*".join(above), *below])
        return f"-{out}" if number < 0 else out

    def diff(self) -> Node:
        return fold.add(
            fold.mul((*self.factors[:i], factor.slope, *self.factors[i + 1 :]))
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
            return f"1/{_wrapped(fold.power(self.base, -self.exponent))}"
        exponent = self.exponent.text()
        base = self.base.text()
        simple = not isinstance(self.base, Num | Add | Mul | Pow) or base.isdigit()
        return f"{base if simple else f'({base})'}**{exponent if exponent.isalnum() else f'({exponent})'}"

    def diff(self) -> Node:
        return fold.mul((self.exponent, fold.power(self.base, self.exponent - 1), self.base.slope))


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
        return fold.mul((derivative, self.argument.slope))


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


def digits(n: int) -> str:
    """The integer in decimal; in hexadecimal where Python writes no decimals, beyond anything a formula may hold."""
    return str(n) if n.bit_length() <= 14_000 else hex(n)


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


import ecm.formula.folding as fold  # noqa: E402  (the constructors fold trees of the classes above, so they come last)
