"""A griffe extension: the doctests of a docstring are shown as code."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with every run of doctest lines (up to an empty line) in a fence.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2").replace("`", "'"))
    Adds.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>>") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


class Doctests(griffe.Extension):
    """Rewrites docstrings as they are collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for every object it has read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
