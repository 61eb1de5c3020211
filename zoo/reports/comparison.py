"""Runs side by side: the same images, the same radii, and what each cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs

from ecm.number import Exact
from zoo.certification import Certification, chosen_radii, find_run, read_about, read_certification
from zoo.errors import DataError
from zoo.frames import text_table
from zoo.models import Model

Run = Certification | Model | str | os.PathLike[str]


@attrs.frozen(repr=False)
class Comparison:
    """Certifications restricted to the images that all of them share, by the name of the run.

    >>> both = compare("digits-l0.5-a4", "digits-l0.5-a4", radii=[1])
    >>> both.left_out, [row["budget"] for row in both.rows()]
    (0, [512, 512])
    """

    runs: dict[str, Certification]
    left_out: int

    def rows(self) -> list[dict[str, Any]]:
        """Return one run per row, as plain data; accuracies are shares of the images, `votes` forward passes per
        image."""
        return [
            {
                "run": name,
                "metric": str(run.scheme.metric),
                "design": run.scheme.design.kind,
                "budget": run.scheme.total,
                "votes": run.scheme.samples,
                "images": run.images,
                "certificate": run.certificate,
                "base_accuracy": run.base_accuracy,
                "smoothed_accuracy": run.smoothed_accuracy.share,
                "certified_accuracy": {str(r): run.certified_accuracy(r).share for r in run.radii},
            }
            for name, run in self.runs.items()
        ]

    def __repr__(self) -> str:
        first = next(iter(self.runs.values()))
        note = f" ({self.left_out} that not all runs have are left out)" if self.left_out else ""
        runs = list(self.runs.values())
        about = [
            ["B", *(str(run.scheme.total) for run in runs)],
            ["votes", *(str(run.scheme.samples) for run in runs)],
            ["base", *(f"{100 * run.base_accuracy:.1f}" for run in runs)],
            ["smooth", *(f"{100 * run.smoothed_accuracy.share:.1f}" for run in runs)],
        ]
        certified = [
            [f"{float(r):g}", *(f"{100 * run.certified_accuracy(r).share:.1f}" for run in runs)] for r in first.radii
        ]
        names = ["", *self.runs]
        said = f"{first.images} images that all runs share{note}; certified accuracy (%) by {first.unit.name}"
        return "\n".join([said, *text_table(names, about), *text_table(names, certified)])


def compare(*runs: Run, radii: Sequence[Exact] | None = None) -> Comparison:
    """Compare certified `runs` (folders, names, models or results of `certify`) on the images that all of them share.

    They must count radii in the same unit and be of the same test images: by folder the digests of the test splits
    are compared, and only images with the same index and label are counted. `radii` defaults to those of the run that
    reaches furthest. Runs that report different certificates are named with them.

    >>> print(compare("digits-l0.5-a4", "digits-l0.5-a4", radii=[0, 1]))
    359 images that all runs share; certified accuracy (%) by l_1/2 radius
    ...
    """
    if len(runs) < 2:
        raise DataError(f"{len(runs)} runs: give at least two to compare")
    found: dict[str, Certification] = {}
    digests = set()
    for run in runs:
        if isinstance(run, Certification):
            result, where = run, run.model
        else:
            where = str(folder := find_run(run))
            result = read_certification(folder)
            digests.add(read_about(folder)["data"]["test_digest"])
        name = result.model if result.model not in found else where
        found[name if name not in found else f"{name} ({len(found) + 1})"] = result
    units = {name: result.unit.name for name, result in found.items()}
    if len(set(units.values())) > 1:
        raise DataError(f"radii in different units cannot be compared: {units}")
    if len(digests) > 1 or len({(result.data, result.split_size) for result in found.values()}) > 1:
        raise DataError(
            "these runs certify different test images: " + ", ".join(f"{n}: {r.data}" for n, r in found.items())
        )
    shared = set.intersection(*({(row.idx, row.label) for row in result.rows} for result in found.values()))
    if not shared:
        raise DataError("these runs have no image in common: certify them with the same limit")
    furthest = max(found.values(), key=lambda result: result.radii[-1])
    chosen = furthest.radii if radii is None else chosen_radii(radii, furthest.unit)
    most = max(result.images for result in found.values())
    mixed = len({result.certificate for result in found.values()}) > 1
    kept = {
        f"{name}, {result.certificate}" if mixed else name: attrs.evolve(
            result, rows=tuple(row for row in result.rows if (row.idx, row.label) in shared), radii=chosen
        )
        for name, result in found.items()
    }
    return Comparison(kept, most - len(shared))
