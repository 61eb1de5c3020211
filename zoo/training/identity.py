"""What makes two training runs the same run: a folder holds one, and another one is refused with what differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from smoothing.scheme import Scheme
from zoo.errors import CheckpointError
from zoo.training.recipe import settings_in

REPLACE = "resume=False (--no-resume)"


@attrs.frozen
class Identity:
    """The scheme (its fingerprint), network, data and settings of a run, as its card names them.

    >>> ours = Identity("ab", {"name": "mlp"}, {}, {"seed": 0})
    >>> ours.require(Path("runs/a"), {"scheme": "ab", "model": {"name": "cnn"}})
    Traceback (most recent call last):
        ...
    zoo.errors.CheckpointError: runs/a contains a run with different settings: model.name is 'cnn' there, 'mlp' ...
    """

    scheme: str
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    training: Mapping[str, Any]

    @classmethod
    def of(cls, scheme: Scheme, card: Mapping[str, Any]) -> Identity:
        """Return the identity of the run whose card begins like this.

        A run without a start or a teacher says so: in the folder of a run that had one it is another run.
        """
        nobody = {"name": None, "weights": None}
        without = {"start": nobody, "teacher": nobody} if "preset" in card["training"] else {}
        return cls(scheme.fingerprint, card["model"], card["data"], {**without, **card["training"]})

    def require(self, folder: Path, found: Mapping[str, Any]) -> None:
        """Raise CheckpointError where `found`, a card or the facts of a checkpoint in the folder, is of another run."""
        training = found.get("training", {})
        known = settings_in(training) if isinstance(training, Mapping) else training  # of a damaged checkpoint
        there = dict(_flat({**found, "training": known}))
        pairs = ((key, there.get(key), value) for key, value in _flat(json.loads(json.dumps(attrs.asdict(self)))))
        differing = [_said(key, old, new, found) for key, old, new in pairs if old != new]
        if differing:
            raise CheckpointError(
                f"{folder} contains a run with different settings: {'; '.join(differing[:4])}. "
                f"Choose another out, or {REPLACE} to replace it"
            )


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every entry with its path, as in `training.lr`."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for name, part in value.items():
        yield from _flat(part, f"{path}.{name}".strip("."))


def _said(key: str, old: Any, new: Any, found: Mapping[str, Any]) -> str:
    if key != "scheme":
        return f"{key} is {old!r} there, {new!r} here"
    laws = ", ".join(law["g"] for law in found.get("law", []))  # a card has them, a checkpoint the digest alone
    known = f" (there g = {laws}, B = {found['design']['budget']})" if laws else ""
    return f"the metric, the budget or the design differs{known}"
