"""The door: votes or rankings of one image in, the chosen (by default the strongest) certificate out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecm.spelling import spelled
from smoothing.certificates.certificate import COST_SCALE, RUNOFF_METHODS, Certificate, Threat, check_threat
from smoothing.certificates.electorate import Electorate
from smoothing.certificates.integer import integer_radius
from smoothing.certificates.paper import paper_radius
from smoothing.certificates.ranking import Codes, Packing, checked_rankings
from smoothing.certificates.rule import Rule, checked_rule
from smoothing.certificates.tally import Tally, checked_votes
from smoothing.certificates.vote_aware import VoteAware
from smoothing.errors import InputError, VoteError

if TYPE_CHECKING:
    from smoothing.scheme import Scheme

Method = Literal["strongest", "paper", "integer", "vote_aware", "runoff", "runoff_vote_aware"]


def _checked_method(name: object) -> Method:
    """Return the method, however it is spelled ("vote-aware"), or raise a VoteError that names all there are."""
    for known in get_args(Method):
        if isinstance(name, str) and spelled(name, get_args(Method)) == known:
            found: Method = known
            return found
    raise VoteError(f"certificate = {name!r} is unknown; write one of {', '.join(get_args(Method))}")


@attrs.frozen(slots=False, eq=False)
class Certifier:
    """Certificates of many images under one scheme; what they share is computed once.

    `rule` says whose class is certified: that of the "plurality" of the votes, or that of a "runoff". By default it is
    the run-off where rankings are given and the plurality where there are votes alone.
    `certificate` chooses the method. As balls, paper <= integer <= vote_aware for every image, and runoff <=
    runoff_vote_aware, so "strongest" is the vote-aware one of the rule where the image's levels are given, and the one
    by counts otherwise.
    `threat` is "features" or "pixels" (see `Certificate`); by default pixels where the scheme shares offsets by pixel.

    >>> from smoothing import Scheme
    >>> certifier = Certifier(Scheme.l1(2, shape=(3,), q=4), classes=2, certificate="integer")
    >>> certifier(np.array([1, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8)).radius
    Fraction(3, 8)
    >>> from smoothing import pack_orders
    >>> rankings = pack_orders([[0, 1, 2]] * 4 + [[1, 0, 2]] * 3 + [[2, 1, 0]])
    >>> certifier = Certifier(Scheme.l1(2, shape=(3,), q=4), classes=3, rule="runoff")
    >>> certifier(rankings)
    Certificate(prediction=0, method='runoff', radius=Fraction(1, 8), closed=False, ...)
    """

    scheme: Scheme
    classes: int
    certificate: Method = attrs.field(default="strongest", converter=_checked_method)
    threat: Threat = attrs.field()
    rule: Rule | None = attrs.field(default=None, converter=attrs.converters.optional(checked_rule))

    @threat.default
    def _default_threat(self) -> Threat:
        return "pixels" if self.scheme.pixel else "features"

    def __attrs_post_init__(self) -> None:
        named = self.rule is not None and self.certificate != "strongest"
        if named and (self.certificate in RUNOFF_METHODS) != (self.rule == "runoff"):
            other = "plurality" if self.rule == "runoff" else "runoff"
            raise VoteError(
                f"rule = {self.rule!r}, certificate = {self.certificate!r}: this certificate is about the class of "
                f"the other rule; write certificate='strongest', or rule={other!r}"
            )
        check_threat(self.threat, self.scheme)

    @cached_property
    def _vote_aware(self) -> VoteAware:
        return VoteAware(self.scheme, self.threat)

    def __call__(self, votes: ArrayLike, levels: ArrayLike | None = None) -> Certificate:
        """Return the certificate of one image: votes or packed rankings [samples], levels [shape] in 0..q (which only
        the vote-aware certificates need)."""
        given = np.asarray(votes)
        ranked = given.dtype == np.uint32
        if self._by_runoff(ranked):
            if not ranked:
                raise VoteError(
                    f"votes of dtype {given.dtype}: a run-off asks every sample which of two classes it prefers; pass "
                    "its rankings (SmoothedClassifier.rankings, Record.rankings, smoothing.pack_logits)"
                )
            return self._runoff(checked_rankings(given, self.classes), levels)
        array = checked_votes(
            Packing.of(self.classes).votes(checked_rankings(given, self.classes)) if ranked else given, self.classes
        )
        self._require_all(len(array))
        tally = Tally.of(array, self.classes, self.scheme.weights)
        method = self.certificate
        if method == "strongest":
            method = "integer" if levels is None else "vote_aware"
        if method == "paper":
            return self._ball(tally.prediction, method, paper_radius(tally), closed=True)
        radius = integer_radius(tally)
        if method == "integer" or radius is None:
            return self._ball(tally.prediction, method, radius, closed=False)
        if levels is None:
            raise InputError("the vote-aware certificate depends on the image: pass its levels as well as its votes")
        bound = self._vote_aware.hard(array, checked_levels(levels, self.scheme), tally)
        if bound.radius is None:
            ball = self._ball(tally.prediction, method, diameter(self.scheme), closed=True)
            return attrs.evolve(ball, everywhere=True, multipliers=bound.multipliers, scale=bound.scale)
        ball = self._ball(tally.prediction, method, bound.radius, closed=False)
        return attrs.evolve(ball, multipliers=bound.multipliers, scale=bound.scale)

    def _by_runoff(self, ranked: bool) -> bool:
        if self.certificate != "strongest":
            return self.certificate in RUNOFF_METHODS
        return ranked if self.rule is None else self.rule == "runoff"

    def _runoff(self, codes: Codes, levels: ArrayLike | None) -> Certificate:
        self._require_all(len(codes))
        people = Electorate.of(codes, self.classes, self.scheme.weights)
        poll, method = people.poll, self.certificate
        if method == "strongest":
            method = "runoff" if levels is None else "runoff_vote_aware"
        radius = Fraction(poll.changes, poll.total) if poll.changes else None
        ball = self._ball(poll.winner, method, radius, closed=False)
        if method == "runoff" or radius is None:
            return ball
        if levels is None:
            raise InputError("the vote-aware run-off depends on the image: pass its levels as well as its rankings")
        bound = people.bound(self._vote_aware, checked_levels(levels, self.scheme))
        races = tuple((*race, m) for race, m in bound.races)
        if bound.radius is None:
            ball = attrs.evolve(ball, radius=diameter(self.scheme), closed=True, everywhere=True)
        else:
            ball = attrs.evolve(ball, radius=bound.radius)
        return attrs.evolve(ball, races=races, scale=bound.scale)

    def _require_all(self, given: int) -> None:
        if given != self.scheme.samples:
            raise VoteError(f"{given} votes, but the scheme has {self.scheme.samples} samples: all are needed")

    def _ball(self, prediction: int, method: str, radius: Fraction | None, *, closed: bool) -> Certificate:
        scheme = self.scheme
        return Certificate(prediction, method, radius, closed, scheme.metric, scheme.q, scheme.shape, self.threat)


def checked_levels(levels: ArrayLike, scheme: Scheme) -> NDArray[np.int64]:
    """Return one image's levels, flat, or an InputError that says what is wrong."""
    array = np.asarray(levels)
    if array.dtype.kind not in "iu" or array.shape not in (scheme.shape, (scheme.features,)):
        raise InputError(
            f"levels of dtype {array.dtype} and shape {array.shape}: integers of shape {scheme.shape} are needed"
        )
    flat = array.astype(np.int64).ravel()
    if flat.min() < 0 or flat.max() > scheme.q:
        raise InputError(f"levels span {flat.min()}..{flat.max()}, but the scheme's grid is 0..{scheme.q}")
    return flat


def diameter(scheme: Scheme) -> Fraction:
    """Return an upper bound on the distance of any two points: sum_i g_i(1), each rounded up."""
    tops = [int(floors[-1]) + 1 for floors in scheme.metric.floors(COST_SCALE, scheme.q)]
    return Fraction(sum(tops[c] for c in scheme.component.tolist()), COST_SCALE)


def certify(
    votes: ArrayLike,
    levels: ArrayLike | None,
    scheme: Scheme,
    classes: int,
    *,
    certificate: Method = "strongest",
    threat: Threat | None = None,
    rule: Rule | None = None,
) -> Certificate:
    """Return the certificate of one image from its votes (or packed rankings); for many images make one `Certifier`, or
    call `certify_all`.

    >>> from smoothing import Scheme
    >>> votes = np.array([1, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> scheme = Scheme.l1(2, shape=(3,), q=4)
    >>> for method in ("paper", "integer", "vote_aware"):
    ...     ball = certify(votes, np.array([0, 2, 4]), scheme, classes=2, certificate=method)
    ...     print(ball.prediction, "<=" if ball.closed else "<", ball.radius)
    1 <= 5/16
    1 < 3/8
    1 < 3/8
    """
    chosen = {} if threat is None else {"threat": threat}
    return Certifier(scheme, classes, certificate, rule=rule, **chosen)(votes, levels)


def certify_all(
    votes: Iterable[ArrayLike],
    levels: Iterable[ArrayLike] | None,
    scheme: Scheme,
    classes: int,
    *,
    certificate: Method = "strongest",
    threat: Threat | None = None,
    rule: Rule | None = None,
) -> Iterator[Certificate]:
    """Yield the certificates of many images, one by one: votes (or rankings) [images, samples] and levels [images,
    shape], or any iterables of the like.

    >>> from smoothing import Scheme
    >>> votes = np.array([[1, 1, 1, 0], [0, 0, 0, 0]], dtype=np.uint8)
    >>> [str(ball.radius) for ball in certify_all(votes, None, Scheme.l1(1, shape=(3,), q=4), classes=2)]
    ['1/4', '3/4']
    """
    chosen = {} if threat is None else {"threat": threat}
    certifier = Certifier(scheme, classes, certificate, rule=rule, **chosen)
    if levels is None:
        yield from map(certifier, votes)
    else:
        for one, image in zip(votes, levels, strict=True):
            yield certifier(one, image)
