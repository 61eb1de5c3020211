"""How a radius and an image are shown to people, in the report and in the lab."""

from __future__ import annotations

import base64
import decimal
import io
import math
import re
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray


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
