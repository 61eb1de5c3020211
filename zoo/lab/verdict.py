"""Is a formula the g of an ECM, and why: the library's answer as plain data that a page can show."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import attrs
import numpy as np
from flint import arb
from sympy import Expr

from ecm import ECM
from ecm.errors import ECMError, ExpressionError, NotAnECM, Undecided
from ecm.formula import exact, fraction, point_ball, precision, read

Answer = Literal["ecm", "grid", "refused", "unreadable", "undecided"]
Points = tuple[tuple[float, float], ...]

SECONDS = 5.0  # of proof, on [0,1] and then on the levels
_MEANING = {
    "concave": "Where g bends upwards there is no law of Λ: no bins split two values as often as g says.",
    "increasing": "A value farther away would count as nearer.",
    "g <= 1": "g(z) is the probability that two values at distance z fall in different bins, so it is at most 1.",
    "g(0) = 0": "A value would have a distance from itself.",
}


@attrs.frozen
class Verdict:
    """The verdict about a formula; `metric_of` returns the metric of an accepted one.

    "ecm": proven on [0,1]; "grid": proven at the levels k/q, open between them; the other three are no metric.
    """

    formula: str
    answer: Answer
    text: str = ""
    """The formula as the library writes it; empty where it could not be read."""
    conditions: tuple[tuple[str, str, str], ...] = ()
    """(condition, method, detail) of the proof."""
    explanation: str = ""
    """Why it was not accepted, or what is open."""
    meaning: str = ""
    """What the failing condition is good for, and where the triangle inequality fails if it does."""
    position: int | None = None
    """The character at which reading the formula ended."""
    curve: Points = ()
    """(z, g(z)) for a picture, also of a refused formula where it has values."""
    witness: Points = ()
    """(z, g(z)) at the points that refute it."""

    @property
    def accepted(self) -> bool:
        """Whether there is a metric to work with."""
        return self.answer in ("ecm", "grid")


def power_formula(p: float, alpha: float) -> str:
    """Return the formula of z**p/alpha for what two sliders say (taken as decimals), capped at 1 where alpha < 1.

    >>> power_formula(0.5, 18), power_formula(1, 0.5)
    ('z**0.5/18', 'Min(z/0.5, 1)')
    """
    power = "z" if p == 1 else f"z**{p:g}"
    return f"Min({power}/{alpha:g}, 1)" if alpha < 1 else f"{power}/{alpha:g}"


def judge(formula: str, q: int) -> Verdict:
    """Return the verdict on a formula; never raises, whatever is typed.

    >>> judge("z**0.5/18", 255).answer, judge("z**2/3", 255).meaning[-68:]
    ('ecm', 'steps of 1/2 and 1/2 together cost 1/6, but one step of 1 costs 1/3.')
    """
    return _judged(formula.strip(), q)[0]


def metric_of(formula: str, q: int) -> ECM:
    """Return the metric of a formula that was accepted; an ECMError otherwise."""
    verdict, metric = _judged(formula.strip(), q)
    if metric is None:
        raise ECMError(verdict.explanation)
    return metric


@lru_cache(maxsize=256)
def _judged(formula: str, q: int) -> tuple[Verdict, ECM | None]:
    try:
        metric = ECM.from_expr(formula, seconds=SECONDS)
        return _accepted(formula, metric, "ecm", ""), metric
    except ExpressionError as error:
        return Verdict(formula, "unreadable", explanation=error.message, position=error.position), None
    except NotAnECM as error:
        return _refused(formula, error), None
    except Undecided as error:
        open_on_the_interval = str(error)
    except (ECMError, ArithmeticError, RecursionError, MemoryError) as error:
        return Verdict(formula, "unreadable", explanation=str(error) or type(error).__name__), None
    try:
        metric = ECM.from_expr(formula, grid=q, seconds=SECONDS)
        return _accepted(formula, metric, "grid", open_on_the_interval), metric
    except NotAnECM as error:
        return _refused(formula, error), None
    except (ECMError, ArithmeticError, RecursionError, MemoryError):
        return Verdict(formula, "undecided", explanation=open_on_the_interval), None


def _accepted(formula: str, metric: ECM, answer: Answer, remark: str) -> Verdict:
    profile = metric.profile
    if profile.grid is None:
        z = np.linspace(0, 1, 301) ** 2
        z[0] = 0.0
        values = np.asarray(profile(z))
    else:
        z = np.arange(profile.grid + 1) / profile.grid
        values = profile.values(profile.grid)
    curve = tuple(zip(z.tolist(), values.tolist(), strict=True))
    steps = tuple((c.condition, c.method, c.detail) for c in profile.proof.conditions)
    return Verdict(formula, answer, profile.text, steps, remark, curve=curve)


def _refused(formula: str, error: NotAnECM) -> Verdict:
    read_formula = read(formula)
    g = read_formula.expr
    meaning = [_MEANING.get(error.condition, ""), _triangle(g)]
    return Verdict(
        formula,
        "refused",
        read_formula.text,
        explanation=str(error),
        meaning=" ".join(filter(None, meaning)),
        curve=_points(g, [Fraction(k, 100) for k in range(101)]),
        witness=_points(g, error.witness.points),
    )


def _points(g: Expr, places: Iterable[Fraction]) -> Points:
    """Return (z, g(z)) where g has a finite value."""
    found = []
    for z in places:
        try:
            value = float(point_ball(g, z).mid())
        except (ECMError, ArithmeticError):
            continue
        if np.isfinite(value):
            found.append((float(z), value))
    return tuple(found)


def _triangle(node: Expr) -> str:
    """Return two moves that cost less than one as long as both together, where balls show that there are such."""
    z = [Fraction(k, 16) for k in range(17)]
    try:
        with precision(128):
            g = [point_ball(node, place) for place in z]
            excess = {
                (a, b): float((g[a + b] - g[a] - g[b]).mid())
                for a in range(1, 9)
                for b in range(a, 17 - a)
                if g[a + b] > g[a] + g[b] and g[a] >= 0 and g[b] >= 0
            }
            if not excess:
                return ""
            a, b = max(excess, key=lambda pair: excess[pair])
            apart, whole = _cost(node, z[a], z[b]), _cost(node, z[a + b])
    except (ECMError, ArithmeticError):
        return ""
    return (
        f"The triangle inequality fails: steps of {z[a]} and {z[b]} together cost {apart}, "
        f"but one step of {z[a + b]} costs {whole}."
    )


def _cost(node: Expr, *steps: Fraction) -> str:
    values = [exact(node, z) for z in steps]
    if all(v.is_Rational for v in values):
        total = sum(map(fraction, values), Fraction(0))
        if len(str(total)) <= 12:
            return str(total)
    return str(sum((point_ball(node, z) for z in steps), arb(0)).str(4, radius=False))
