"""Numbers as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Aim(NamedTuple):
    """What was wanted, what was reached, and whether that is enough."""

    wanted: str
    reached: str
    met: bool


def joined(*pieces: str) -> str:
    """Paragraphs and tables of a page; a paragraph may be broken into lines anywhere."""
    return "\n\n".join(piece if piece.startswith("|") else " ".join(piece.split()) for piece in pieces)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


def duration(seconds: float) -> str:
    """In the unit that suits.

    >>> duration(0.0274), duration(3.2e-05), duration(12.34)
    ('27.4 ms', '32 µs', '12.3 s')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{short(seconds / scale)} {unit}"
    return f"{short(seconds / 1e-6)} µs"


def short(value: float) -> str:
    """Three digits, without a power of ten.

    >>> short(0.01234), short(5.0), short(1234.5)
    ('0.0123', '5', '1234')
    """
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(ratio: Mapping[str, float]) -> str:
    """A ratio with its quartiles."""
    return f"{short(ratio['median'])} ({short(ratio['low'])}–{short(ratio['high'])})"


def percent(share: float) -> str:
    """A share as a percentage of three digits at most."""
    if 0 < share < 1e-4:
        return "< 0.01%"
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.2g}%"
