"""Certification runs: votes and certificates of many images, their table and accuracies."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.certification.accuracy import Accuracy
    from zoo.certification.certification import METHODS, Certification, Row, Unit, methods_up_to
    from zoo.certification.documents import export
    from zoo.certification.pandas_rows import frame, html_table
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
    from zoo.certification.tolerance import rounded_tolerance

__all__ = [
    "METHODS",
    "Accuracy",
    "Certification",
    "Row",
    "Unit",
    "ball_text",
    "certified_data",
    "certify",
    "chosen_radii",
    "export",
    "find_run",
    "fitting_data",
    "frame",
    "html_table",
    "image_order",
    "kept_on_disk",
    "methods_up_to",
    "moved_to",
    "read_about",
    "read_ball",
    "read_certification",
    "rounded_tolerance",
    "run_folder",
]

__getattr__ = lazy(
    __name__,
    {
        "accuracy": "Accuracy",
        "certification": "Certification METHODS Row Unit methods_up_to",
        "documents": "export",
        "pandas_rows": "frame html_table",
        "run": "certified_data certify chosen_radii find_run fitting_data image_order kept_on_disk moved_to read_about read_certification run_folder",
        "table": "ball_text read_ball",
        "tolerance": "rounded_tolerance",
    },
)
