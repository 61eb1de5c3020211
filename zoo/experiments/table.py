"""A finished experiment: for every row and radius the best model, as the paper's tables have it, from the run folders.

Picking the best alpha at each radius on the test images themselves is the paper's convention, and a little optimistic.
"""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from zoo.certification import METHODS, Accuracy, Certification, read_certification
from zoo.errors import ModelError
from zoo.experiments.declarations import Experiment, Family, Panel, Scale
from zoo.models import read_card


@attrs.frozen
class Cell:
    """Certified accuracy at one radius of the best model of a row; `hits` are the images it counts, by index."""

    certified: Accuracy
    clean: Accuracy
    alpha: int
    hits: frozenset[int]


@attrs.frozen
class Row:
    """One row at a scale: ours by certificate (one cell per radius)."""

    family: Family
    cells: dict[str, tuple[Cell, ...]]


@attrs.frozen
class Trained:
    """One model: its certification, and its base accuracy (single votes) over the whole test split."""

    certification: Certification
    base: Accuracy
    epochs: int


@attrs.frozen(repr=False)
class Reproduction:
    """An experiment that was run: its models by folder name, and the tables made of them, which it prints.

    >>> from zoo.experiments.catalogue import find_experiment
    >>> from zoo.models import find_model
    >>> found = read_certification(folder := find_model("digits-l0.5-a4"))
    >>> models = {"digits-l0.5-a4": Trained(found, found.smoothed_accuracy, epochs=150)}
    >>> Reproduction(find_experiment("digits"), "small", folder.parent, models).images
    359
    """

    experiment: Experiment
    scale: Scale
    folder: Path
    models: dict[str, Trained]

    @property
    def images(self) -> int:
        """How many test images every model was certified on."""
        return min(model.certification.images for model in self.models.values())

    def rows(self, panel: Panel) -> list[Row]:
        """Return the rows of a panel that belong to this scale."""
        return [
            Row(
                family,
                {
                    method: tuple(self._best(panel, family, radius, method) for radius in panel.radii)
                    for method in METHODS
                },
            )
            for family in panel.families
            if family.at(self.scale)
        ]

    def _best(self, panel: Panel, family: Family, radius: Fraction, method: str) -> Cell:
        found = []
        for alpha in family.at(self.scale):
            run = self.models[family.run_name(self.experiment.data, alpha)].certification
            hits = certified_images(run, panel.p, radius, method)
            found.append(Cell(Accuracy(len(hits), run.images), run.smoothed_accuracy, alpha, hits))
        return max(found, key=lambda cell: (cell.certified.share, cell.clean.share))

    def __repr__(self) -> str:
        from rich.console import Console

        from zoo.experiments.checks import check
        from zoo.experiments.printing import show

        out = io.StringIO()
        show(self, check(self), Console(file=out))
        return out.getvalue().strip()

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain data, accuracies as shares."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "scale": self.scale,
            "folder": str(self.folder),
            "note": self.experiment.note,
            "images": self.images,
            "panels": [self._panel(panel) for panel in self.experiment.panels],
            "models": [
                {
                    "run": name,
                    "row": family.label,
                    "alpha": alpha,
                    "epochs": self.models[name].epochs,
                    "votes_an_image": self.models[name].certification.scheme.samples,
                    "base_accuracy": self.models[name].base.share,
                    "base_interval": list(self.models[name].base.interval()),
                    "published_base_accuracy": _share(self.experiment.base(family, alpha)),
                    "smoothed_accuracy": self.models[name].certification.smoothed_accuracy.share,
                }
                for name, (family, alpha) in self.experiment.models(self.scale).items()
            ],
        }

    def _panel(self, panel: Panel) -> dict[str, Any]:
        rows = []
        for row in self.rows(panel):
            published = panel.cells(row.family.label)
            rows.append(
                {
                    "row": row.family.label,
                    "published": published
                    and [
                        {"certified": _share(cell.certified), "clean": _share(cell.clean), "alpha": cell.alpha}
                        for cell in published
                    ],
                    **{
                        method: [
                            {
                                "certified": cell.certified.share,
                                "interval": list(cell.certified.interval()),
                                "clean": cell.clean.share,
                                "alpha": cell.alpha,
                            }
                            for cell in cells
                        ]
                        for method, cells in row.cells.items()
                    },
                }
            )
        return {"radius": panel.title, "radii": [str(radius) for radius in panel.radii], "rows": rows}


def certified_images(run: Certification, p: Fraction, radius: Fraction, method: str) -> frozenset[int]:
    """Return the images that keep the right class within the l_p radius (for p = 0: so many changed features or
    pixels).

    An l1 certificate is converted: rho = max(r, r**(1/p)), rounded down.
    """
    power, unit = run.scheme.metric.power(), run.unit
    assert power is not None
    converted = power[0] == 1 and p != 1

    def covers(ball: Any) -> bool:
        if not converted:
            return unit.covers(ball, radius)
        reached = ball.l1_to_lp(p)
        return reached is not None and reached >= radius

    return frozenset(row.idx for row in run.rows if row.correct_by(method) and covers(row.balls[method]))


def read_trained(folder: Path) -> Trained:
    """Return one finished model from its card and its certification; weights and votes may be absent."""
    card = read_card(folder)
    base = card["accuracy"]["base"]
    accuracy = Accuracy(round(base["value"] * base["images"]), base["images"])
    return Trained(read_certification(folder), accuracy, card["training"].get("epochs", 0))


def collect(experiment: Experiment, scale: Scale, folder: Path) -> Reproduction:
    """Read a finished experiment from its run folders; nothing is trained or voted on.

    Models are compared on the images that all of them were certified on.
    """
    models = {name: read_trained(folder / name) for name in experiment.models(scale)}
    shared = frozenset.intersection(*(frozenset(row.idx for row in m.certification.rows) for m in models.values()))
    if not shared:
        raise ModelError(f"the models in {folder} were certified on different images: run the same command again")
    return Reproduction(experiment, scale, folder, {name: _on(shared, model) for name, model in models.items()})


def _on(images: frozenset[int], model: Trained) -> Trained:
    rows = tuple(row for row in model.certification.rows if row.idx in images)
    return attrs.evolve(model, certification=attrs.evolve(model.certification, rows=rows))


def _share(percent: float | None) -> float | None:
    return None if percent is None else round(percent / 100, 4)
