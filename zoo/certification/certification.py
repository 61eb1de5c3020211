"""What a certification run found: one row per image, and the three accuracies, each under its own name.

- *base* accuracy: the share of all single votes (one noisy evaluation of the network each) that are right;
- *smoothed* accuracy: the share of images whose class by the rule (plurality of the votes, or run-off) is right;
- *certified* accuracy at r: the share of images whose class is right at x and at every point within r of x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.errors import ECMError
from ecm.number import Exact, exact
from ecm.spelling import spelled
from smoothing import DEFAULT_RULE
from smoothing.certificates import RUNOFF_METHODS, Certificate
from zoo.certification.accuracy import Accuracy
from zoo.certification.unit import Unit
from zoo.frames import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from smoothing import Scheme

METHODS = ("paper", "integer", "vote_aware")
ALL_METHODS = (*METHODS, *RUNOFF_METHODS)
RULES = ("plurality", "runoff")


def methods_up_to(certificate: str) -> tuple[str, ...]:
    """Return the certificates that are computed when this one is asked for: of its rule all that are no larger, and
    before those of a run-off all of the plurality, for comparison.

    >>> methods_up_to("vote_aware"), methods_up_to("integer")
    (('paper', 'integer', 'vote_aware'), ('paper', 'integer'))
    >>> methods_up_to("runoff")
    ('paper', 'integer', 'vote_aware', 'runoff')
    """
    certificate = spelled(certificate, ALL_METHODS)
    if certificate not in ALL_METHODS:
        raise ECMError(f"certificate = {certificate!r} is unknown; write one of strongest, {', '.join(ALL_METHODS)}")
    return ALL_METHODS[: ALL_METHODS.index(certificate) + 1]


def chosen_certificate(certificate: str, rule: str | None, *, ranked: bool = True, default: str = DEFAULT_RULE) -> str:
    """The certificate to report. "strongest" is the vote-aware one of the rule, and the rule is `default`, the model's,
    if none is given (of records without rankings the plurality); any other certificate names its rule itself.

    >>> chosen_certificate("strongest", "run-off"), chosen_certificate("strongest", None, ranked=False)
    ('runoff_vote_aware', 'vote_aware')
    """
    certificate = spelled(certificate, ("strongest", *ALL_METHODS))
    rule = rule and spelled(rule, RULES)
    if rule is not None and rule not in RULES:
        raise ECMError(f"rule = {rule!r} is unknown; write one of {', '.join(RULES)}")
    if certificate == "strongest":
        by_runoff = (rule or (default if ranked else "plurality")) == "runoff"
        return "runoff_vote_aware" if by_runoff else "vote_aware"
    methods_up_to(certificate)
    if rule is not None and (certificate in RUNOFF_METHODS) != (rule == "runoff"):
        raise ECMError(
            f"rule = {rule!r}, certificate = {certificate!r}: this certificate is about the class of the other rule; "
            "write certificate='strongest', or leave the rule out"
        )
    return certificate


@attrs.frozen
class Row:
    """One image: its true label, how many votes were right or unsure (by weight), and its balls by method, the last
    of which is the one that is reported."""

    idx: int
    label: int
    hits: int
    unsure: int
    seconds: float
    balls: Mapping[str, Certificate]

    @property
    def predict(self) -> int:
        """The smoothed classifier's answer, by the rule of the reported certificate; ties go to the smaller index."""
        return [*self.balls.values()][-1].prediction

    @property
    def correct(self) -> bool:
        """Whether the smoothed classifier is right at x."""
        return self.predict == self.label

    def correct_by(self, method: str) -> bool:
        """Return whether the class that this method certifies, that of its rule, is right at x."""
        return self.balls[method].prediction == self.label

    @property
    def method(self) -> str:
        """The first method, by that rule, that reaches the largest ball."""
        best = [*self.balls.values()][-1]
        same = (ball for ball in self.balls.values() if ball.rule == best.rule and ball.strength == best.strength)
        return next(same).method


@attrs.frozen(repr=False)
class Certification:
    """The rows of a run and everything that can be counted from them.

    `certificate` is the method whose radius is reported; `radii` (in `unit`) are those of the table; `folder` holds the
    votes and the table. `recounted` is False for rows that were read where no votes are kept: they are on trust.
    Votes are those of one fixed model under one fixed scheme: certificates hold with certainty,
    without a confidence level.

    >>> from zoo import load, read_certification
    >>> found = read_certification(load("digits-l0.5-a4").path)
    >>> found.images, found.unit.name
    (359, 'l_1/2 radius')
    >>> found.certified_accuracy(1, "paper").correct <= found.certified_accuracy(1).correct
    True
    """

    model: str
    data: str
    split_size: int
    scheme: Scheme
    rows: tuple[Row, ...]
    certificate: str
    radii: tuple[Fraction, ...]
    folder: Path
    converted: Fraction | None = None
    recounted: bool = attrs.field(default=True, eq=False)

    @property
    def unit(self) -> Unit:
        """What radii mean here."""
        unit = Unit.under(self.scheme)
        return unit if self.converted is None else unit.to_lp(self.converted)

    def as_lp(self, p: Exact) -> Certification:
        """Return this l1 run with the l_p radii that follow from its l1 radii: a baseline for models made for l_p."""
        exponent = exact(p, "p")
        unit = Unit.under(self.scheme).to_lp(exponent)
        return attrs.evolve(self, converted=exponent, radii=unit.grid())

    @property
    def things(self) -> str:
        """What is certified: "rows" of a table, or "images"."""
        return "rows" if len(self.scheme.shape) == 1 else "images"

    @property
    def images(self) -> int:
        """How many images were certified."""
        return len(self.rows)

    @property
    def methods(self) -> tuple[str, ...]:
        """The certificates that were computed; of each rule the weakest first."""
        return methods_up_to(self.certificate)

    @property
    def base_accuracy(self) -> float:
        """Mean over images and samples of the network being right under the noise (an unsure vote is not right)."""
        return sum(row.hits for row in self.rows) / (self.scheme.total * self.images)

    @property
    def smoothed_accuracy(self) -> Accuracy:
        """Images whose class by the rule is the label."""
        return Accuracy(sum(row.correct for row in self.rows), self.images)

    @property
    def rule(self) -> str:
        """How the votes make a class: "plurality" or "runoff"."""
        return "runoff" if self.certificate in RUNOFF_METHODS else "plurality"

    def smoothed_by(self, method: str) -> Accuracy:
        """Return the accuracy of the class that the rule of this method predicts."""
        return Accuracy(sum(row.correct_by(method) for row in self.rows), self.images)

    def certified_accuracy(self, radius: Exact, method: str | None = None) -> Accuracy:
        """Return the fraction of images with the correct class at every point within `radius` (in `unit`)."""
        r, unit, chosen = exact(radius, "radius"), self.unit, spelled(method or self.certificate, self.methods)
        if r < 0:
            raise ECMError(f"radius = {r}: write a radius >= 0")
        if chosen not in self.methods:
            raise ECMError(f"{chosen!r} was not computed in this run; computed: {', '.join(self.methods)}")
        hits = (row.correct_by(chosen) and unit.covers(row.balls[chosen], r) for row in self.rows)
        return Accuracy(sum(hits), self.images)

    def radius_of(self, row: Row, method: str | None = None) -> float:
        """Return the certified radius of a row, rounded down; a wrong prediction has one too."""
        return self.unit.radius(row.balls[method or self.certificate])

    @cached_property
    def all_radii(self) -> Mapping[str, tuple[float, ...]]:
        """`radius_of` every row, in their order, by method: roots are exact and take time, so they are kept."""
        unit = self.unit
        return {method: tuple(unit.radius(row.balls[method]) for row in self.rows) for method in self.methods}

    def table(self, radii: Sequence[Exact] | None = None) -> list[dict[str, Any]]:
        """Return the certified accuracy by radius and method, as plain data."""
        chosen = self.radii if radii is None else tuple(exact(r, "radius") for r in radii)
        return [
            {"radius": float(r)} | {method: self.certified_accuracy(r, method).share for method in self.methods}
            for r in chosen
        ]

    def summary(self) -> dict[str, Any]:
        """Return the accuracies as plain data, with the number of images and 95% intervals: what a card keeps."""
        smoothed = self.smoothed_accuracy
        return {
            "data": self.data,
            "images": self.images,
            "of": self.split_size,
            "base_accuracy": self.base_accuracy,
            "smoothed_accuracy": smoothed.share,
            "smoothed_interval": list(smoothed.interval()),
            "rule": self.rule,
            **({"smoothed_by_plurality": self.smoothed_by(METHODS[0]).share} if self.rule == "runoff" else {}),
            "certificate": self.certificate,
            "radius_unit": self.unit.name,
            "certified_accuracy": [
                {
                    "radius": str(r),
                    "interval": list(self.certified_accuracy(r).interval()),
                    **{method: self.certified_accuracy(r, method).share for method in self.methods},
                }
                for r in self.radii
            ],
            "unsure_votes": sum(row.unsure for row in self.rows),
            "votes_an_image": self.scheme.samples,
        }

    def curve(self, method: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the certified-accuracy curve: radii at which it drops, and its value up to and including each.

        Between two radii the value is the one at the larger of them; beyond the last radius it is 0.

        >>> from zoo import read_certification
        >>> radii, accuracy = read_certification("digits-l0.5-a4").curve()
        >>> len(radii) == len(accuracy), bool((np.diff(accuracy) <= 0).all())
        (True, True)
        """
        from zoo.certification.curves import steps

        return steps(self, method)

    def plot(self) -> Figure:
        """Return the certified-accuracy curve of every method as a matplotlib figure, made by `zoo.certified_curve`.

        >>> from zoo import read_certification
        >>> read_certification("digits-l0.5-a4").plot().axes[0].get_ylabel()
        'certified accuracy (%)'
        """
        from zoo.certification.curves import certified_curve

        return certified_curve(self)

    def to_pandas(self) -> DataFrame:
        """Return one row per image: idx, label, predict, radius, correct, time (seconds), votes, hits, unsure, and the
        radius by each method. Radii are in `unit` and rounded down; nan means that there is no certificate.

        >>> from zoo import read_certification
        >>> frame = read_certification("digits-l0.5-a4").to_pandas()
        >>> len(frame), float((frame.correct & (frame.radius >= 1)).mean().round(4))
        (359, 0.8329)
        """
        from zoo.certification.pandas_rows import rows_frame

        return rows_frame(self)

    def _repr_html_(self) -> str:
        from zoo.certification.pandas_rows import certification_html

        return certification_html(self)

    def __repr__(self) -> str:
        if not self.rows:
            return f"{self.model}: no {self.things[:-1]} of {self.data} is certified yet"
        by_plurality = (
            "" if self.rule != "runoff" else f" by run-off\n{'':21}{self.smoothed_by(METHODS[0])} by plurality"
        )
        columns = (
            [f"{float(r):g}", *(f"{100 * self.certified_accuracy(r, method).share:.1f}" for method in self.methods)]
            for r in self.radii
        )
        lines = [
            f"{self.model}: {self.images} of {self.split_size} test {self.things} of {self.data}, "
            f"{self.scheme.samples} votes per {self.things[:-1]}",
            f"  base accuracy      {100 * self.base_accuracy:.1f}% of all votes",
            f"  smoothed accuracy  {self.smoothed_accuracy}{by_plurality}",
            f"  certified accuracy (%) by {self.unit.name}",
            *text_table(["", *self.methods], columns),
        ]
        if not self.recounted:
            lines.append("  (read from the table alone: there are no recorded votes to count again)")
        return "\n".join(lines)
