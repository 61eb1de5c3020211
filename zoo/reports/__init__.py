"""Reports: the HTML page of a run, its curves and pictures, and comparisons of runs."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.reports.comparison import Comparison, compare
    from zoo.reports.curves import COLORS, INK, RULE, certified_curve, png, radius_histogram, steps, svg
    from zoo.reports.display import down, png_address
    from zoo.reports.leaderboards import leaderboard
    from zoo.reports.page import report
    from zoo.reports.statement import Statement, statements

__all__ = [
    "COLORS",
    "INK",
    "RULE",
    "Comparison",
    "Statement",
    "certified_curve",
    "compare",
    "down",
    "leaderboard",
    "png",
    "png_address",
    "radius_histogram",
    "report",
    "statements",
    "steps",
    "svg",
]

__getattr__ = lazy(
    __name__,
    {
        "comparison": "Comparison compare",
        "curves": "COLORS INK RULE certified_curve png radius_histogram steps svg",
        "display": "down png_address",
        "leaderboards": "leaderboard",
        "page": "report",
        "statement": "Statement statements",
    },
)
