"""Certification runs: votes and certificates of many images, their table and accuracies."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.certification.accuracy import Accuracy
    from zoo.certification.certification import METHODS, Certification, Row, Unit, chosen_certificate, methods_up_to
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
    from zoo.certification.run import (
        certified_data,
        certify,
        chosen_radii,
        find_run,
        fitting_data,
        image_order,
        kept_on_disk,
        moved_to,
        read_about,
        read_certification,
        run_folder,
    )
    from zoo.certification.table import ball_text, read_ball

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
        "accuracy": "Accuracy",
        "certification": "Certification METHODS Row Unit chosen_certificate methods_up_to",
        "curves": "COLORS INK METHOD_COLORS METHOD_NAMES RULE certified_curve design_figure furthest histogram "
        "law_figure new_figure png radius_histogram radius_label steps svg whole_ticks",
        "documents": "export",
        "run": "certified_data certify chosen_radii find_run fitting_data image_order kept_on_disk moved_to read_about "
        "read_certification run_folder",
        "table": "ball_text read_ball",
    },
)
