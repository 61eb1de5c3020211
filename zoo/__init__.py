"""Data sets, models, training, certification runs, cards, reports and the command line.

`train` makes a `Model` (a folder), `certify` its `Certification`, `report` the page about it; `load`, `list_models` and
`compare` are for what is there already.

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

from zoo._errors import CertifyError, CheckpointError, DataError, ModelError, TrainingError

if TYPE_CHECKING:
    from zoo._accuracy import Accuracy
    from zoo._certification import Certification
    from zoo._certify import certify, read_certification
    from zoo._compare import Comparison, compare
    from zoo._curves import certified_curve, radius_histogram
    from zoo._data import DATASETS, Augmentation, Dataset, Table, TableSpec, load_data
    from zoo._experiments._reproduce import reproduce
    from zoo._experiments._table import Reproduction
    from zoo._export import export
    from zoo._leaderboard import leaderboard
    from zoo._load import Listing, Listings, list_models, load
    from zoo._model import Model
    from zoo._models import MODELS
    from zoo._models._estimator import fit_estimator
    from zoo._recipe import Recipe
    from zoo._report import report
    from zoo._statement import Statement, statements
    from zoo._train import train
    from zoo.attacks import Attack, attack, read_attack, verify_model

_LAZY = {
    "Accuracy": "_accuracy",
    "Attack": "attacks",
    "Augmentation": "_data",
    "Certification": "_certification",
    "Comparison": "_compare",
    "DATASETS": "_data",
    "Dataset": "_data",
    "Listing": "_load",
    "Listings": "_load",
    "MODELS": "_models",
    "Model": "_model",
    "Recipe": "_recipe",
    "Reproduction": "_experiments._table",
    "Statement": "_statement",
    "Table": "_data",
    "TableSpec": "_data",
    "attack": "attacks",
    "certified_curve": "_curves",
    "certify": "_certify",
    "compare": "_compare",
    "export": "_export",
    "fit_estimator": "_models._estimator",
    "leaderboard": "_leaderboard",
    "list_models": "_load",
    "load": "_load",
    "load_data": "_data",
    "radius_histogram": "_curves",
    "read_attack": "attacks",
    "read_certification": "_certify",
    "report": "_report",
    "reproduce": "_experiments._reproduce",
    "statements": "_statement",
    "train": "_train",
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
