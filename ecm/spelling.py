"""Names as people write them: `CIFAR-10` is `cifar10`, `vote-aware` is `vote_aware`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def spelled(name: str, known: Iterable[str]) -> str:
    """Return the known name that differs from `name` by case, hyphens, underscores, dots or blanks alone, else `name`.

    >>> spelled("CIFAR-10", ["mnist", "cifar10"]), spelled("Vote-Aware", ["vote_aware"]), spelled("run", ["runoff"])
    ('cifar10', 'vote_aware', 'run')
    """
    names = list(known)
    if name in names:
        return name
    found = [one for one in names if _plain(one) == _plain(name)]
    return found[0] if len(found) == 1 else name


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if there is one.

    >>> closest("cifar11", ["mnist", "cifar10"])
    'cifar10'
    """
    return next(iter(difflib.get_close_matches(name.lower(), list(known), n=1)), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).lower()
