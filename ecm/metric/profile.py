"""`Profile`: the scalar g of one component of a metric, proven to be one, with its exact values."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import attrs
import numpy as np
import sympy
from flint import arb
from sympy import Expr

from ecm.arrays import Floats, Ints
from ecm.errors import ECMError, ExpressionError, NotAnECM, Undecided, Undefined, Witness
from ecm.formula import (
    MAX_DIGITS,
    MAX_NUMBER,
    PRECISIONS,
    Z,
    add,
    exact,
    extremum,
    floats,
    fraction,
    multiply,
    point_ball,
    precision,
    rational,
    read,
    readable,
    sign,
    text_of,
)
from ecm.metric.floors import floors_of, power_of
from ecm.proof import Deadline, Piece, Proof, pieces_of, prove, prove_combination, prove_on_grid, prove_table

_LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{5}")  # 1e99999 has as many digits when it is written out
_SECONDS_FOR_PIECES = 10.0


class Profile(ABC):
    """g: [0, 1] -> [0, 1] with g(0) = 0, non-decreasing and concave; `proof` says how each of these is known.

    A profile is a formula (`FormulaProfile`), known everywhere or, with `grid` = q, only at k/q; or a table of exact
    rationals at k/q (`TableProfile`). On a grid, only q' that divide q may be asked for.

    >>> p = Profile.from_expr("z**0.5/18")
    >>> p.text, p.floors(18000, 4).tolist()
    ('z**(1/2)/18', [0, 500, 707, 866, 1000])
    >>> p
    Profile.from_expr('z**(1/2)/18')
    """

    expr: Expr
    """g as a sympy expression in z; a table has none."""
    grid: int | None
    proof: Proof

    # ---- declare ---------------------------------------------------------------------------------------------------

    @staticmethod
    def from_expr(text: Any, grid: int | None = None, seconds: float = 10.0) -> FormulaProfile:
        """Return the profile of a formula (text or sympy), proven on [0, 1], or with `grid` = q only at k/q.

        Raises ExpressionError (not a formula), NotAnECM (with a witness) or Undecided (after about `seconds`).
        """
        formula = read(text)
        if grid is None:
            return FormulaProfile(formula.expr, None, prove(formula, seconds))
        return FormulaProfile(formula.expr, _checked_grid(grid), prove_on_grid(formula, grid, seconds))

    @staticmethod
    def from_values(values: Iterable[Any]) -> TableProfile:
        """Return the profile with g(k/q) = values[k], q = len(values) - 1; floats count as the decimals they print as.

        >>> Profile.from_values([0, "0.5", 0.8, 1]).values(3).tolist()
        [0.0, 0.5, 0.8, 1.0]
        """
        if not isinstance(values, Iterable):
            raise ExpressionError(f"a table is a list of g(0), g(1/q), ..., g(1), not {values!r}")
        table = tuple(_exact_value(value, k) for k, value in enumerate(values))
        if len(table) < 2:
            raise ExpressionError("a table needs g(0) and at least one more value")
        return TableProfile(table, prove_table(table))

    @staticmethod
    def from_dict(data: Any) -> Profile:
        """Return the profile of what `to_dict` gave, proven again."""
        match data:
            case {"values": list(values)}:
                return Profile.from_values(values)
            case {"expr": str(text), "grid": (int() | None) as grid}:
                return Profile.from_expr(text, grid=grid)
        raise ExpressionError(f"{str(data)[:80]!r} is no profile; it has 'expr' and 'grid', or 'values'")

    # ---- what a formula and a table answer in their own ways -------------------------------------------------------

    @property
    @abstractmethod
    def text(self) -> str:
        """Canonical text of the formula; of a table, the list of its values."""

    @abstractmethod
    def __call__(self, z: Any) -> Any:
        """Return g(z) in floating point; a table is interpolated linearly."""

    @abstractmethod
    def number(self, k: int, q: int) -> Fraction | arb:
        """Return g(k/q): a fraction for a table, for a formula an enclosure at the present precision of flint."""

    @abstractmethod
    def exact(self, k: int, q: int) -> Expr:
        """Return g(k/q) as an exact sympy constant."""

    @abstractmethod
    def values(self, q: int) -> Floats:
        """Return g(k/q) for k = 0..q as floats, each within an ulp of the truth."""

    @abstractmethod
    def floors(self, scale: int, q: int) -> Ints:
        """Return floor(scale * g(k/q)) for k = 0..q, exactly; a tie that cannot be decided is rounded down.

        >>> Profile.from_expr("log(1+5*z)/log(6)").floors(10, 5).tolist()
        [0, 3, 6, 7, 8, 10]
        """

    @abstractmethod
    def pieces(self) -> tuple[Piece, ...]:
        """Return the maximal smooth pieces of g on (0, 1), each a formula without Min, Max, Abs, sign or Piecewise.

        >>> [str(piece.right) for piece in Profile.from_expr("Min(sqrt(z)/0.5, 1)").pieces()]
        ['1/4', '1']
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data; equal profiles give equal data."""

    @abstractmethod
    def source(self) -> str:
        """Return the call that makes an equal profile (or metric), without the class: from_expr('z/18')."""

    @abstractmethod
    def latex(self) -> str:
        """Return LaTeX of g; a table is shown by its first and last values."""

    # ---- what follows ----------------------------------------------------------------------------------------------

    @property
    def is_zero(self) -> bool:
        """Whether g = 0, a feature that may be changed for free: g(1) = 0 says so, as g is increasing from 0."""
        return sign(self.exact(1, 1)) == 0

    def ball(self, k: int, q: int) -> arb:
        """Return an enclosure of g(k/q) at the present precision of flint."""
        number = self.number(k, q)
        return arb(number.numerator) / number.denominator if isinstance(number, Fraction) else number

    def rational(self, k: int, q: int) -> Fraction | None:
        """Return g(k/q) where it is plainly a rational number, else None."""
        value = self.exact(k, q)
        return fraction(value) if value.is_Rational else None

    def at_least(self, k: int, q: int, value: Fraction | int) -> bool:
        """Return the exact decision of value <= g(k/q)."""
        return sign(self.exact(k, q) - rational(Fraction(value))) >= 0

    def power(self) -> tuple[Fraction, Fraction] | None:
        """Return (p, alpha) if g = z**p/alpha, with p = 0 for g = sign(z)/alpha; None for any other g.

        For alpha < 1, where z**p/alpha exceeds 1, this is g = Min(z**p/alpha, 1). It is at most z**p/alpha, so that
        l_p distances still bound metric distances: sum_i g(|v_i|) <= (||v||_p)**p / alpha.

        >>> Profile.from_expr("sqrt(z)/18").power(), Profile.from_expr("sign(z)/25").power()
        ((Fraction(1, 2), Fraction(18, 1)), (Fraction(0, 1), Fraction(25, 1)))
        >>> Profile.from_expr("Min(2*z, 1)").power()
        (Fraction(1, 1), Fraction(1, 2))
        """
        return None

    def scaled(self, factor: Fraction | int) -> Profile:
        """Return factor * g, for an exact factor >= 0.

        >>> Profile.from_expr("sqrt(z)").scaled(Fraction(1, 18)).text
        'z**(1/2)/18'
        """
        factor = Fraction(factor)
        if factor < 0:
            raise NotAnECM(
                f"{factor} * g is not increasing; a factor must be >= 0", "increasing", Witness((factor,), "factor")
            )
        number = rational(factor)
        return _combined("a non-negative multiple of a proven profile", [self], lambda v: multiply((number, *v)))

    def plus(self, other: Profile) -> Profile:
        """Return the sum of two profiles; it must stay below 1."""
        return _combined("the sum of two proven profiles", [self, other], add)

    def minimum(self, other: Profile) -> Profile:
        """Return the pointwise minimum of two profiles."""
        return _combined("the minimum of two proven profiles", [self, other], lambda v: extremum("Min", v))

    def capped(self) -> Profile:
        """Return Min(g, 1); for functions with values in [0, 1] the same metric."""
        one = sympy.Integer(1)
        return _combined("the minimum of a proven profile and 1", [self], lambda v: extremum("Min", (*v, one)))

    def _check(self, k: int, q: int) -> None:
        """Raises ECMError unless k/q is a point at which g is known."""
        if not isinstance(q, int | np.integer) or q < 1 or not 0 <= k <= q:
            raise ECMError(f"k/q = {k}/{q!r} is not a point of a grid on [0, 1]; q is an integer >= 1")
        if self.grid is not None and self.grid % q:
            raise ECMError(f"this profile is known at k/{self.grid} only; q = {q} does not divide {self.grid}")

    def _check_scale(self, scale: int, q: int) -> None:
        if scale < 0:
            raise ECMError(f"scale = {scale} must not be negative")
        self._check(0, q)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return (type(self), self.text, self.grid) == (type(other), other.text, other.grid)

    def __hash__(self) -> int:
        return hash((type(self), self.text, self.grid))

    def __repr__(self) -> str:
        return f"Profile.{self.source()}"


@attrs.frozen(slots=False, repr=False, eq=False)
class FormulaProfile(Profile):
    """A profile given by a formula: `expr`, one sympy expression in z.

    >>> Profile.from_expr("z**0.5/18").expr
    sqrt(z)/18
    """

    expr: Expr
    grid: int | None
    proof: Proof

    @property
    def text(self) -> str:
        return text_of(self.expr)

    def __call__(self, z: Any) -> Any:
        array = np.asarray(z, dtype=np.float64)
        out = floats(self.expr, np.atleast_1d(array))
        return out.reshape(array.shape) if array.ndim else float(out[0])

    def number(self, k: int, q: int) -> arb:
        self._check(k, q)
        found: arb = point_ball(self.expr, Fraction(k, q))
        return found

    def exact(self, k: int, q: int) -> Expr:
        self._check(k, q)
        return exact(self.expr, Fraction(k, q))

    def values(self, q: int) -> Floats:
        self._check(0, q)
        with precision(PRECISIONS[0]):
            return np.array([float(point_ball(self.expr, Fraction(k, q)).mid()) for k in range(q + 1)])

    def floors(self, scale: int, q: int) -> Ints:
        self._check_scale(scale, q)
        return floors_of(self.expr, scale, q)

    def pieces(self) -> tuple[Piece, ...]:
        return self._pieces

    @cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        if self.grid is not None:
            raise Undecided(f"the profile is known at k/{self.grid} only; its smooth pieces are not")
        return pieces_of(self.expr, Deadline(_SECONDS_FOR_PIECES))

    @property
    def jump(self) -> Expr:
        """g(0+), exactly: the weight of Lambda = 0 (0 unless the formula steps at 0)."""
        first = self.pieces()[0].expr
        try:
            return exact(first, Fraction(0))
        except Undefined:  # as in z*(1 - log(z)), which has a limit at 0 and no value
            return sympy.limit(first, Z, 0, "+")

    def power(self) -> tuple[Fraction, Fraction] | None:
        if self.expr.is_zero:
            return None
        expr = self.expr
        if isinstance(expr, sympy.Min) and len(expr.args) == 2 and sympy.S.One in expr.args:  # alpha < 1
            expr = next(part for part in expr.args if part != 1)
        found = power_of(expr)
        if found is not None:
            return found[1], 1 / found[0]
        number, rest = expr.as_coeff_Mul()
        return (Fraction(0), 1 / fraction(number)) if rest == sympy.sign(Z) else None

    def to_dict(self) -> dict[str, Any]:
        return {"expr": self.text, "grid": self.grid}

    def source(self) -> str:
        return f"from_expr({self.text!r}{'' if self.grid is None else f', grid={self.grid}'})"

    def latex(self) -> str:
        return str(sympy.latex(self.expr))


@attrs.frozen(slots=False, repr=False, eq=False)
class TableProfile(Profile):
    """A profile given by exact values at k/q, q = len(table) - 1.

    >>> Profile.from_values([0, "1/2", "3/4"]).table
    (Fraction(0, 1), Fraction(1, 2), Fraction(3, 4))
    """

    table: tuple[Fraction, ...]
    proof: Proof

    @property
    def grid(self) -> int:  # type: ignore[override]
        """q, the number of steps of the table."""
        return len(self.table) - 1

    @property
    def text(self) -> str:
        return "[" + ", ".join(str(value) for value in self.table) + "]"

    @property
    def expr(self) -> Expr:
        raise ECMError("a table of values has no formula; `table` holds the values")

    def __call__(self, z: Any) -> Any:
        array = np.asarray(z, dtype=np.float64)
        out = np.interp(np.atleast_1d(array), np.linspace(0, 1, len(self.table)), [float(v) for v in self.table])
        return out.reshape(array.shape) if array.ndim else float(out[0])

    def number(self, k: int, q: int) -> Fraction:
        self._check(k, q)
        return self.table[k * self.grid // q]

    def exact(self, k: int, q: int) -> Expr:
        return rational(self.number(k, q))

    def values(self, q: int) -> Floats:
        return np.array([float(v) for v in self._entries(q)])

    def floors(self, scale: int, q: int) -> Ints:
        self._check_scale(scale, q)
        return np.array([scale * v.numerator // v.denominator for v in self._entries(q)], dtype=np.int64)

    def _entries(self, q: int) -> tuple[Fraction, ...]:
        self._check(0, q)
        return self.table[:: self.grid // q]

    def pieces(self) -> tuple[Piece, ...]:
        raise Undecided(f"the profile is known at k/{self.grid} only; its smooth pieces are not")

    def to_dict(self) -> dict[str, Any]:
        return {"values": [str(value) for value in self.table]}

    def source(self) -> str:
        return f"from_values({[str(v) for v in self.table]})"

    def latex(self) -> str:
        shown = [str(v) for v in (self.table if len(self.table) <= 6 else (*self.table[:3], *self.table[-2:]))]
        if len(self.table) > 6:
            shown.insert(3, r"\ldots")
        return rf"\left({', '.join(shown)}\right)_{{k/{self.grid}}}"


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
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_NUMBER:
        raise ExpressionError(f"the value at k = {k} has more than {MAX_DIGITS} digits; round it down to fewer")
    return number


def _combined(how: str, parts: list[Profile], build: Callable[[Sequence[Expr]], Expr]) -> Profile:
    """Return a profile built from proven ones by an operation that keeps g(0) = 0, growth and concavity."""
    grids = [part.grid for part in parts if part.grid is not None]
    grid = gcd(*grids) if grids else None
    if all(isinstance(part, FormulaProfile) for part in parts):
        g = read(readable(build([part.expr for part in parts]))).expr
        return FormulaProfile(g, grid, prove_combination(how, exact(g, Fraction(1)), text_of(g)))
    assert grid is not None
    values = list[Fraction]()
    for k in range(grid + 1):
        value = exact(readable(build([part.exact(k, grid) for part in parts])), Fraction(0))
        if not value.is_Rational:
            raise Undecided(
                f"g({k}/{grid}) = {text_of(value)} is irrational; a table combines only with rational values"
            )
        values.append(fraction(value))
    return TableProfile(tuple(values), prove_combination(how, values[-1], "the table"))
