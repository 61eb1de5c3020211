"""Continuity at a root that is known only as such: shown by multiples of what vanishes there, or not shown."""

from __future__ import annotations

import pytest

from ecm.errors import NotAnECM, Undecided
from ecm.formula import precision, read
from ecm.proof.continuity import continuous_at
from ecm.proof.deadline import Deadline
from ecm.proof.interval import prove
from ecm.proof.pieces import Piece, Point, signs

SMALL = "Piecewise((z/9, z<1/5), (1/45, True))"
LARGE = "Piecewise((z/9, z<3/4), (1/12, True))"


@pytest.mark.parametrize(
    "text",
    [
        "Piecewise((sin(z), sin(z)<1/3), (1/3, True))",
        "Piecewise((sin(z), sin(z)<=1/3), (1/3, True))",
        "Piecewise((sin(z), 2*sin(z)<2/3), (1/3, True))",
        "Piecewise((1/3, sin(z)>1/3), (sin(z), True))",
        f"Piecewise((sin(z), sin(z)<1/3), (1/3, True))+{SMALL}",
        f"Piecewise((sin(z), sin(z)<1/3), (1/3, True))+{LARGE}",
        f"Piecewise((sin(z), sin(z)<=1/3), (1/3, True))+{SMALL}+{LARGE}",
    ],
)
def test_pieces_that_meet_at_a_root_are_continuous(text: str) -> None:
    """Their difference is a multiple of what vanishes there; other switches are decided by balls."""
    assert prove(read(text), 10)


@pytest.mark.parametrize(
    "text",
    [
        "Piecewise((sin(z), sin(z)<1/3), (1/3-1e-60, True))",
        "Piecewise((sin(z), sin(z)<1/3), (1/3+1e-60, True))",
        "Piecewise((sin(z), sin(z)<1/3), (1/2, sin(z)<=1/3), (1/3, True))",
        "Piecewise((sin(z), sin(z)<1/3), (0, sin(z)<=1/3), (1/3, True))",
        "Piecewise((sin(z), sin(z)<1/3), (1/3+1e-60, sin(z)<=1/3), (1/3, True))",
        "Piecewise((sin(z), sin(z)<1/3), (1/3+1e-60, sin(z)<=1/3), (sin(z), True))",
        "sin(z)+1e-60*sign(sin(z)-1/3)+1e-60",
        "sin(z)-1e-60*sign(Abs(sin(z)-1/3))+1e-60*sign(z)",
    ],
)
def test_a_jump_at_a_root_is_not_accepted(text: str) -> None:
    """Of the two sides, or of the value between them."""
    with pytest.raises((NotAnECM, Undecided)):
        prove(read(text), 10)


def test_what_is_open_is_not_shown() -> None:
    """A comparison that balls leave open, another value at the root, or a point that is no root."""
    with precision(128):
        parts = signs(read("sin(z)-1/3").expr, Point.of(0), Point.of(1), Deadline(10))
        root = next(right for _, right, _ in parts if right.root is not None)
        left, right = (Piece(Point.of(0), root, read(text).expr) for text in ("sin(z)", "1/3"))
        assert continuous_at(read("Piecewise((sin(z), sin(z)<1/3), (1/3, True))").expr, left, right)
        assert not continuous_at(read("Piecewise((sin(z), sin(z)**2<1/9), (1/3, True))").expr, left, right)
        between = "Piecewise((sin(z), sin(z)<1/3), (1/2, sin(z)<=1/3), (1/3, True))"
        assert not continuous_at(read(between).expr, left, right)
        exact = Piece(Point.of(0), Point.of(read("sqrt(2)/2").expr), left.expr)
        assert not continuous_at(read("sin(z)").expr, exact, exact)
