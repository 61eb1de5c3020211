"""Certificates from votes: one file per certificate, one interface for all."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.certificates.certificate import Certificate, Threat
    from smoothing.certificates.certifier import Certifier, Method, certify, certify_all, checked_levels, diameter
    from smoothing.certificates.integer import integer_bound, integer_radius
    from smoothing.certificates.paper import paper_radius
    from smoothing.certificates.randomized import ABSTAIN, RandomizedCertificate, RandomizedSmoothing
    from smoothing.certificates.roots import root_below
    from smoothing.certificates.runoff import certify_runoff
    from smoothing.certificates.soft import certify_soft, certify_soft_sums
    from smoothing.certificates.tally import Tally, checked_votes, unsure_code
    from smoothing.certificates.vote_aware import VoteAware

__all__ = [
    "ABSTAIN",
    "Certificate",
    "Certifier",
    "Method",
    "RandomizedCertificate",
    "RandomizedSmoothing",
    "Tally",
    "Threat",
    "VoteAware",
    "certify",
    "certify_all",
    "certify_runoff",
    "certify_soft",
    "certify_soft_sums",
    "checked_levels",
    "checked_votes",
    "diameter",
    "integer_bound",
    "integer_radius",
    "paper_radius",
    "root_below",
    "unsure_code",
]

__getattr__ = lazy(
    __name__,
    {
        "certificate": "Certificate Threat",
        "certifier": "Certifier Method certify certify_all checked_levels diameter",
        "integer": "integer_bound integer_radius",
        "paper": "paper_radius",
        "randomized": "ABSTAIN RandomizedCertificate RandomizedSmoothing",
        "roots": "root_below",
        "runoff": "certify_runoff",
        "soft": "certify_soft certify_soft_sums",
        "tally": "Tally checked_votes unsure_code",
        "vote_aware": "VoteAware",
    },
)
