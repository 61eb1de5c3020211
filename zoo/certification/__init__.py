"""Certification runs: votes and certificates of many images, their table and accuracies."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.certification.about import read_about
    from zoo.certification.accuracy import Accuracy
    from zoo.certification.certification import METHODS, Certification, Row, chosen_certificate, methods_up_to
    from zoo.certification.curves import (
        COLORS,
        INK,
        METHOD_COLORS,
        METHOD_NAMES,
        RULE,
        certified_curve,
        design_figure,
        furthest,
        histogram,
        law_figure,
        new_figure,
        png,
        radius_histogram,
        radius_label,
        steps,
        svg,
        whole_ticks,
    )
    from zoo.certification.documents import export
    from zoo.certification.images import certified_data, fitting_data, image_order
    from zoo.certification.place import kept_on_disk, moved_to, run_folder
    from zoo.certification.reading import find_run, read_certification
    from zoo.certification.run import certify
    from zoo.certification.settings import chosen_radii
    from zoo.certification.table import ball_text, read_ball
    from zoo.certification.unit import Unit

__all__ = [
    "COLORS",
    "INK",
    "METHODS",
    "METHOD_COLORS",
    "METHOD_NAMES",
    "RULE",
    "Accuracy",
    "Certification",
    "Row",
    "Unit",
    "ball_text",
    "certified_curve",
    "certified_data",
    "certify",
    "chosen_certificate",
    "chosen_radii",
    "design_figure",
    "export",
    "find_run",
    "fitting_data",
    "furthest",
    "histogram",
    "image_order",
    "kept_on_disk",
    "law_figure",
    "methods_up_to",
    "moved_to",
    "new_figure",
    "png",
    "radius_histogram",
    "radius_label",
    "read_about",
    "read_ball",
    "read_certification",
    "run_folder",
    "steps",
    "svg",
    "whole_ticks",
]

__getattr__ = lazy(
    __name__,
    {
        "about": "read_about",
        "accuracy": "Accuracy",
        "certification": "Certification METHODS Row chosen_certificate methods_up_to",
        "curves": "COLORS INK METHOD_COLORS METHOD_NAMES RULE certified_curve design_figure furthest histogram "
        "law_figure new_figure png radius_histogram radius_label steps svg whole_ticks",
        "documents": "export",
        "images": "certified_data fitting_data image_order",
        "place": "kept_on_disk moved_to run_folder",
        "reading": "find_run read_certification",
        "run": "certify",
        "settings": "chosen_radii",
        "table": "ball_text read_ball",
        "unit": "Unit",
    },
)
