"""A griffe extension for the API pages: doctests are shown as code, stars as stars, fields with their defaults."""

from __future__ import annotations

import re
from typing import Any

import griffe

_CODE = re.compile(r"(`[^`]*`)")
_STARS = re.compile(r"(?<=[\w)])\*+(?=[\w(])")


def plain(line: str) -> str:
    """The line with the stars of products and powers escaped, so that Markdown does not take them as emphasis.

    >>> print(plain("*Always* c*z and z**p, as in `2*z`"))
    *Always* c\\*z and z\\*\\*p, as in `2*z`
    """
    parts = _CODE.split(line)
    return "".join(part if k % 2 else _STARS.sub(lambda m: "\\*" * len(m[0]), part) for k, part in enumerate(parts))


def fenced(text: str) -> str:
    """The text with every run of doctest lines (up to an empty line) in a fence, and the prose with plain stars.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
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
        lines.append(line if inside or line.startswith("    ") else plain(line))
    return "\n".join([*lines, "```"] if inside else lines)


def default(value: Any) -> Any:
    """What a field is if nothing is given: the `default` of an `attrs.field(...)`, any other value itself."""
    if not isinstance(value, griffe.ExprCall) or str(value.function) != "attrs.field":
        return value
    given = [argument for argument in value.arguments if isinstance(argument, griffe.ExprKeyword)]
    return next((argument.value for argument in given if argument.name == "default"), None)


_NAMED = re.compile(r"`([A-Za-z_]\w*)(?:=[^`]*)?`")
_SENTENCE = re.compile(r"(?<=[.;:])\s+(?=[A-Z`])")


def parameter_list(text: str, names: list[str]) -> str:
    """An `Args:` section for the parameters that the prose explains: each with the first sentence that names it.

    >>> print(parameter_list("Adds.\\n\\n`a` is first. Then `b` follows.", ["a", "b", "c"]))
    Args:
        a: `a` is first.
        b: Then `b` follows.
    """
    prose = " ".join(line.strip() for line in text.partition(">>>")[0].splitlines())
    sentences = _SENTENCE.split(prose)
    lines = []
    for name in names:
        found = next((one.strip() for one in sentences if name in _NAMED.findall(one)), None)
        if found:
            lines.append(f"    {name}: {found}")
    return "\n".join(["Args:", *lines]) if lines else ""


class Readable(griffe.Extension):
    """Rewrites objects as they are collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for every object it has read."""
        if obj.docstring is not None:
            listed = ""
            if isinstance(obj, griffe.Function):
                names = [parameter.name for parameter in obj.parameters if parameter.name not in ("self", "cls")]
                listed = parameter_list(obj.docstring.value, names)
            obj.docstring.value = fenced(obj.docstring.value) + (f"\n\n{listed}" if listed else "")
        if isinstance(obj, griffe.Attribute):
            obj.value = default(obj.value)
            obj.labels -= {"class-attribute", "instance-attribute"}
