"""Certificates from votes: one file per certificate, one interface for all."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.certificates.certificate import RUNOFF_METHODS, Certificate, Threat
    from smoothing.certificates.certifier import Certifier, Method, certify, certify_all, checked_levels, diameter
    from smoothing.certificates.electorate import preferences
    from smoothing.certificates.integer import integer_bound, integer_radius
    from smoothing.certificates.paper import paper_radius
    from smoothing.certificates.randomized import ABSTAIN, RandomizedCertificate, RandomizedSmoothing
    from smoothing.certificates.ranking import (
        Codes,
        Packing,
        Votes,
        checked_rankings,
        pack_logits,
        pack_orders,
        vote_dtype,
    )
    from smoothing.certificates.roots import root_below
    from smoothing.certificates.rule import DEFAULT_RULE, Rule, checked_rule
    from smoothing.certificates.runoff import certify_runoff, finalists
    from smoothing.certificates.soft import certify_soft, certify_soft_sums
    from smoothing.certificates.stored_multipliers import replay
    from smoothing.certificates.tally import Tally, checked_votes, unsure_code
    from smoothing.certificates.vote_aware import VoteAware

__all__ = [
    "ABSTAIN",
    "DEFAULT_RULE",
    "RUNOFF_METHODS",
    "Certificate",
    "Certifier",
    "Codes",
    "Method",
    "Packing",
    "RandomizedCertificate",
    "RandomizedSmoothing",
    "Rule",
    "Tally",
    "Threat",
    "VoteAware",
    "Votes",
    "certify",
    "certify_all",
    "certify_runoff",
    "certify_soft",
    "certify_soft_sums",
    "checked_levels",
    "checked_rankings",
    "checked_rule",
    "checked_votes",
    "diameter",
    "finalists",
    "integer_bound",
    "integer_radius",
    "pack_logits",
    "pack_orders",
    "paper_radius",
    "preferences",
    "replay",
    "root_below",
    "unsure_code",
    "vote_dtype",
]

__getattr__ = lazy(
    __name__,
    {
        "certificate": "Certificate RUNOFF_METHODS Threat",
        "certifier": "Certifier Method certify certify_all checked_levels diameter",
        "electorate": "preferences",
        "integer": "integer_bound integer_radius",
        "paper": "paper_radius",
        "randomized": "ABSTAIN RandomizedCertificate RandomizedSmoothing",
        "ranking": "Codes Packing Votes checked_rankings pack_logits pack_orders vote_dtype",
        "roots": "root_below",
        "rule": "DEFAULT_RULE Rule checked_rule",
        "runoff": "certify_runoff finalists",
        "soft": "certify_soft certify_soft_sums",
        "stored_multipliers": "replay",
        "tally": "Tally checked_votes unsure_code",
        "vote_aware": "VoteAware",
    },
)
