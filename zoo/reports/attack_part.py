"""The part of the report about an attack: both bounds as curves, and images beside what the attack made of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zoo.certification import COLORS, INK, new_figure, radius_label, whole_ticks
from zoo.models import PRETRAINED, RUNS
from zoo.reports.display import down, pictures, png_address

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zoo.attacks import Attack, Attacked
    from zoo.data import Dataset

_MOST, _STOPS = 12, 200
_IMAGE_HEAD = (
    *("image", "class", "predicted", "turned into"),
    *("certified radius", "attack distance", "ratio in d", "changed values"),
)


def attack_of(folder: Path, about: dict[str, Any]) -> Attack | None:
    """Return the attack on the certified images of a run, if there is one: in its folder, or in `runs` for a shipped
    model."""
    from zoo.attacks import read_attack, read_attack_about
    from zoo.folder import ATTACK_ABOUT

    for place in (RUNS / folder.name, folder) if folder.parent == PRETRAINED else (folder,):
        if (place / ATTACK_ABOUT).exists():
            before = read_attack_about(place)
            same = all(before.get(key) == about[key] for key in ("weights", "scheme"))
            if same and before["data"]["test_digest"] == about["data"]["test_digest"]:
                found = read_attack(place)
                return found if found.rows else None
    return None


def attack_section(found: Attack | None, images: Dataset | str) -> dict[str, Any] | None:
    """Return what the template shows about an attack; None without one."""
    if found is None:
        return None
    return {
        "images": found.images,
        "budget": f"{found.budget:g}",
        "changed": sum(row.distance is not None for row in found.rows),
        "median": found.median_ratio,
        "least": found.ratios[0] if found.ratios else None,
        **pictures(lambda narrow: sandwich(found, narrow=narrow)),
        "head": [found.unit.name, "certified (%)", "under attack (%)"],
        "rows": [
            [f"{float(r):g}", f"{100 * found.certified_accuracy(r).share:.1f}", f"{100 * found.accuracy(r).share:.1f}"]
            for r in found.unit.grid()
        ],
        "image_head": _IMAGE_HEAD,
        "image_rows": [_line(found, row) for row in found.rows],
        "gallery": [] if isinstance(images, str) else [_item(found, row, images) for row in _chosen(found)],
    }


def sandwich(found: Attack, *, narrow: bool = False) -> Figure:
    """Return certified accuracy by radius, and above it the accuracy under attack; the true robust accuracy lies
    between."""
    figure, (axes,) = new_figure(4.3 if narrow else 8.6, 3.2)
    unit, right = found.unit, [row for row in found.rows if row.correct]
    certified = np.sort(np.nan_to_num([unit.radius(row.ball) for row in right], nan=-1.0))
    attacked = np.sort([found.distance_of(row) for row in right])
    ends = [v for v in (*certified.tolist(), *attacked.tolist()) if np.isfinite(v)]
    end = 1.02 * max([float(unit.grid()[-1]), *ends]) or 1.0
    x = np.linspace(0, end, 4 * _STOPS)
    lower = 100 * (len(right) - np.searchsorted(certified, x, side="left")) / found.images
    upper = 100 * (len(right) - np.searchsorted(attacked, x, side="right")) / found.images
    axes.fill_between(x, lower, upper, step="post", color=COLORS[6], alpha=0.12, linewidth=0)
    axes.step(x, upper, where="post", color=COLORS[6], linewidth=2, linestyle=(0, (5, 1.5)), label="under attack")
    axes.step(x, lower, where="post", color=COLORS[2], linewidth=2, label="certified")
    axes.set(xlim=(0, end), ylim=(0, 102), ylabel="accuracy (%)", xlabel=radius_label(found))
    whole_ticks(axes, found)
    axes.legend(frameon=False, labelcolor=INK, fontsize=9)
    return figure


def _chosen(found: Attack) -> list[Attacked]:
    """Return successful attacks, evenly spaced by their distance."""
    ranked = sorted((row for row in found.rows if row.changes), key=lambda row: (row.distance, row.idx))
    places = np.unique(np.linspace(0, max(0, len(ranked) - 1), min(_MOST, len(ranked))).round().astype(int))
    return [ranked[k] for k in places]


def _line(found: Attack, row: Attacked) -> list[Any]:
    far = found.distance_of(row)
    return [
        row.idx,
        row.label,
        row.predict,
        "-" if row.turned is None else row.turned,
        down(found.unit.radius(row.ball)),
        f"{far:.4g}" if np.isfinite(far) else "none found",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
        len(row.changes),
    ]


def _item(found: Attack, row: Attacked, images: Dataset) -> dict[str, Any]:
    levels = images.test.take([row.idx])[0].cpu().numpy()
    changed, names = row.adversarial(levels), images.class_names
    turned = names[row.turned] if row.turned is not None else "?"
    marks = _marked(levels, changed, images.q)
    shown = f"{names[row.predict]} → {turned}"
    return {
        "pictures": [
            (png_address(levels, images.q), f"Test image {row.idx}, predicted {names[row.predict]}"),
            (png_address(changed, images.q), f"The input that the attack found, predicted {turned}"),
            (png_address(marks, images.q), f"The {len(row.changes)} changed values, marked"),
        ],
        "text": f"{shown}: {len(row.changes)} values, certified {down(found.unit.radius(row.ball), 3)}, "
        f"attacked at {found.distance_of(row):.3g}",
    }


def _marked(before: NDArray[Any], after: NDArray[Any], q: int) -> NDArray[Any]:
    """Return the image, darkened and grey, with the changed pixels in red."""
    grey = (before.astype(np.float64).mean(axis=0) * 0.35).astype(before.dtype)
    marks = np.stack([grey] * 3)
    hit = (before != after).any(axis=0)
    marks[0][hit], marks[1][hit], marks[2][hit] = q, q // 4, q // 8
    return marks
