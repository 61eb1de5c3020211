"""`Profile`: the scalar g of one component of a metric, proven to be one, with its exact values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import attrs
import numpy as np
from flint import arb, fmpq, fmpz

from ecm.arrays import Floats, Ints
from ecm.errors import ECMError, ExpressionError, NotAnECM, Undecided
from ecm.formula import (
    MAX_BITS,
    MAX_DIGITS,
    ONE,
    PRECISIONS,
    Clock,
    Function,
    Node,
    Num,
    Pow,
    Var,
    as_node,
    coefficient,
    evaluate,
    is_zero,
    minimum,
    parse,
    point_ball,
    precision,
    readable,
    sign,
)
from ecm.proof import Piece, Proof, pieces_of, prove, prove_combination, prove_on_grid, prove_table

_LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{5}")  # 1e99999 has as many digits when it is written out


@attrs.frozen(slots=False, repr=False, eq=False)
class Profile:
    """g: [0, 1] -> [0, 1] with g(0) = 0, non-decreasing and concave; `proof` says how each of these is known.

    A profile is a formula (`node`), known everywhere or, with `grid` = q, only at k/q; or a table of exact rationals
    at k/q (`table`). On a grid, only q' that divide q may be asked for.

    >>> p = Profile.from_expr("z**0.5/18")
    >>> p.text, p.floors(18000, 4).tolist()
    ('z**(1/2)/18', [0, 500, 707, 866, 1000])
    >>> p
    Profile.from_expr('z**(1/2)/18')
    """

    node: Node | None
    table: tuple[Fraction, ...] | None
    grid: int | None
    proof: Proof

    @classmethod
    def from_expr(cls, text: Any, grid: int | None = None, seconds: float = 10.0) -> Profile:
        """The profile of a formula (text or sympy), proven on [0, 1], or with `grid` = q only at k/q.

        Raises ExpressionError (not a formula), NotAnECM (with a witness) or Undecided (after about `seconds`).
        """
        node = parse(text)
        if grid is None:
            return cls(node, None, None, prove(node, seconds))
        return cls(node, None, _checked_grid(grid), prove_on_grid(node, grid, seconds))

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Profile:
        """The profile with g(k/q) = values[k], q = len(values) - 1; floats count as the decimals they print as.

        >>> Profile.from_values([0, "0.5", 0.8, 1]).values(3).tolist()
        [0.0, 0.5, 0.8, 1.0]
        """
        if not isinstance(values, Iterable):
            raise ExpressionError(f"a table is a list of g(0), g(1/q), ..., g(1), not {values!r}")
        table = tuple(_exact_value(value, k) for k, value in enumerate(values))
        if len(table) < 2:
            raise ExpressionError("a table needs g(0) and at least one more value")
        return cls(None, table, len(table) - 1, prove_table(table))

    @property
    def text(self) -> str:
        """Canonical text of the formula; of a table, the list of its values."""
        if self.node is not None:
            return self.node.text()
        assert self.table is not None
        return "[" + ", ".join(str(value) for value in self.table) + "]"

    @property
    def is_zero(self) -> bool:
        """Whether g = 0, a feature that may be changed for free: g(1) = 0 says so, as g is increasing from 0."""
        return sign(self.constant(1, 1)) == 0

    def __call__(self, z: Any) -> Any:
        """g(z) in floating point; a table is interpolated linearly."""
        array = np.asarray(z, dtype=np.float64)
        flat = np.atleast_1d(array)
        if self.table is not None:
            out = np.interp(flat, np.linspace(0, 1, len(self.table)), [float(v) for v in self.table])
        else:
            assert self.node is not None
            with np.errstate(all="ignore"):
                out = np.asarray(self.node.float(flat), dtype=np.float64)
        return out.reshape(array.shape) if array.ndim else float(out[0])

    def _entry(self, k: int, q: int) -> Fraction | None:
        """The rational g(k/q) of a table (None for a formula), after the check of k and q."""
        if not isinstance(q, int | np.integer) or q < 1 or not 0 <= k <= q:
            raise ECMError(f"k/q = {k}/{q!r} is not a point of a grid on [0, 1]; q is an integer >= 1")
        if self.grid is not None and self.grid % q:
            raise ECMError(f"this profile is known at k/{self.grid} only; q = {q} does not divide {self.grid}")
        return None if self.table is None else self.table[k * (len(self.table) - 1) // q]

    def ball(self, k: int, q: int) -> arb:
        """An enclosure of g(k/q) at the present precision of flint."""
        entry = self._entry(k, q)
        return point_ball(self._formula, Fraction(k, q)) if entry is None else Num(entry).ball(arb(0))

    def constant(self, k: int, q: int) -> Node:
        """g(k/q) as an exact constant formula."""
        entry = self._entry(k, q)
        if entry is not None:
            return Num(entry)
        assert self.node is not None
        return evaluate(self.node, Fraction(k, q))

    def exact(self, k: int, q: int) -> Any:
        """g(k/q) as a sympy expression, for display."""
        return self.constant(k, q).sympy(None)

    def values(self, q: int) -> Floats:
        """g(k/q) for k = 0..q as floats, each within an ulp of the truth."""
        self._entry(0, q)
        if self.table is not None:
            step = (len(self.table) - 1) // q
            return np.array([float(v) for v in self.table[::step]])
        with precision(PRECISIONS[0]):
            return np.array([float(point_ball(self._formula, Fraction(k, q)).mid()) for k in range(q + 1)])

    def at_least(self, k: int, q: int, value: Fraction | int) -> bool:
        """The exact decision of value <= g(k/q)."""
        return sign(self.constant(k, q) - as_node(Fraction(value))) >= 0

    def floors(self, scale: int, q: int) -> Ints:
        """floor(scale * g(k/q)) for k = 0..q, exactly; a tie that cannot be decided is rounded down.

        >>> Profile.from_expr("log(1+5*z)/log(6)").floors(10, 5).tolist()
        [0, 3, 6, 7, 8, 10]
        """
        if scale < 0:
            raise ECMError(f"scale = {scale} must not be negative")
        self._entry(0, q)
        if self.table is not None:
            step = (len(self.table) - 1) // q
            return np.array([scale * v.numerator // v.denominator for v in self.table[::step]], dtype=np.int64)
        assert self.node is not None
        pure = _monomial(self.node)
        if pure is not None:
            return _monomial_floors(*pure, scale, q)
        return _floors(self.node, scale, q)

    def scaled(self, factor: Fraction | int) -> Profile:
        """factor * g, for an exact factor >= 0.

        >>> Profile.from_expr("sqrt(z)").scaled(Fraction(1, 18)).text
        'z**(1/2)/18'
        """
        factor = Fraction(factor)
        if factor < 0:
            raise NotAnECM(f"{factor} * g is not increasing; a factor must be >= 0", "increasing", f"factor {factor}")
        return _combined("a non-negative multiple of a proven profile", [self], lambda v: v[0] * factor)

    def plus(self, other: Profile) -> Profile:
        """The sum of two profiles; it must stay below 1."""
        return _combined("the sum of two proven profiles", [self, other], lambda v: v[0] + v[1])

    def minimum(self, other: Profile) -> Profile:
        """The pointwise minimum of two profiles."""
        return _combined("the minimum of two proven profiles", [self, other], lambda v: minimum(*v))

    def capped(self) -> Profile:
        """Min(g, 1); for functions with values in [0, 1] the same metric."""
        return _combined("the minimum of a proven profile and 1", [self], lambda v: minimum(v[0], ONE))

    def pieces(self) -> tuple[Piece, ...]:
        """The maximal smooth pieces of g on (0, 1), each a formula without Min, Max, Abs, sign or Piecewise.

        >>> [str(piece.right) for piece in Profile.from_expr("Min(sqrt(z)/0.5, 1)").pieces()]
        ['1/4', '1']
        """
        return self._pieces

    @cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        if self.grid is not None:
            raise Undecided(f"the profile is known at k/{self.grid} only; its smooth pieces are not")
        return pieces_of(self._formula, Clock(10.0))

    @property
    def jump(self) -> Node:
        """g(0+), exactly: the weight of Lambda = 0 (0 unless the formula steps at 0)."""
        return evaluate(self.pieces()[0].node, Fraction(0))

    def power(self) -> tuple[Fraction, Fraction] | None:
        """(p, alpha) if g = z**p/alpha, with p = 0 for g = sign(z)/alpha; None for any other g.

        >>> Profile.from_expr("sqrt(z)/18").power(), Profile.from_expr("sign(z)/25").power()
        ((Fraction(1, 2), Fraction(18, 1)), (Fraction(0, 1), Fraction(25, 1)))
        """
        if self.node is None:
            return None
        c, rest = coefficient(self.node)
        if len(rest) != 1 or not c:
            return None
        factor = rest[0]
        if isinstance(factor, Var):
            return Fraction(1), 1 / c
        if isinstance(factor, Function) and factor.name == "sign" and isinstance(factor.argument, Var):
            return Fraction(0), 1 / c
        if isinstance(factor, Pow) and isinstance(factor.base, Var) and isinstance(factor.exponent, Num):
            return factor.exponent.value, 1 / c
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; equal profiles give equal data."""
        if self.table is not None:
            return {"values": [str(value) for value in self.table]}
        return {"expr": self.text, "grid": self.grid}

    @classmethod
    def from_dict(cls, data: Any) -> Profile:
        """The profile of such data, proven again."""
        match data:
            case {"values": list(values)}:
                return cls.from_values(values)
            case {"expr": str(text), "grid": (int() | None) as grid}:
                return cls.from_expr(text, grid=grid)
        raise ExpressionError(f"{str(data)[:80]!r} is no profile; it has 'expr' and 'grid', or 'values'")

    def source(self) -> str:
        """The call that makes an equal profile (or metric), without the class: from_expr('z/18')."""
        if self.table is not None:
            return f"from_values({[str(v) for v in self.table]})"
        return f"from_expr({self.text!r}{'' if self.grid is None else f', grid={self.grid}'})"

    def latex(self) -> str:
        """LaTeX of g; a table is shown by its first and last values."""
        if self.table is not None:
            shown = [str(v) for v in (self.table if len(self.table) <= 6 else (*self.table[:3], *self.table[-2:]))]
            if len(self.table) > 6:
                shown.insert(3, r"\ldots")
            return rf"\left({', '.join(shown)}\right)_{{k/{self.grid}}}"
        import sympy

        text: str = sympy.latex(self._formula.sympy(sympy.Symbol("z", nonnegative=True)))
        return text

    @property
    def _formula(self) -> Node:
        assert self.node is not None
        return self.node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return (self.node, self.table, self.grid) == (other.node, other.table, other.grid)

    def __hash__(self) -> int:
        return hash((self.node, self.table, self.grid))

    def __repr__(self) -> str:
        return f"Profile.{self.source()}"


def _checked_grid(grid: int) -> int:
    if not isinstance(grid, int) or isinstance(grid, bool) or not 1 <= grid <= 1 << 20:
        raise ECMError(f"grid = {grid!r} must be an integer q from 1 to {1 << 20}")
    return grid


def _exact_value(value: Any, k: int) -> Fraction:
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, float | np.floating):
            return Fraction(repr(float(value)))
        if isinstance(value, Decimal):
            value = str(value)
        if isinstance(value, str) and (len(value) > 2 * MAX_DIGITS + 2 or _LONG_EXPONENT.search(value)):
            raise ValueError
        number = Fraction(int(value) if isinstance(value, np.integer) else value)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise ExpressionError(
            f"value {str(value)[:40]!r} at k = {k} is no exact number; give ints, Fractions or decimals"
        ) from None
    if Num(number).bits > MAX_BITS:
        raise ExpressionError(f"the value at k = {k} has more than {MAX_DIGITS} digits; round it down to fewer")
    return number


def _combined(how: str, parts: list[Profile], build: Callable[[list[Node]], Node]) -> Profile:
    """A profile built from proven ones by an operation that keeps g(0) = 0, growth and concavity."""
    grids = [part.grid for part in parts if part.grid is not None]
    grid = gcd(*grids) if grids else None
    if all(part.node is not None for part in parts):
        node = readable(build([part.node for part in parts if part.node is not None]))
        return Profile(node, None, grid, prove_combination(how, evaluate(node, Fraction(1)), node.text()))
    assert grid is not None
    values = list[Fraction]()
    for k in range(grid + 1):
        value = build([part.constant(k, grid) for part in parts])
        value = readable(evaluate(value, Fraction(0)))
        if not isinstance(value, Num):
            raise Undecided(f"g({k}/{grid}) = {value.text()} is irrational; a table combines only with rational values")
        values.append(value.value)
    return Profile(None, tuple(values), grid, prove_combination(how, Num(values[-1]), "the table"))


def _monomial(node: Node) -> tuple[Fraction, int, int] | None:
    """(c, a, b) if the formula is c * z**(a/b) with a rational c."""
    c, rest = coefficient(node)
    if len(rest) > 1:
        return None
    if not rest:
        return (Fraction(0), 1, 1) if not c else None
    if isinstance(rest[0], Var):
        return c, 1, 1
    if isinstance(rest[0], Pow) and isinstance(rest[0].base, Var) and isinstance(rest[0].exponent, Num):
        e = rest[0].exponent.value
        if e.denominator <= 12:
            return c, e.numerator, e.denominator
    return None


def _monomial_floors(c: Fraction, a: int, b: int, scale: int, q: int) -> Ints:
    """floor((scale c)**b k**a / q**a)**(1/b)) in integers."""
    top, bottom = (scale * c.numerator) ** b, c.denominator**b * q**a
    if b == 1:
        return np.array([top * k**a // bottom for k in range(q + 1)], dtype=np.int64)
    return np.array([int(fmpz(top * k**a // bottom).root(b)) for k in range(q + 1)], dtype=np.int64)


def _floors(node: Node, scale: int, q: int) -> Ints:
    out = np.zeros(q + 1, dtype=np.int64)
    open_points = list(range(q + 1))
    for bits in PRECISIONS:
        left = []
        with precision(bits + scale.bit_length()):
            for k in open_points:
                try:
                    whole = (point_ball(node, Fraction(k, q)) * scale).floor().unique_fmpz()
                except (Undecided, ExpressionError):
                    whole = None
                if whole is None:
                    left.append(k)
                else:
                    out[k] = int(whole)
        if bits == PRECISIONS[0]:
            left = [k for k in left if not _settle(node, scale, q, k, out)]
        open_points = left
        if not left:
            return out
    for k in open_points:  # next to an integer, yet no proof of a tie: the lower integer is sound
        with precision(PRECISIONS[-1] + scale.bit_length()):
            out[k] = _lower_integer(node, Fraction(k, q), scale)
    return out


def _lower_integer(node: Node, x: Fraction, scale: int) -> int:
    """An integer <= scale * g(x); g is not negative, so 0 is always one."""
    try:
        whole = (point_ball(node, x) * scale).lower().floor().unique_fmpz()
    except (Undecided, ExpressionError):
        return 0
    return 0 if whole is None else max(0, int(whole))


def _settle(node: Node, scale: int, q: int, k: int, out: Ints) -> bool:
    """Whether scale * g(k/q) is shown to be the integer its ball holds."""
    try:
        value = evaluate(node, Fraction(k, q)) * scale
    except (Undecided, ExpressionError):
        return False
    if isinstance(value, Num):
        out[k] = value.value.numerator // value.value.denominator
        return True
    with precision(PRECISIONS[1]):
        nearest = (value.ball(arb(0)) + arb(fmpq(1, 2))).floor().unique_fmpz()
    if nearest is None or not is_zero(value - int(nearest)):
        return False
    out[k] = int(nearest)
    return True
