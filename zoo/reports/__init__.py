"""Reports: the HTML page of a run, its curves and pictures, and comparisons of runs."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.reports.comparison import Comparison, compare
    from zoo.reports.curves import COLORS, INK, RULE, certified_curve, png, radius_histogram, svg
    from zoo.reports.display import down, png_address
    from zoo.reports.page import report

__all__ = [
    "COLORS",
    "INK",
    "RULE",
    "Comparison",
    "certified_curve",
    "compare",
    "down",
    "png",
    "png_address",
    "radius_histogram",
    "report",
    "svg",
]

__getattr__ = lazy(
    __name__,
    {
        "comparison": "Comparison compare",
        "curves": "COLORS INK RULE certified_curve png radius_histogram svg",
        "display": "down png_address",
        "page": "report",
    },
)
