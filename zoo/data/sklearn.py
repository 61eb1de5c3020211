"""Tables that scikit-learn ships: nothing to download. Limits are those of the training rows; others are clipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zoo.data.table import Table


def load_table(name: str) -> Table:
    """Load `breast_cancer` (30 measurements, 2 classes), `wine` (13, 3 classes) or `iris` (4, 3 classes), with q =
    63.

    >>> load_table("wine")
    Table('wine', 142 train, 36 test, columns alcohol, ... (13 columns); target class: class_0, class_1, class_2; q=63)
    """
    from sklearn import datasets

    read: Callable[[], Any] = getattr(datasets, f"load_{name}")
    bunch = read()
    columns: dict[str, Any] = {str(column): bunch.data[:, i] for i, column in enumerate(bunch.feature_names)}
    columns["class"] = bunch.target_names[bunch.target]
    return Table.from_frame(columns, "class", name=name, outside="clip", source={"scikit-learn": f"load_{name}"})
