"""Random formulas through the whole proof: `python -m benchmarks.fuzz [number] [seed] [seconds]`.

Each formula is read and proven under a time limit. What is accepted is checked at random rational points by mpmath and
Python's own evaluator, which share no code with the library; what is rejected is checked at its witness. The run ends
with exit code 1 if a verdict is wrong, an exception is not the library's own, or a verdict takes longer than allowed.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import mpmath

from ecm import ECMError, ExpressionError, NotAnECM, Profile, Undecided
from tests.ecm.independent import value

LIMIT = 2.0
"""Seconds for one proof; what takes twice as long of processor time counts as a failure."""
_DIGITS = 120
_LEAVES = (
    "z",
    "z",
    "1",
    "2",
    "1/2",
    "1/3",
    "0.1",
    "5",
    "pi",
    "1e-9",
    "(1-z)",
    "sqrt(z)",
    "z**0.3",
    "1e-30",
    "E",
    "7/9",
)
_FUNCTIONS = ("exp", "expm1", "log", "log1p", "sin", "tanh", "atan", "asinh", "sign", "Abs", "sqrt", "cbrt")
_SHAPES = (
    *("({} + {})", "({} - {})", "({})*({})", "({})/({})", "Min({}, {})", "Max({}, {})", "({})*{}/3 + {}/2"),
    *("({})**2", "({})**3", "({})**-1", "({})**0.5", "({})**(1/3)", "({})**-0.5", "2**(-({}))", "({})**pi"),
    *(f"{name}({{}})" for name in _FUNCTIONS),
    *("Piecewise(({}, {} < 1/3), ({}, True))", "Piecewise((0, z <= 0), ({}, {} < z), ({}, True))"),
)
_CONCAVE = (
    "sqrt({})",
    "log1p({})",
    "tanh({})",
    "atan({})",
    "1-exp(-({}))",
    "({})**0.7",
    "asinh({})",
    "({0})/(1+({0}))",
)
_BASES = (
    "z",
    "sqrt(z)",
    "z**(1/3)",
    "log1p(3*z)",
    "1-exp(-2*z)",
    "tanh(2*z)",
    "2*z-z**2",
    "Min(3*z,1)",
    "sign(z)",
    "z**1.01",
)
_NOISE = "z+!#^%$,.()[]{}<>=&|'\"\\0123456789eE*/-  sqrtlogexpMinPiecewise\t\n²√"


def formula(rng: random.Random) -> str:
    """One text: any formula of the grammar, one that is nearly a metric, or bytes."""
    kind = rng.random()
    if kind < 0.05:
        return "".join(rng.choice(_NOISE) for _ in range(rng.randrange(30)))
    if kind < 0.07:
        return rng.randbytes(rng.randrange(40)).decode(rng.choice(("latin-1", "utf-16", "utf-8")), "replace")
    if kind < 0.5:
        text = _tree(rng, rng.choice((1, 2, 2, 3, 3)))
        return f"({text})*z/20" if rng.random() < 0.5 else text
    text = f"({_concave(rng, rng.choice((0, 1, 1, 2)))})/{rng.choice((1, 2, 5, 18))}"
    return _damaged(text, rng) if kind < 0.6 else text


def _damaged(text: str, rng: random.Random) -> str:
    """The text with a few wrong, missing, doubled or moved characters."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        first, last = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        place = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                text = text[:place] + rng.choice(_NOISE) + text[place + rng.randrange(2) :]
            case 1:
                text = text[:place] + chr(rng.randrange(0x250)) + text[place + 1 :]
            case 2:
                text = text[:first] + text[last:]
            case _:
                text = text[:place] + text[first:last] + text[place:]
    return text


def _tree(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(_LEAVES)
    return rng.choice(_SHAPES).format(*(_tree(rng, depth - 1) for _ in range(3)))


def _concave(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(_BASES)
    kind = rng.random()
    if kind < 0.4:
        small = rng.choice(("1/2", "0.1", "1e-3", "1e-9", "-1e-3", "-0.05"))
        return f"({_concave(rng, depth - 1)})/{rng.choice((2, 3, 'pi'))}+({_concave(rng, depth - 1)})*{small}"
    if kind < 0.55:
        return f"Min({_concave(rng, depth - 1)},{_concave(rng, depth - 1)})"
    if kind < 0.6:
        return f"Max({_concave(rng, depth - 1)},{_concave(rng, depth - 1)})"
    if kind < 0.7:
        place = rng.choice(("0.1", "1/4", "1/pi"))
        return f"Piecewise(({_concave(rng, depth - 1)},z<{place}),({_concave(rng, depth - 1)},True))"
    return rng.choice(_CONCAVE).format(_concave(rng, depth - 1))


def holds(text: str, rng: random.Random) -> bool:
    """Whether the conditions hold at random points, as far as 120 digits show."""
    places = {Fraction(rng.randrange(10**6), 10**6) / 2 ** rng.choice((0, 0, 3, 20)) for _ in range(12)}
    x = sorted({Fraction(0), Fraction(1), Fraction(1, 3), *places})
    with mpmath.workdps(_DIGITS):
        slack = mpmath.mpf(10) ** -40
        g = [value(text, place) for place in x]
        widths = [mpmath.mpf((v - u).numerator) / (v - u).denominator for u, v in pairwise(x)]
        slopes = [(b - a) / width for (a, b), width in zip(pairwise(g), widths, strict=True)]
        rising = all(a <= b + slack for a, b in pairwise(g))
        bending = all(a >= b - slack * (1 + abs(a)) * 10**12 for a, b in pairwise(slopes))
        return bool(abs(g[0]) <= slack and g[-1] <= 1 + slack and rising and bending)


def fails(text: str, error: NotAnECM) -> bool:
    """Whether mpmath sees the violation at the witness."""
    x = error.witness.points
    with mpmath.workdps(800):
        try:
            g = [value(text, place) for place in x]
        except (ValueError, ZeroDivisionError, ArithmeticError, TypeError, StopIteration):
            return error.condition.startswith("real")
        match error.condition:
            case "concave":
                before, after = x[1] - x[0], x[2] - x[1]
                rise = (g[1] - g[0]) * after.numerator / after.denominator
                return bool(rise < (g[2] - g[1]) * before.numerator / before.denominator)
            case "increasing":
                return bool(g[0] > g[1])
            case "g <= 1":
                return bool(g[0] > 1)
            case "g(0) = 0":
                return bool(g[0] != 0)
        return not all(isinstance(v, mpmath.mpf) and mpmath.isfinite(v) for v in g)


def main(number: int = 100_000, seed: int = 0, seconds: float = float("inf")) -> int:
    """Runs `number` formulas, or as many as fit into `seconds`; prints the counts and every failure."""
    rng, counts, wrong, slowest = random.Random(seed), Counter[str](), list[str](), (0.0, "")
    end = time.monotonic() + seconds
    times = list[float]()
    for _ in range(number):
        if time.monotonic() > end:
            break
        text = formula(rng)
        began = time.process_time()
        error: NotAnECM | None = None
        try:
            Profile.from_expr(text, seconds=LIMIT)
            verdict = "accepted"
        except NotAnECM as found:
            verdict, error = "rejected", found
        except Undecided:
            verdict = "undecided"
        except ExpressionError:
            verdict = "refused"
        except ECMError as found:
            verdict = type(found).__name__
        except Exception as found:
            verdict = "crashed"
            wrong.append(f"{text!r}: {type(found).__name__}: {found}")
        spent = time.process_time() - began
        times.append(spent)
        counts[verdict] += 1
        slowest = max(slowest, (spent, text))
        if spent > 2 * LIMIT:
            wrong.append(f"{text!r}: {verdict} after {spent:.1f} s")
        if verdict == "accepted" and not holds(text, rng):
            wrong.append(f"{text!r}: accepted, and refuted by mpmath")
        if error is not None and not fails(text, error):
            wrong.append(f"{text!r}: {error.condition} rejected at {error.witness}, and mpmath sees no violation")
    times.sort()
    print(f"{len(times)} formulas, seed {seed}: {dict(counts)}")
    print(f"median {1000 * times[len(times) // 2]:.1f} ms, slowest {slowest[0]:.2f} s: {slowest[1]}")
    print("\n".join(wrong) or "no wrong verdict, no foreign exception, none over the limit")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*(kind(a) for kind, a in zip((int, int, float), sys.argv[1:], strict=False))))
