"""A mkdocs hook: indices and powers in the prose, written n_k and (αr)^(1/p), become real ones. Code stays as it is."""

from __future__ import annotations

import re
from typing import Any

_BASE = r"(‖|(?<!\w)(?:[A-Za-zα-ωΔΣℓ]|max|min|split))"
_INDEX = re.compile(_BASE + r"_(\{[^}]+\}|\d/\d|\d+|[A-Za-z](?![\w]))")
_POWER = re.compile(r"(?<=[\w)\]}|‖>])\^(\([^()]*\)|\{[^}]*\}|\w)")
_CODE = re.compile(r"(<(pre|code|style|script)\b.*?</\2>|<[^>]*>)", re.DOTALL)


def typeset(text: str) -> str:
    """
    >>> typeset("n_c - n_k, the l_1/2 radius (ar)^(1/p), a_name and x^2")
    'n<sub>c</sub> - n<sub>k</sub>, the ℓ<sub>1/2</sub> radius (ar)<sup>1/p</sup>, a_name and x<sup>2</sup>'
    """
    text = _INDEX.sub(lambda m: f"{'ℓ' if m[1] == 'l' else m[1]}<sub>{m[2].strip('{}')}</sub>", text)
    return _POWER.sub(lambda m: f"<sup>{m[1].strip('(){}')}</sup>", text)


def on_page_content(html: str, **_: Any) -> str:
    """The page with its formulas set, tags and code left out."""
    parts = _CODE.split(html)  # text, tag or code, name of the code's tag, text, ...
    return "".join(typeset(part) if k % 3 == 0 else part for k, part in enumerate(parts) if k % 3 != 2)
