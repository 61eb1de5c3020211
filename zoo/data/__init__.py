"""Data sets by name, from a folder of images, or from arrays."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.data.catalogue import DATASETS, load_data, load_evaluated
    from zoo.data.dataset import Augmentation, Dataset, Split
    from zoo.data.randomness import generator, key_seed
    from zoo.data.table import Table, with_columns
    from zoo.data.table_spec import TableSpec
    from zoo.data.torchvision_import import torchvision

__all__ = [
    "DATASETS",
    "Augmentation",
    "Dataset",
    "Split",
    "Table",
    "TableSpec",
    "generator",
    "key_seed",
    "load_data",
    "load_evaluated",
    "torchvision",
    "with_columns",
]

__getattr__ = lazy(
    __name__,
    {
        "catalogue": "DATASETS load_data load_evaluated",
        "dataset": "Augmentation Dataset Split",
        "randomness": "generator key_seed",
        "table": "Table with_columns",
        "table_spec": "TableSpec",
        "torchvision_import": "torchvision",
    },
)
