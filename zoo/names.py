"""The names of data sets, networks and objectives. Nothing slow is imported here."""

from __future__ import annotations

from ecm.spelling import spelled

# As `zoo.DATASETS`, `zoo.MODELS` and the objectives have them, which import torch; a test holds them together.
DATASET_NAMES = (
    "digits",
    "mnist",
    "fashion_mnist",
    "cifar10",
    "cifar100",
    "svhn",
    "imagenet",
    "breast_cancer",
    "wine",
    "iris",
)
# Every objective with the setting that only it has, if any.
OBJECTIVE_SETTINGS = {"noisy": None, "stability": "divergence", "consistency": "divergence", "radius": "aim"}
OBJECTIVE_NAMES = tuple(OBJECTIVE_SETTINGS)
MODEL_NAMES = ("small_cnn", "medium_cnn", "deep_cnn", "large_cnn", "wide_resnet40_2", "resnet18", "resnet50", "mlp")
TABLE_NAMES = ("breast_cancer", "wine", "iris")  # of scikit-learn; its classifiers can be named for them
_LEVELS = {"digits": 16} | dict.fromkeys(TABLE_NAMES, 63)  # q of the data sets that are not 8-bit images
_FIRST_AXIS = {"digits": 1, "mnist": 1, "fashion_mnist": 1, "breast_cancer": 30, "wine": 13, "iris": 4}


def known_size(dataset: str) -> tuple[int, int] | None:
    """Return the length of the first axis (channels or columns) and q of a data set by name, without loading it.

    >>> known_size("cifar10"), known_size("digits"), known_size("a/folder")
    ((3, 255), (1, 16), None)
    """
    name = spelled(dataset, DATASET_NAMES)
    return (_FIRST_AXIS.get(name, 3), _LEVELS.get(name, 255)) if name in DATASET_NAMES else None


def default_model(shape: tuple[int, ...]) -> str:
    """Return the usual network for inputs of this shape: `small_cnn` for images, `mlp` for tables and for very small
    images.

    >>> default_model((3, 32, 32)), default_model((1, 8, 8)), default_model((12,))
    ('small_cnn', 'mlp', 'mlp')
    """
    return "small_cnn" if len(shape) == 3 and shape[-1] >= 16 else "mlp"
