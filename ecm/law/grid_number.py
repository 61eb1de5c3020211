"""Exact numbers that are integer combinations of the values g(k/q)."""

from __future__ import annotations

from fractions import Fraction

import attrs
import flint

from ecm.metric import Profile

PRECISION = 160  # bits; a probability loses log2(4 q^2) bits to cancellation, 34 of them at q = 65535
_MOST_BITS = 2560


@attrs.frozen(repr=False)
class GridNumber:
    """The exact number `constant + sum of coefficient * g(k/q)` for the (k, coefficient) in `terms`, k ascending.

    Two such numbers with equal terms are equal whatever g is, so identities between probabilities are decided by
    integers, for transcendental g as well. g(0) = 0 is built in.

    >>> number = GridNumber(Profile.from_expr("sqrt(z)"), q=4, constant=0, terms=((1, 2), (2, -1)))
    >>> number
    GridNumber('2*g(1/4) - g(2/4)')
    >>> float(number)
    0.29289321881345...
    """

    profile: Profile
    q: int
    constant: int
    terms: tuple[tuple[int, int], ...]

    @property
    def fraction(self) -> Fraction | None:
        """The value as a fraction where g is a table of rationals; None where g is a formula."""
        total = Fraction(self.constant)
        for k, c in self.terms:
            number = self.profile.number(k, self.q)
            if not isinstance(number, Fraction):
                return None
            total += c * number
        return total

    def ball(self) -> flint.arb:
        """Return an enclosure of the value at the working precision `flint.ctx.prec`."""
        return sum((c * self.profile.ball(k, self.q) for k, c in self.terms), start=flint.arb(self.constant))

    def __float__(self) -> float:
        exact = self.fraction
        if exact is not None:
            return float(exact)
        precision = PRECISION
        while True:
            with flint.ctx.workprec(precision):
                ball = self.ball()
            if ball.rel_accuracy_bits() >= 60 or precision >= _MOST_BITS:
                return 0.0 if ball.contains(0) else float(ball.mid())
            precision *= 4

    def __str__(self) -> str:
        parts = [(c, "" if abs(c) == 1 else f"{abs(c)}*", f"g({k}/{self.q})") for k, c in self.terms]
        if self.constant or not parts:
            parts.insert(0, (self.constant, f"{abs(self.constant)}", ""))
        first, *rest = parts
        text = f"{'-' if first[0] < 0 else ''}{first[1]}{first[2]}"
        return text + "".join(f" {'-' if c < 0 else '+'} {size}{name}" for c, size, name in rest)

    def __repr__(self) -> str:
        return f"GridNumber({str(self)!r})"
