"""How a radius, a formula, a figure and an image are shown to people, in the report and in the lab."""

from __future__ import annotations

import base64
import decimal
import io
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from zoo.certification import INK, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONG = 100
"""Formulas with more characters than this are shortened."""


def down(radius: float, digits: int = 4) -> str:
    """Return a radius in so many digits, rounded down: what is printed is certified.

    >>> down(0.29999), down(0.0000610399), down(12345.0), down(float("nan")), down(float("inf"))
    ('0.2999', '0.00006103', '12340', 'no certificate', 'no limit')
    """
    if not math.isfinite(radius):
        return "no certificate" if math.isnan(radius) else "no limit"
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_DOWN)
    return f"{context.create_decimal_from_float(radius).normalize(context):f}"


def pretty(text: object) -> Markup:
    """Return text escaped for HTML, with l_p as one writes it.

    >>> str(pretty("l_1/2 radius"))
    'ℓ<sub>1/2</sub> radius'
    """
    return Markup(re.sub(r"\bl_(\d+(?:/\d+)?)", r"ℓ<sub>\1</sub>", str(escape(text))))


def png_address(levels: NDArray[Any], q: int) -> str:
    """Return levels 0..q, (C, H, W) with C = 1 or 3, as a PNG in a data address.

    >>> png_address(np.zeros((1, 2, 2), np.uint8), 255)[:22]
    'data:image/png;base64,'
    """
    from PIL import Image

    pixels = np.rint(levels.astype(np.float64) * (255 / q)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def svg_address(figure: Figure, *, tight: bool = False) -> str:
    """Return a figure as an SVG in a data address."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg(figure, tight=tight).encode()).decode()


def pictures(draw: Callable[[bool], Figure]) -> dict[str, str]:
    """Return the figure for a wide page and for a phone; `draw(narrow)` makes it."""
    return {"src": svg_address(draw(False)), "narrow": svg_address(draw(True))}


def formula(latex: str) -> str | None:
    """Return the formula drawn as SVG in a data address; None if it needs more LaTeX than matplotlib's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.1, 0.1), facecolor="none")
    figure.text(0, 0, f"${latex}$", fontsize=16, color=INK)
    try:
        return svg_address(figure, tight=True)
    except ValueError:
        return None


def short(text: object) -> str:
    """Return a formula as it is where it is short, and a long table by its length.

    >>> short("z**0.5/18"), short(list(range(50)))
    ('z**0.5/18', 'a table of 50 values')
    """
    words = str(text)
    if len(words) <= _LONG:
        return words
    return f"a table of {words.count(',') + 1} values" if words.startswith("[") else f"{words[:_LONG]}…"
