"""The paper's experiments: what to train and certify, what was published, and which claims hold."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.experiments.checks import check
    from zoo.experiments.plan import SIZES, measure
    from zoo.experiments.printing import listing, show, show_listing
    from zoo.experiments.run import reproduce
    from zoo.experiments.table import Reproduction

__all__ = ["SIZES", "Reproduction", "check", "listing", "measure", "reproduce", "show", "show_listing"]

__getattr__ = lazy(
    __name__,
    {
        "checks": "check",
        "plan": "SIZES measure",
        "printing": "listing show show_listing",
        "run": "reproduce",
        "table": "Reproduction",
    },
)
