"""The rule by which the samples' rankings make one class."""

from __future__ import annotations

from typing import Literal, get_args

from smoothing.errors import VoteError

Rule = Literal["plurality", "runoff"]

# What a smoothed classifier uses unless told otherwise. Certificates of one rule say nothing about the other's class.
DEFAULT_RULE: Rule = "runoff"


def checked_rule(rule: object) -> Rule:
    """Return the rule itself, or a VoteError that names the two there are.

    >>> checked_rule("runoff")
    'runoff'
    """
    for known in get_args(Rule):
        if rule == known:
            found: Rule = known
            return found
    raise VoteError(f"rule = {rule!r} is unknown; write one of {', '.join(get_args(Rule))}")
