"""Certification runs: votes and certificates of many images, their table and accuracies."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.certification.accuracy import Accuracy
    from zoo.certification.certification import METHODS, Certification, Row
    from zoo.certification.documents import export
    from zoo.certification.run import certified_data, certify, chosen_radii, find_run, read_about, read_certification

__all__ = [
    "METHODS",
    "Accuracy",
    "Certification",
    "Row",
    "certified_data",
    "certify",
    "chosen_radii",
    "export",
    "find_run",
    "read_about",
    "read_certification",
]

__getattr__ = lazy(
    __name__,
    {
        "accuracy": "Accuracy",
        "certification": "Certification METHODS Row",
        "documents": "export",
        "run": "certified_data certify chosen_radii find_run read_about read_certification",
    },
)
