"""Witnesses: where they are looked for, and what is said about them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from ecm.errors import ExpressionError, NotAnECM, Undecided
from ecm.formula import precision, read
from ecm.proof import witness
from ecm.proof.verdict import open_unless_settled
from ecm.proof.witness import COARSE, SAMPLES, refute, refute_beside, reject_convex, value_at, written


def points(*texts: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, texts))


def test_samples_hold_both_ends_and_come_close_to_them() -> None:
    """All of them lie in [0, 1], in rising order, each once."""
    assert list(SAMPLES) == sorted(set(SAMPLES))
    assert (SAMPLES[0], SAMPLES[-1]) == (0, 1)
    assert {Fraction(k, 32) for k in range(33)} <= set(SAMPLES)
    assert SAMPLES[1] <= Fraction(1, 1 << 40)
    assert 1 - Fraction(1, 1 << 20) <= SAMPLES[-2]
    assert points("0", "1/4", "1/2", "3/4", "1") == COARSE
    refute(read("z").expr, SAMPLES)


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("z", "1/3", "1/3"),
        ("z", f"1/{10**37}", f"1/{10**37}"),
        ("z", f"1/{10**38}", "1.00000000000000e-38"),
        ("sqrt(z)", "1/2", "0.707106781186548"),
        ("sqrt(z)", "1/4", "1/2"),
        ("exp(1e-80*z)-1", "1", "1.00000000000000e-80"),
    ],
)
def test_values_are_written_as_short_fractions_or_in_digits(text: str, at: str, expected: str) -> None:
    """Digits are right however small the number is."""
    assert written(read(text).expr, Fraction(at)) == expected


@pytest.mark.parametrize(
    ("text", "at", "condition", "shown", "words"),
    [
        ("z**2", ("1/4", "1/2", "1"), "concave", ("1/4", "1/2", "1"), "1/16, 1/4, 1, and .* by 0.125$"),
        ("z/2+1e-60*z**2", ("0", "1/4", "1"), "concave", ("0", "1/4", "1"), "by 1.87e-61$"),
        ("Max(z,1/2)", ("0", "1/4", "1/2", "1"), "concave", ("1/4", "1/2", "1"), "1/2, 1/2, 1, and"),
        ("Min(z,1-z)", ("0", "1/4", "1/2", "3/4", "1"), "increasing", ("1/2", "3/4"), r"g\(1/2\) = 1/2 > g\(3/4\) = 1"),
        ("1/4-z/4", ("0", "1/4"), "increasing", ("0", "1/4"), r"g\(0\) = 1/4 > g\(1/4\) = 3/16"),
        ("2*z", ("0", "1/2", "3/4", "1"), "g <= 1", ("1",), r"g\(1\) = 2"),
        ("2*z", ("0", "1/2", "3/4"), "g <= 1", ("3/4",), r"g\(3/4\) = 3/2"),
        ("1/z", ("0", "1"), "real on [0, 1]", ("0",), "not real at z = 0"),
    ],
)
def test_the_first_points_that_break_a_condition_are_named(
    text: str, at: tuple[str, ...], condition: str, shown: tuple[str, ...], words: str
) -> None:
    """A bend before a fall, and a fall before a value above 1, whatever the order of the points that are given."""
    with precision(2048), pytest.raises(NotAnECM, match=words) as caught:
        refute(read(text).expr, points(*at)[::-1])
    assert (caught.value.condition, caught.value.witness.points) == (condition, points(*shown))


def test_a_small_bend_is_written_with_enough_digits() -> None:
    """Whatever the precision is at the time."""
    x, y, w = points("0", "1/4", "1")
    assert str(reject_convex(read("z/2+1e-60*z**2").expr, (x, y, w))).endswith("by 1.87e-61")


def test_values_that_are_open_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """They show nothing; others still do."""
    e, real = read("z**2").expr, witness.point_ball

    def partly(node: object, x: Fraction) -> arb:
        if x == Fraction(1, 2):
            raise ExpressionError("too long")
        return arb.nan() if x == Fraction(1, 4) else real(node, x)  # type: ignore[arg-type]

    monkeypatch.setattr(witness, "point_ball", partly)
    assert value_at(e, Fraction(1, 2)) is None
    assert value_at(e, Fraction(1, 4)) is None
    refute(e, points("1/4", "1/2", "1"))
    refute(e, points("0", "1/4", "1/2", "1"))


def test_a_value_that_is_known_roughly_is_asked_again_with_more_bits() -> None:
    """At 20 bits exp(1e-9 z) - 1 is nothing; asked again it is known."""
    with precision(20):
        found = value_at(read("1e9*(exp(1e-9*z)-1)").expr, Fraction(1))
        assert found is not None
        assert found.rad() < 1e-9
    assert found > 1


@pytest.mark.parametrize(
    ("text", "point", "width", "condition"),
    [
        ("z/2+1e-30*Max(z,1/3)", "1/3", "1/3", "concave"),
        ("z/2+1e-9*Max(0,Abs(z-1/3)-1e-9)", "1/3", "1/3", "concave"),
        ("Min(z,1-1e-15-z/9)", "1", "1", "increasing"),
        ("Min(z,1-1e-15-z/9)*9/10", "9/10", "1/10", "increasing"),
        ("sqrt(z)", "1/3", "1/3", ""),
        ("sin(pi*z/2)", "1", "1", ""),
        ("Min(z, 1/3)", "1/3", "1/3", ""),
    ],
)
def test_a_witness_is_looked_for_ever_closer_to_a_point(text: str, point: str, width: str, condition: str) -> None:
    """Inside [0, 1], and no farther away than the width."""
    if not condition:
        refute_beside(read(text).expr, Fraction(point), Fraction(width))
        return
    with pytest.raises(NotAnECM) as caught:
        refute_beside(read(text).expr, Fraction(point), Fraction(width))
    assert caught.value.condition == condition
    assert all(0 <= x <= 1 and abs(x - Fraction(point)) <= Fraction(width) for x in caught.value.witness.points)


@pytest.mark.parametrize(("error", "reason"), [(ValueError("too far"), "too far"), (ZeroDivisionError(), "ZeroDiv")])
def test_whatever_stops_a_proof_is_given_as_the_reason(error: Exception, reason: str) -> None:
    """In its own words, or by its name if it has none."""
    words = rf"g = z: the condition 'concave' is open \({reason}"
    with pytest.raises(Undecided, match=words), open_unless_settled("concave", read("z").expr):
        raise error
