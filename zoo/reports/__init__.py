"""Reports: the HTML page of a run, its curves and pictures, and comparisons of runs."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.reports.comparison import Comparison, compare
    from zoo.reports.display import down, png_address
    from zoo.reports.leaderboards import leaderboard
    from zoo.reports.page import report
    from zoo.reports.statement import Statement, statements

__all__ = ["Comparison", "Statement", "compare", "down", "leaderboard", "png_address", "report", "statements"]

__getattr__ = lazy(
    __name__,
    {
        "comparison": "Comparison compare",
        "display": "down png_address",
        "leaderboards": "leaderboard",
        "page": "report",
        "statement": "Statement statements",
    },
)
