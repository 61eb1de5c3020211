"""The orderings that the paper claims, tried on a finished table: holds, does not hold, too few images to tell."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import attrs

from zoo.experiments.declarations import Claim

if TYPE_CHECKING:
    from zoo.experiments.table import Reproduction

Answer = Literal["holds", "does not hold", "too few images to tell"]


@attrs.frozen
class Difference:
    """First row minus second at one radius, as a share of the images, with a 95% interval, and what that says."""

    radius: Fraction
    value: float
    interval: tuple[float, float]
    answer: Answer


@attrs.frozen
class Verdict:
    """A claim in one panel: it holds if it holds at every radius, and fails if it fails at one."""

    claim: Claim
    panel: str
    answer: Answer
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "claim": self.claim.name,
            "panel": self.panel,
            "answer": self.answer,
            "differences": [
                {"radius": str(d.radius), "difference": d.value, "interval": list(d.interval), "answer": d.answer}
                for d in self.differences
            ],
        }


def paired_interval(only_first: int, only_second: int, images: int, confidence: float = 0.95) -> tuple[float, float]:
    """Bonett and Price's (2012) interval for the difference of two shares counted on the same images.

    >>> [round(end, 3) for end in paired_interval(12, 3, 100)]
    [0.011, 0.166]
    """
    z, n = NormalDist().inv_cdf((1 + confidence) / 2), images + 2
    first, second = (only_first + 1) / n, (only_second + 1) / n
    spread = z * sqrt((first + second - (first - second) ** 2) / n)
    return max(-1.0, first - second - spread), min(1.0, first - second + spread)


def judge(claim: Claim, interval: tuple[float, float]) -> Answer:
    """Return what an interval of the difference says about the claim.

    >>> above = Claim(name="", first="a", second="b")
    >>> judge(above, (0.01, 0.2)), judge(above, (-0.2, -0.01)), judge(above, (-0.1, 0.1))
    ('holds', 'does not hold', 'too few images to tell')
    """
    low, high = interval
    if claim.relation == "above":
        return "holds" if low > 0 else "does not hold" if high < 0 else "too few images to tell"
    limit = claim.points / 100
    if -limit < low and high < limit:
        return "holds"
    return "does not hold" if low > limit or high < -limit else "too few images to tell"


def check(done: Reproduction, method: str = "paper") -> list[Verdict]:
    """Return every claim of the experiment in every panel that has both of its rows at this scale.

    By the paper's certificate unless another is named. Each radius has its own 95% interval; they are not corrected for
    being many.
    """
    verdicts = []
    for panel in done.experiment.panels:
        rows = {row.family.label: row.cells[method] for row in done.rows(panel)}
        for claim in done.experiment.claims:
            if claim.first not in rows or claim.second not in rows:
                continue
            found = []
            for radius, first, second in zip(panel.radii, rows[claim.first], rows[claim.second], strict=True):
                if radius < claim.start.get(panel.p, 0):
                    continue
                only = len(first.hits - second.hits), len(second.hits - first.hits)
                interval = paired_interval(*only, done.images)
                found.append(Difference(radius, (only[0] - only[1]) / done.images, interval, judge(claim, interval)))
            verdicts.append(Verdict(claim, panel.title, _overall([one.answer for one in found]), tuple(found)))
    return verdicts


def _overall(answers: list[Answer]) -> Answer:
    if "does not hold" in answers:
        return "does not hold"
    return "too few images to tell" if "too few images to tell" in answers else "holds"
