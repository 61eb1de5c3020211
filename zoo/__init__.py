"""Data sets, models, training, certification runs, cards, reports and the command line.

`train` makes a `Model` (a folder), `certify` computes its `Certification`, `attack` looks for near inputs of another
class, and `report` writes a page about it. `load`, `list_models` and `compare` work with finished models.

>>> import tempfile, zoo
>>> folder = tempfile.TemporaryDirectory()
>>> model = zoo.train("z**0.5/2", "digits", model="mlp", epochs=1, budget=32, out=f"{folder.name}/a", progress=False)
>>> found = zoo.certify(model, limit=10, radii=[0, "1/2"], progress=False)
>>> found.images, found.unit.name, [str(r) for r in found.radii]
(10, 'l_1/2 radius', ['0', '1/2'])
>>> found.certified_accuracy("1/2").share <= found.smoothed_accuracy.share
True
>>> zoo.read_certification(f"{folder.name}/a") == found
True
>>> zoo.load(f"{folder.name}/a").card["certification"]["images"]
10
>>> [(one.name, one.metric, one.budget) for one in zoo.list_models(folder.name)]
[('a', 'z**(1/2)/2', 32)]
>>> [row["votes"] for row in zoo.compare(found, f"{folder.name}/a").rows()]
[32, 32]
>>> zoo.report(f"{folder.name}/a").name
'report.html'
>>> zoo.certified_curve(found).savefig(f"{folder.name}/curve.png")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zoo.errors import CertifyError, CheckpointError, DataError, ModelError, TrainingError

if TYPE_CHECKING:
    from zoo.attacks import Attack, attack, read_attack, verify_model
    from zoo.certification import (
        Accuracy,
        Certification,
        certified_curve,
        certify,
        export,
        radius_histogram,
        read_certification,
    )
    from zoo.data import DATASETS, Augmentation, Dataset, Table, TableSpec, load_data
    from zoo.experiments import Reproduction, reproduce
    from zoo.models import MODELS, Listing, Listings, Model, fit_estimator, list_models, load
    from zoo.reports import Comparison, Statement, compare, leaderboard, report, statements
    from zoo.training import Recipe, ensemble, train

_LAZY = {
    "Accuracy": "certification",
    "Attack": "attacks",
    "Augmentation": "data",
    "Certification": "certification",
    "Comparison": "reports",
    "DATASETS": "data",
    "Dataset": "data",
    "Listing": "models",
    "Listings": "models",
    "MODELS": "models",
    "Model": "models",
    "Recipe": "training",
    "Reproduction": "experiments",
    "Statement": "reports",
    "Table": "data",
    "TableSpec": "data",
    "attack": "attacks",
    "certified_curve": "certification",
    "certify": "certification",
    "compare": "reports",
    "ensemble": "training",
    "export": "certification",
    "fit_estimator": "models",
    "leaderboard": "reports",
    "list_models": "models",
    "load": "models",
    "load_data": "data",
    "radius_histogram": "certification",
    "read_attack": "attacks",
    "read_certification": "certification",
    "report": "reports",
    "reproduce": "experiments",
    "statements": "reports",
    "train": "training",
    "verify_model": "attacks",
}

__all__ = [
    "DATASETS",
    "MODELS",
    "Accuracy",
    "Attack",
    "Augmentation",
    "Certification",
    "CertifyError",
    "CheckpointError",
    "Comparison",
    "DataError",
    "Dataset",
    "Listing",
    "Listings",
    "Model",
    "ModelError",
    "Recipe",
    "Reproduction",
    "Statement",
    "Table",
    "TableSpec",
    "TrainingError",
    "attack",
    "certified_curve",
    "certify",
    "compare",
    "ensemble",
    "export",
    "fit_estimator",
    "leaderboard",
    "list_models",
    "load",
    "load_data",
    "radius_histogram",
    "read_attack",
    "read_certification",
    "report",
    "reproduce",
    "statements",
    "train",
    "verify_model",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:  # torch and matplotlib load when they are used, so that `ecm derive` answers at once
        return getattr(import_module(f"zoo.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'zoo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
