"""Where the gap between attack and certificate comes from: tiny models of which every input is tried.

    python -m benchmarks.tightness

For each point: nearest / certificate says how loose the bound is, attack / nearest how weak the attack is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from smoothing.certificates import Rule
from tests.zoo.attacks.worlds import Sandwich, sandwiches, schemes


def summary(rows: Sequence[Sandwich]) -> str:
    """Both ratios of the points that have a certificate and a nearest change."""
    both = [row for row in rows if row.certified > 0 and np.isfinite(row.nearest)]
    loose = np.array([row.nearest / row.certified for row in both])
    weak = np.array([row.found / row.nearest for row in both])
    return (
        f"{len(both)} points: nearest / certificate median {np.median(loose):.2f}; "
        f"the attack is the nearest at {np.mean(weak <= 1.0001):.1%}, within 1.25 of it at {np.mean(weak <= 1.25):.1%}"
    )


def main() -> None:
    """Attack the tiny models of all kinds, under both rules."""
    every: list[Sandwich] = []
    for rule in get_args(Rule):
        for kind in schemes():
            rows = list(sandwiches(kind, rule))
            every += rows
            print(f"{kind}, {rule}: {summary(rows)}", flush=True)
    print(f"all: {summary(every)}")


if __name__ == "__main__":
    main()
