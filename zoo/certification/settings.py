"""What a user asks of a certification run, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from ecm.errors import ECMError
from ecm.number import Exact, exact
from zoo.certification.unit import Unit


def chosen_radii(radii: Sequence[Exact], unit: Unit) -> tuple[Fraction, ...]:
    """Return the radii of a table, each once, smallest first."""
    if isinstance(radii, str) or not isinstance(radii, Iterable):
        raise ECMError(f"radii = {radii!r}: write a list, as in [0, '1/2', 1]")
    chosen = tuple(sorted({exact(r, "radius") for r in radii}))
    if not chosen or chosen[0] < 0:
        raise ECMError(f"radii = {radii}: write radii >= 0, in units of the {unit.name}")
    return chosen


def require_limit(limit: int | None) -> None:
    """Raise ECMError unless this is a number of images."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1):
        raise ECMError(f"limit = {limit!r}: write a number of images >= 1, or leave it out for all of them")


def require_tolerance(tolerance: float | None) -> None:
    """Raise ECMError unless this is a difference of two logits."""
    if tolerance is not None and not (isinstance(tolerance, int | float) and 0 <= tolerance < math.inf):
        raise ECMError(
            f"tolerance = {tolerance!r}: write a difference of two logits >= 0, or leave it out to measure it"
        )
