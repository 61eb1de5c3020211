"""The names a formula may use, and what to write instead of what people try."""

from __future__ import annotations

import re
from difflib import get_close_matches

FUNCTION_NAMES = ("sqrt", "cbrt", "exp", "expm1", "log", "log1p", "sin", "tanh", "atan", "asinh", "sign", "Abs")
NAMES = ("z", "pi", "E", *FUNCTION_NAMES, "Min", "Max", "Piecewise")
ALLOWED = f"numbers, z, + - * / **, parentheses, {' '.join(NAMES[1:])} and the comparisons < <= > >="

_OTHER_NAMES = {
    **{"ln": "log(...)", "log2": "log(...)/log(2)", "log10": "log(...)/log(10)", "pow": "a**b for pow(a, b)"},
    **{"cos": "sin(... + pi/2)", "sinh": "(exp(x) - exp(-x))/2", "cosh": "(exp(x) + exp(-x))/2"},
}
_FOREIGN = re.compile(r"[^A-Za-z0-9_ .,+\-*/()<>=&]", re.ASCII)
_ASSIGNS = re.compile(r"[^<>=]=[^=]")
_WRITE = {
    **{"^": "** for a power", "²": "**2", "³": "**3", "½": "(1/2)", "√": "sqrt(...)", "π": "pi", "|": "Abs(...)"},
    **{"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "∧": "and"},
    **{"[": "(...)", "{": "(...)", ":": "Piecewise((formula, condition), ...) for cases"},
}


def foreign_character(text: str) -> tuple[int, str] | None:
    """Return the place of the first character that no formula has, and a hint what to write instead."""
    found = _FOREIGN.search(text)
    if not found:
        return None
    cure = _WRITE.get(found.group())
    return found.start(), f"; write {cure} instead" if cure else ""


def how_to_write(text: str) -> str:
    """Return what to write where Python's parser gave up, if a common habit explains it."""
    if _ASSIGNS.search(text):
        return "; write only the formula, without g(z) ="
    if re.search(r"[\d)]\s*[A-Za-z(]|[A-Za-z)]\s+[A-Za-z\d(]", text):
        return "; a product is written with *, as in 2*z, and a function with parentheses, as in sqrt(z)"
    return ""


def suggestion(name: str) -> str:
    """Return the name that was probably meant."""
    if name in _OTHER_NAMES:
        return f" (write {_OTHER_NAMES[name]})"
    close = [known for known in NAMES if known.lower() == name.lower()] or get_close_matches(name, NAMES, 1, 0.6)
    return f" (did you mean {close[0]}?)" if close else ""
