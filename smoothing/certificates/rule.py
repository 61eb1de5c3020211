"""The rule by which the samples' rankings make one class."""

from __future__ import annotations

from typing import Literal, get_args

from ecm.spelling import spelled
from smoothing.errors import VoteError

Rule = Literal["plurality", "runoff"]

# What a smoothed classifier uses unless told otherwise. Certificates of one rule say nothing about the other's class.
DEFAULT_RULE: Rule = "runoff"


def checked_rule(rule: object) -> Rule:
    """Return the rule, however it is spelled, or raise a VoteError that names the two there are.

    >>> checked_rule("run-off")
    'runoff'
    """
    for known in get_args(Rule):
        if isinstance(rule, str) and spelled(rule, get_args(Rule)) == known:
            found: Rule = known
            return found
    raise VoteError(f"rule = {rule!r} is unknown; write one of {', '.join(get_args(Rule))}")
