"""Data sets by name, from a folder of images, or from arrays."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.data.catalogue import DATASETS, load_data
    from zoo.data.dataset import Augmentation, Dataset, Split
    from zoo.data.randomness import generator, key_seed
    from zoo.data.torchvision_import import torchvision

__all__ = ["DATASETS", "Augmentation", "Dataset", "Split", "generator", "key_seed", "load_data", "torchvision"]

__getattr__ = lazy(
    __name__,
    {
        "catalogue": "DATASETS load_data",
        "dataset": "Augmentation Dataset Split",
        "randomness": "generator key_seed",
        "torchvision_import": "torchvision",
    },
)
