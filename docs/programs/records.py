"""Records of finished runs: all that a run's numbers are counted from, without its weights and votes.

`docs/records/<campaign>/<run>/` holds the card, the scheme, and the certification with one row per image.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from ecm.errors import ECMError
from smoothing import Record
from zoo.certification import Certification, read_about, read_certification
from zoo.data import load_data
from zoo.experiments import Reproduction, check
from zoo.experiments.catalogue import EXPERIMENTS
from zoo.experiments.checks import Verdict
from zoo.experiments.declarations import Experiment, Family
from zoo.experiments.table import Trained, collect, read_trained
from zoo.folder import ABOUT, CARD, SCHEME, TABLE, VOTES, WEIGHTS
from zoo.models import PRETRAINED, load, read_card
from zoo.models.places import weights_path
from zoo.models.storage import put_card

RECORDS = Path(__file__).parents[1] / "records"
MAIN = "cifar10"  # the campaign that the sections on certificates and budgets are about
KEPT = (CARD, SCHEME, ABOUT, TABLE)
IMAGES = "images.npz"
FEW = 4  # images that a shipped model carries, for a test to vote on


@attrs.frozen(eq=False)
class Run:
    """One record: its card and what was counted."""

    card: dict[str, Any]
    trained: Trained

    @property
    def name(self) -> str:
        return str(self.card["name"])

    @property
    def weights(self) -> str:
        """Their sha256."""
        return str(self.card["weights"])

    @property
    def certification(self) -> Certification:
        return self.trained.certification

    @property
    def power(self) -> tuple[Fraction, Fraction]:
        """(p, alpha) of g = z**p/alpha."""
        power = self.certification.scheme.metric.power()
        assert power is not None
        return power

    @property
    def per_alpha(self) -> float:
        """B/alpha."""
        return float(self.certification.scheme.total / self.power[1])

    @property
    def usual(self) -> bool:
        """Whether this is a model of the paper's main method with standard training."""
        scheme = self.certification.scheme
        made = (scheme.coupling, scheme.seed, scheme.representation, self.card["training"]["objective"])
        return made == ("independent", 0, "upper_lower", "noisy") and 0 < self.power[0] < 1

    @property
    def start(self) -> dict[str, str] | None:
        """Name and sha256 of the weights that the training began with."""
        return self.before.get("start")

    @property
    def before(self) -> dict[str, dict[str, str]]:
        """The finished models that were used, as names and sha256 of weights: what a training began with, what taught
        it, or the members of an ensemble."""
        training = self.card["training"]
        return {role: training[role] for role in ("start", "teacher", "members") if role in training}

    @property
    def network(self) -> str:
        """The name of the network, or those of all members of an ensemble."""
        made = self.card["model"]
        return " and ".join(made["members"]) if "members" in made else str(made["name"])


@cache
def read_run(folder: Path) -> Run:
    """The record in a folder."""
    return Run(read_card(folder), read_trained(folder))


def finished(folder: Path) -> bool:
    """Whether the folder holds a model whose certification came to its end."""
    return (folder / CARD).exists() and (folder / ABOUT).exists() and "summary" in read_about(folder)


def runs_in(folder: Path) -> Iterator[Path]:
    """The folder itself if it is a finished run, else the finished runs in it, by name."""
    if (folder / CARD).exists() or not folder.is_dir():
        found = [folder]
    else:
        found = sorted(folder.iterdir())
    return (run for run in found if finished(run))


def keep(folder: Path, campaign: str | None = None, records: Path = RECORDS) -> list[Path]:
    """Copy finished runs (a run's folder, or a folder of them) into the records; a campaign is named by its data."""
    made = []
    for run in runs_in(folder):
        card, about = read_card(run), read_about(run)
        if (card["weights"], card["scheme"]) != (about["weights"], about["scheme"]):
            raise ECMError(f"{run}: {ABOUT} belongs to other weights or another scheme than {CARD}")
        if read_certification(run).summary() != about["summary"]:
            raise ECMError(f"{run}: {TABLE} does not give the numbers of {ABOUT}: certify again")
        target = records / (campaign or card["data"]["name"]) / card["name"]
        target.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            shutil.copyfile(run / name, target / name)
        made.append(target)
    if not made:
        raise ECMError(f"{folder} holds no finished run: {CARD} and a whole {ABOUT} are needed")
    return made


def ship(run: Path, root: Path | None = None, packaged: Path = PRETRAINED) -> Path:
    """Put a finished run into the package, with its votes and a few of the test images that they are about."""
    model = load(run)
    data = load_data(model.card["data"]["name"], root)
    if data.test.digest != read_about(run)["data"]["test_digest"]:
        raise ECMError(f"{run} was certified on other images than those of {data.name} in {root}")
    target = packaged / model.card["name"]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in KEPT:
        shutil.copyfile(run / name, target / name)
    shutil.copyfile(weights_path(run), target / WEIGHTS)
    put_card(target, read_card(target))
    Record.open(run / VOTES).pack(target / VOTES)
    add_images(target, root)
    return target


def add_images(folder: Path, root: Path | None = None) -> None:
    """Put a few of the images that were voted on beside a model, so that its votes can be cast again without the data.

    Indices, levels and labels, in the order of the record.
    """
    test = load_data(read_card(folder)["data"]["name"], root).test
    indices = Record.open(folder / VOTES).votes()[0][:FEW]
    levels, labels = test.take(indices.tolist()).numpy(), test.labels[indices].numpy()
    np.savez_compressed(folder / IMAGES, index=indices, levels=levels, labels=labels)


def shipped() -> list[Run]:
    """The models of the package."""
    return [read_run(folder) for folder in sorted(PRETRAINED.iterdir()) if finished(folder)]


@attrs.frozen
class Found:
    """An experiment as far as there are records of it; the models that have none are `missing`."""

    done: Reproduction
    missing: list[str]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """On the paper's orderings, by the paper's certificate."""
        return check(self.done)


def find(records: Path = RECORDS) -> dict[str, Found]:
    """Every experiment of which at least one row is there."""
    every = {name: _found(experiment, records / experiment.data) for name, experiment in EXPERIMENTS.items()}
    return {name: one for name, one in every.items() if one is not None}


def _found(experiment: Experiment, folder: Path) -> Found | None:
    missing = [name for name in experiment.models("small") if not finished(folder / name)]

    def there(family: Family, alpha: int) -> bool:
        lender = family.lender("small")
        names = [one.run_name(experiment.data, alpha) for one in (family, lender) if one is not None]
        return not any(name in missing for name in names)

    panels = []
    for panel in experiment.panels:
        rows = tuple(attrs.evolve(f, small=tuple(a for a in f.small if there(f, a))) for f in panel.families)
        if any(row.small for row in rows):
            panels.append(attrs.evolve(panel, families=rows))
    if not panels:
        return None
    reduced = attrs.evolve(experiment, panels=tuple(panels))
    return Found(collect(reduced, "small", folder), missing)


def recipe(records: Path = RECORDS) -> list[dict[str, Any]]:
    """What was tried in training, as `recipe.json` lists it; [] where there is no such file."""
    path = records / "recipe.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return rows
