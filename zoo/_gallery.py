"""Images of a run with their certified radii, and what the network sees of one: the pictures of the report."""

from __future__ import annotations

import base64
import decimal
import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo._certification import Certification, Row
from zoo._curves import METHOD_NAMES
from zoo._data import DATASETS, Dataset, load_data
from zoo._errors import DataError

_MOST, _DIGITS = 24, 6


def images_of(about: dict[str, Any], data: Any, root: str | os.PathLike[str] | None) -> Dataset | str:
    """The data set whose test images were certified, or why it cannot be shown."""
    name = about["data"]["name"]
    if data is None and name not in DATASETS:
        return f"The images of {name!r} are not known by name; pass the data to the report to see them here."
    try:
        loaded = load_data(name if data is None else data, root)
    except DataError as error:
        if data is not None:
            raise
        return f"The images could not be read here: {error}"
    if loaded.test.digest != about["data"]["test_digest"]:
        if data is not None:
            raise DataError(f"{loaded.name}: these are not the test images that were certified (another digest)")
        return f"The {name} found here has other test images than those that were certified."
    if len(loaded.shape) != 3 or loaded.shape[0] not in (1, 3):
        return f"Inputs of shape {loaded.shape} are not pictures."
    return loaded


def gallery(found: Certification, images: Dataset | str) -> dict[str, Any]:
    empty: dict[str, Any] = {"gallery": [], "gallery_head": [], "gallery_rows": [], "seen": [], "seen_text": ""}
    if isinstance(images, str):
        return empty | {"gallery_text": images}
    rows = chosen_rows(found)
    names = images.class_names
    items, table = [], []
    for row, levels in zip(rows, images.test.take([row.idx for row in rows]).cpu().numpy(), strict=True):
        radius = found.radius_of(row)
        text = names[row.label] if row.correct else f"{names[row.label]}, taken for {names[row.predict]}"
        shown = "no certificate" if np.isnan(radius) else "no limit" if np.isinf(radius) else down(radius, 3)
        items.append(
            {
                "src": picture(levels, images.q),
                "alt": f"Test image {row.idx}: {text}; certified radius: {shown}",
                "radius": shown,
                "cut": repr(cut(radius)),
                "text": text,
                "correct": row.correct,
            }
        )
        radii = [down(found.radius_of(row, method)) for method in found.methods]
        share = f"{100 * row.hits / found.scheme.total:.1f}"
        table.append([row.idx, names[row.label], names[row.predict], share, row.unsure, *radii])
    text = (
        f"{len(items)} images, evenly spaced from the smallest to the largest {found.unit.name} (the number below). "
        "A solid frame: predicted right. A dashed frame: wrong, and certified to stay wrong within that radius."
    )
    head = ["image", "class", "predicted", "right votes (%)", "unsure", *(METHOD_NAMES[m] for m in found.methods)]
    middle = rows[len(rows) // 2]
    return {
        "gallery": items,
        "gallery_text": text,
        "gallery_head": head,
        "gallery_rows": table,
        "seen": _seen(found, images, middle),
        "seen_text": f"Test image {middle.idx}, then what is left of it at four of the {found.scheme.samples} samples: "
        "the lower and the upper end of the bin that holds each value. A pixel without a divider is black in the "
        "lower picture and white in the upper one.",
    }


def chosen_rows(found: Certification, count: int = _MOST) -> list[Row]:
    """Rows evenly spaced by radius, smallest first (those without a certificate before all)."""
    ranked = sorted(found.rows, key=lambda row: (np.nan_to_num(found.radius_of(row), nan=-1.0), row.idx))
    places = np.unique(np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int))
    return [ranked[k] for k in places]


def _seen(found: Certification, images: Dataset, row: Row) -> list[dict[str, Any]]:
    import torch

    from smoothing import Noise

    scheme, levels = found.scheme, images.test.take([row.idx]).cpu()
    original = (picture(levels[0].numpy(), images.q), f"Test image {row.idx} as it is")
    items: list[dict[str, Any]] = [{"pictures": [original], "text": "as it is"}]
    samples = torch.linspace(0, scheme.samples - 1, 4).round().long()
    lower, upper = Noise(scheme).bounds(levels, samples)
    for k, t in enumerate(samples.tolist()):
        pair = [
            (
                picture(ends[0, k].reshape(scheme.shape).cpu().numpy(), 2 * images.q),
                f"Sample {t}: {name} ends of the bins of test image {row.idx}",
            )
            for name, ends in (("lower", lower), ("upper", upper))
        ]
        items.append({"pictures": pair, "text": f"sample {t}: lower, upper"})
    return items


def picture(levels: NDArray[Any], q: int) -> str:
    """Levels (C, H, W), C = 1 or 3, as a PNG in a data address."""
    from PIL import Image

    pixels = np.round(levels.astype(np.float64) * (255 / q)).astype(np.uint8)
    out = io.BytesIO()
    (Image.fromarray(pixels[0]) if len(pixels) == 1 else Image.fromarray(np.moveaxis(pixels, 0, -1))).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def down(radius: float, digits: int = 4) -> str:
    """A radius in so many digits, rounded down: what is printed is certified.

    >>> down(0.29999), down(float("nan"))
    ('0.2999', 'nan')
    """
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_DOWN)
    return f"{float(context.create_decimal_from_float(radius)):.{digits}g}"


def cut(radius: float) -> float:
    """A radius in few digits, rounded down; no certificate is -1, no limit is 1e300.

    >>> cut(0.123456789), cut(float("nan")), cut(float("inf"))
    (0.123456, -1.0, 1e+300)
    """
    return -1.0 if np.isnan(radius) else 1e300 if np.isinf(radius) else float(down(radius, _DIGITS))
