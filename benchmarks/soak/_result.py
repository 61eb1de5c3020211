"""What a part of the soak found."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import attrs


@attrs.frozen
class Options:
    """How much is tried. The defaults take about a minute; docs/soundness.md names the counts of its figures."""

    formulas: int = 200
    documents: int = 300
    folders: int = 12
    kills: int = 2
    minutes: float = 0.2
    seed: int = 0

    def rng(self, part: str) -> random.Random:
        """The part's own stream of random numbers."""
        return random.Random(f"{part} {self.seed}")


@attrs.define
class Result:
    """How often each thing happened, and the failures in words; a soak is passed if there are none."""

    counts: Counter[str] = attrs.field(factory=Counter)
    failures: list[str] = attrs.field(factory=list)

    def fail(self, words: str) -> None:
        """Note a failure."""
        self.failures.append(words)


def same_bytes(result: Result, what: str, one: Path, other: Path) -> None:
    """A failure unless the two files hold the same bytes."""
    if one.read_bytes() != other.read_bytes():
        result.fail(f"{what}: {other} is not what an undisturbed run leaves in {one}")
