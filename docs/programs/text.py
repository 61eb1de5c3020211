"""Numbers and tables as the page of results shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import jinja2

from zoo.certification import Accuracy


def rendered(name: str, facts: Mapping[str, Any]) -> str:
    """A page: the template of that name beside this file, with these facts."""
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return template.from_string((Path(__file__).parent / name).read_text()).render(facts).rstrip() + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table."""
    first, *rest = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([first, "|---" * len(head) + "|", *rest])


def percent(share: float) -> str:
    """A share in percent, to a tenth."""
    return f"{100 * share:.1f}"


def with_interval(accuracy: Accuracy) -> str:
    """In percent, with its 95% interval beside it."""
    low, high = accuracy.interval()
    return f"{percent(accuracy.share)} <small>{100 * low:.0f}–{100 * high:.0f}</small>"


def difference(value: float, interval: tuple[float, float]) -> str:
    """Of two shares, in points."""
    return f"{100 * value:+.1f} <small>{span(interval)}</small>"


def span(interval: tuple[float, float]) -> str:
    """An interval of a difference, in points."""
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"


def plain(radius: Fraction) -> str:
    """A radius as a decimal number."""
    return f"{float(radius):g}"


def listed(words: Iterable[str]) -> str:
    """As English does it: a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
