"""Certificates from votes: one file each, one interface."""

from smoothing._certificates._certificate import RUNOFF_METHODS, Certificate, Threat
from smoothing._certificates._certify import Certifier, Method, certify, certify_all
from smoothing._certificates._runoff import certify_runoff
from smoothing._certificates._soft import certify_soft, certify_soft_sums
from smoothing._certificates._tally import Tally

__all__ = [
    "RUNOFF_METHODS",
    "Certificate",
    "Certifier",
    "Method",
    "Tally",
    "Threat",
    "certify",
    "certify_all",
    "certify_runoff",
    "certify_soft",
    "certify_soft_sums",
]
