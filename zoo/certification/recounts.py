"""Rows of a table are not believed: they are counted again from the votes that lie beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from smoothing import Packing
from smoothing.certificates import RUNOFF_METHODS, Certificate, Certifier, Tally, VoteAware, checked_levels, replay
from smoothing.errors import VoteError
from zoo.certification.table import ball_text
from zoo.errors import ModelError

if TYPE_CHECKING:
    from smoothing import Scheme
    from zoo.certification.certification import Row

BY_COUNTS = ("paper", "integer", "runoff")


@attrs.frozen(slots=False, eq=False)
class Recount:
    """Compares rows with the votes of their images, and with the images themselves where they are given.

    What the counts decide (class, hits, unsure votes, the certificates by counts) is always recomputed. The vote-aware
    ball depends on the image, too: with its levels, the stored multipliers are evaluated once, which proves the radius.
    """

    scheme: Scheme
    classes: int
    methods: Sequence[str]

    @cached_property
    def _certifiers(self) -> dict[str, Certifier]:
        return {method: Certifier(self.scheme, self.classes, method) for method in self.methods}

    @cached_property
    def _aware(self) -> VoteAware:
        return VoteAware(self.scheme, next(iter(self._certifiers.values())).threat)

    def check(self, row: Row, votes: NDArray[Any], label: int | None, levels: NDArray[Any] | None) -> None:
        """Raise ModelError unless the row follows from the votes; `label` is the true one, where it is known."""
        ranked = votes.dtype == np.uint32
        cast = Packing.of(self.classes).votes(votes) if ranked else votes
        tally = Tally.of(cast, self.classes, self.scheme.weights)
        if not 0 <= row.label < self.classes or label not in (None, row.label):
            raise _contradiction(row, "label", row.label, "a class" if label is None else label)
        for what, stored, counted in (
            ("plurality", row.balls[self.methods[0]].prediction, tally.prediction),
            ("hits", row.hits, tally.counts[row.label]),
            ("unsure", row.unsure, tally.unsure),
        ):
            if stored != counted:
                raise _contradiction(row, what, stored, counted)
        known: dict[str, Certificate] = {}
        for method, ball in row.balls.items():
            if method in BY_COUNTS:
                known[method] = self._certifiers[method](votes)
            elif levels is not None:
                known[method] = self._with_image(
                    method, ball, votes if method in RUNOFF_METHODS else cast, levels, tally
                )
        for method, ball in known.items():
            if ball.prediction != row.balls[method].prediction:
                raise _contradiction(row, "predict", row.balls[method].prediction, ball.prediction)
            if ball_text(ball) != ball_text(row.balls[method]):
                raise _contradiction(row, method, ball_text(row.balls[method]), ball_text(ball))
        self._check_order(row)

    def _with_image(
        self, method: str, ball: Certificate, votes: NDArray[Any], levels: NDArray[Any], tally: Tally
    ) -> Certificate:
        if method != "vote_aware" or not ball.multipliers:
            return self._certifiers[method](votes, levels)
        radius = self._certifiers["integer"](votes).radius if "integer" in self._certifiers else ball.radius
        if radius is None:
            return self._certifiers[method](votes, levels)
        try:
            proved = replay(self._aware, votes, checked_levels(levels, self.scheme), tally, dict(ball.multipliers))
        except VoteError:
            return self._certifiers[method](votes, levels)
        if proved is None:
            return ball if ball.everywhere else self._certifiers[method](votes, levels)
        return attrs.evolve(ball, radius=proved, closed=False, everywhere=False)

    def _check_order(self, row: Row) -> None:
        """Without the image: a vote-aware ball is there iff the one by counts is, and is at least as large."""
        for weaker, stronger in (("integer", "vote_aware"), ("runoff", "runoff_vote_aware")):
            if weaker in row.balls and stronger in row.balls:
                counted, claimed = row.balls[weaker], row.balls[stronger]
                if counted.exists != claimed.exists or counted.strength > claimed.strength:
                    raise _contradiction(row, stronger, ball_text(claimed), f"{ball_text(counted)} or more")


def _contradiction(row: Row, what: str, stored: object, counted: object) -> ModelError:
    return ModelError(
        f"the table's row of image {row.idx} does not follow from its votes: {what} is {stored}, by the votes it is "
        f"{counted}. The table was altered or belongs to other votes: delete certify.tsv and certify again"
    )


def recount(
    rows: Mapping[int, Row], recorded: Mapping[int, NDArray[Any]], by: Recount, labels: NDArray[Any] | None = None
) -> None:
    """Check all rows against the recorded votes, by image; a row without votes is an error here."""
    for idx, row in rows.items():
        if idx not in recorded:
            raise ModelError(
                f"the table has a row of image {idx}, but there are no votes of it: restore the votes, or delete "
                "certify.tsv and certify again"
            )
        by.check(row, recorded[idx], None if labels is None else int(labels[idx]), None)


def by_image(indices: NDArray[np.int64], votes: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return the votes of every recorded image under its index."""
    return {int(index): votes[k] for k, index in enumerate(indices)}
