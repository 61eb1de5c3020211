"""One figure shows what was derived, for every kind of metric, without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecm import ECM
from ecm.figure import plot

METRICS = {
    "power": ECM.lp("1/2", 18),
    "kinks and a step": ECM.from_expr("Min(3*z, 1)/4 + sign(z)/8"),
    "table": ECM.from_values([0, "1/2", "3/4", "3/4", "3/4"]),
    "free": ECM.from_expr("0"),
    "grouped": ECM.grouped([ECM.lp("1/2", 18), ECM.l1(18), ECM.l0(18)]),
}


def titles(axes: Any) -> list[str]:
    return [a.get_title() for a in axes if a.get_title()]


@pytest.mark.parametrize("name", METRICS)
def test_four_panels_a_component(name: str, tmp_path: Path) -> None:
    """Each component has its four panels under its own formula, and the figure is written."""
    metric = METRICS[name]
    figure = plot(metric, q=4, budget=50)
    assert len(figure.subfigs) == len(metric.components)
    for part, profile in zip(figure.subfigs, metric.components, strict=True):
        assert profile.text in part.get_suptitle()
        assert [title.split(" of ")[0] for title in titles(part.axes)] == [
            "g and split probability", "law", "law", "allocation",
        ]  # fmt: skip
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_the_curves_are_the_derived_numbers() -> None:
    """The dots are the law's split probabilities and the allocation's eps stands in the title."""
    metric = ECM.lp("1/2", 2)
    figure = metric.plot(q=16, budget=100)
    dots = next(line for line in figure.axes[0].lines if "split" in str(line.get_label()))
    z, split = (np.asarray(values) for values in dots.get_data())
    assert split == pytest.approx(np.sqrt(z) / 2)
    assert titles(figure.axes)[-1] == f"allocation of B = 100, eps = {metric.allocate(100, 16).eps:.4g}"


def test_no_window_and_no_global_state() -> None:
    """The figure never enters pyplot, so a thousand plots leave nothing behind."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    plot(METRICS["power"], q=4)
    assert plt.get_fignums() == before


def test_many_levels() -> None:
    """Sixteen-bit levels are drawn without one stem a width and without a search for the optimum."""
    figure = plot(ECM.lp("1/2", 2), q=65535)
    assert "B = 2000" in titles(figure.axes)[-1]
