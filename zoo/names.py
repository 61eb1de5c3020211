"""Names as people write them: `CIFAR-10` is `cifar10`, `vote-aware` is `vote_aware`. Nothing slow is imported here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

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
OBJECTIVE_NAMES = ("noisy", "stability", "consistency")
MODEL_NAMES = ("small_cnn", "medium_cnn", "wide_resnet40_2", "resnet18", "resnet50", "mlp")
_LEVELS = {"digits": 16, "breast_cancer": 63, "wine": 63, "iris": 63}  # q of the data sets that are not 8-bit images
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


def spelled(name: str, known: Iterable[str]) -> str:
    """Return the known name that differs from `name` by case, hyphens, underscores, dots or blanks alone, else `name`.

    >>> spelled("CIFAR-10", DATASET_NAMES), spelled("vote-aware", ["vote_aware"]), spelled("cifar11", DATASET_NAMES)
    ('cifar10', 'vote_aware', 'cifar11')
    """
    names = list(known)
    if name in names:
        return name
    found = [one for one in names if _plain(one) == _plain(name)]
    return found[0] if len(found) == 1 else name


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if there is one.

    >>> closest("cifar11", DATASET_NAMES)
    'cifar10'
    """
    return next(iter(difflib.get_close_matches(name.lower(), list(known), n=1)), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).lower()
