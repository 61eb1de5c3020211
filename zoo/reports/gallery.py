"""Images of a run with their certified radii, and what the network sees of one: the pictures of the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from zoo.certification import METHOD_NAMES, Certification, Row, certified_data
from zoo.data import Dataset, Table
from zoo.errors import DataError
from zoo.reports.display import down, png_address

_MOST, _DIGITS = 24, 6


def images_of(about: dict[str, Any], data: Any, root: str | os.PathLike[str] | None) -> Dataset | str:
    """Return the data set whose test images were certified, or why it cannot be shown."""
    try:
        loaded = certified_data(about, data, root)
    except DataError as error:
        if data is not None:
            raise
        said = str(error).replace(str(Path.home()), "~")  # a page is handed on: it names nobody's folders
        return f"The {'rows' if 'table' in about['card']['data'] else 'images'} are not shown: {said}"
    if isinstance(loaded, Table):
        return loaded
    if len(loaded.shape) != 3 or loaded.shape[0] not in (1, 3):
        return f"Inputs of shape {loaded.shape} are not pictures."
    return loaded


def gallery(found: Certification, images: Dataset | str) -> dict[str, Any]:
    """Return images of the run with their radii, and what the network sees of one; nothing without pictures."""
    if isinstance(images, str | Table):
        return {"gallery": [], "gallery_head": [], "gallery_rows": [], "seen": [], "seen_idx": None}
    rows = chosen_rows(found)
    names = images.class_names
    items, table = [], []
    for row, levels in zip(rows, images.test.take([row.idx for row in rows]).cpu().numpy(), strict=True):
        radius = found.radius_of(row)
        text = names[row.label] if row.correct else f"{names[row.label]}, taken for {names[row.predict]}"
        shown = down(radius, 3)
        items.append(
            {
                "src": png_address(levels, images.q),
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
    head = ["image", "class", "predicted", "right votes (%)", "unsure", *(METHOD_NAMES[m] for m in found.methods)]
    middle = rows[len(rows) // 2]
    return {
        "gallery": items,
        "gallery_head": head,
        "gallery_rows": table,
        "seen": _seen(found, images, middle),
        "seen_idx": middle.idx,
    }


def chosen_rows(found: Certification, count: int = _MOST) -> list[Row]:
    """Return rows evenly spaced by radius, smallest first (those without a certificate before all)."""
    ranked = sorted(found.rows, key=lambda row: (np.nan_to_num(found.radius_of(row), nan=-1.0), row.idx))
    places = np.unique(np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int))
    return [ranked[k] for k in places]


def _seen(found: Certification, images: Dataset, row: Row) -> list[dict[str, Any]]:
    import torch

    from smoothing import Noise

    scheme, levels = found.scheme, images.test.take([row.idx]).cpu()
    original = (png_address(levels[0].numpy(), images.q), f"Test image {row.idx} as it is")
    items: list[dict[str, Any]] = [{"pictures": [original], "text": "as it is"}]
    samples = torch.linspace(0, scheme.samples - 1, 4).round().long()
    lower, upper = Noise(scheme).bounds(levels, samples)
    for k, t in enumerate(samples.tolist()):
        pair = [
            (
                png_address(ends[0, k].reshape(scheme.shape).cpu().numpy(), 2 * images.q),
                f"Sample {t}: {name} ends of the bins of test image {row.idx}",
            )
            for name, ends in (("lower", lower), ("upper", upper))
        ]
        items.append({"pictures": pair, "text": f"sample {t}: lower, upper"})
    return items


def cut(radius: float) -> float:
    """Return a radius in few digits, rounded down; no certificate is -1, no limit is 1e300.

    >>> cut(0.123456789), cut(float("nan")), cut(float("inf"))
    (0.123456, -1.0, 1e+300)
    """
    return -1.0 if np.isnan(radius) else 1e300 if np.isinf(radius) else float(down(radius, _DIGITS))
