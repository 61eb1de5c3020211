"""Measures tables that scikit-learn ships and writes the results into docs/howto/tables.md.

    python -m docs.programs.tables             # rewrite the page from docs/records/tables.json
    python -m docs.programs.tables --measure   # measure again first: about two minutes on one CPU core

Every row of a table is tested once, by five-fold cross-validation: the description of the columns (their limits), the
unsmoothed and the smoothed classifier are fitted on four fifths of the rows and tested on the fifth that is left.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parents[1]
PAGE, RECORD = HERE / "howto" / "tables.md", HERE / "records" / "tables.json"
BEGIN, END = "<!-- results: tables -->", "<!-- end of results -->"
FOLDS, Q = 5, 63
TABLES = ("breast_cancer", "wine")
COUNTS, RADII = (1, 2, 3, 4), ("1/4", "1/2", 1, 2)
SPARSE, ROOT = "sign(z)/8", "z**0.5/4"
BUDGETS = {SPARSE: (8, 16, 64, 256), ROOT: (16, 32, 64, 128, 512)}


def estimators() -> dict[str, Any]:
    """The estimators of the page, as scikit-learn makes them but for their size."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(max_iter=50, random_state=0),
        "RandomForestClassifier": RandomForestClassifier(min_samples_leaf=3, random_state=0),
        "LogisticRegression": LogisticRegression(max_iter=2000),
    }


def folds(name: str) -> Iterator[Any]:
    """The five tables (train, test) of a data set; every row is in one test split."""
    from sklearn import datasets
    from sklearn.model_selection import StratifiedKFold

    from zoo import Table

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = bunch.data.assign(target=bunch.target_names[bunch.target])
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in splitter.split(frame, frame["target"]):
        yield Table.from_frame(frame.iloc[train], "target", test=frame.iloc[test], q=Q, outside="clip", name=name)


@cache
def unsmoothed(name: str, estimator: str) -> float:
    """Accuracy of the estimator itself on all rows of a table, in percent."""
    from zoo.models import unsmoothed_accuracy

    tables = list(folds(name))
    hits = sum(unsmoothed_accuracy(estimators()[estimator], table) * len(table.test) for table in tables)
    return 100 * hits / sum(len(table.test) for table in tables)


def measure(name: str, formula: str, budget: int, estimator: Any, coupling: Any = "spread") -> dict[str, Any]:
    """One classifier on all rows of a table, in percent; `seconds` are those of all votes, per thousand rows."""
    from smoothing import Packing, Scheme, SmoothedClassifier, certify_all
    from zoo import fit_estimator

    sparse = formula == SPARSE
    rows, base, smoothed, seconds = 0, 0.0, 0, 0.0
    certified = dict.fromkeys(COUNTS if sparse else RADII, 0)
    for table in folds(name):
        metric = table.spec.metric(formula)
        scheme = Scheme(metric.design(budget, q=Q), shape=table.shape, coupling=coupling)
        train, test, labels = table.train.images, table.test.images, table.test.labels.numpy()
        fitted = fit_estimator(estimator, scheme, train, table.train.labels)
        classifier = SmoothedClassifier(fitted, scheme, table.classes, batch_size=8192)
        began = time.process_time()
        codes = classifier.rankings(test)
        seconds += time.process_time() - began
        votes = Packing.of(table.classes).votes(codes)
        balls = list(certify_all(codes, test.numpy(), scheme, table.classes, rule=classifier.rule))
        right = np.array([ball.prediction == label for ball, label in zip(balls, labels, strict=True)])
        rows, smoothed = rows + len(test), smoothed + int(right.sum())
        base += float((votes == labels[:, None]).mean(axis=1).sum())
        for radius in certified:
            held = [ball.covers_lp(Fraction(radius)) for ball in balls]
            certified[radius] += int((right & np.array(held)).sum())
    percent = {str(radius): round(100 * count / rows, 1) for radius, count in certified.items()}
    return {
        "table": name,
        "formula": formula,
        "budget": budget,
        "coupling": coupling,
        "estimator": type(estimator).__name__,
        "rows": rows,
        "columns": int(table.shape[0]),
        "unsmoothed": round(unsmoothed(name, type(estimator).__name__), 1),
        "base": round(100 * base / rows, 1),
        "smoothed": round(100 * smoothed / rows, 1),
        "certified": percent,
        "milliseconds": round(1000 * seconds / rows, 2),
    }


def measure_all() -> list[dict[str, Any]]:
    """Everything the page shows."""
    found = []
    every = estimators()
    boosting = every["HistGradientBoostingClassifier"]
    for name in TABLES:
        for formula, budgets in BUDGETS.items():
            for estimator in every.values():
                found.append(measure(name, formula, budgets[0] if formula == SPARSE else 128, estimator))
            for budget in budgets:
                if budget != (budgets[0] if formula == SPARSE else 128):
                    found.append(measure(name, formula, budget, boosting))
            usual = budgets[0] if formula == SPARSE else 128
            found.append(measure(name, formula, usual, boosting, "independent"))
            print(name, formula, flush=True)
    return found


# ---- the page --------------------------------------------------------------------------------------------------------


def table_text(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def block(found: list[dict[str, Any]]) -> str:
    """The part of the page between its marks."""
    parts = []
    for formula, radii, unit in ((SPARSE, COUNTS, "changed columns"), (ROOT, RADII, "ℓ_1/2 radius")):
        usual = BUDGETS[formula][0] if formula == SPARSE else 128
        head = ["table", "estimator", "unsmoothed", "smoothed", *(f"{radius}" for radius in radii)]
        rows = [
            [
                f"`{one['table']}`, {one['rows']} rows, {one['columns']} columns",
                one["estimator"],
                f"{one['unsmoothed']}%",
                f"{one['smoothed']}%",
                *(f"{one['certified'][str(radius)]}%" for radius in radii),
            ]
            for one in found
            if one["formula"] == formula and one["budget"] == usual and one["coupling"] == "spread"
        ]
        parts.append(f"g = {formula}, {usual} votes per row; the last columns are certified accuracy by {unit}:")
        parts.append(table_text(head, rows))
    parts.append(
        "What an outcome budget B (votes per row) costs, with HistGradientBoostingClassifier. *Base* is the fraction "
        "of individual votes that are correct; *time* is that of all votes of one row on one CPU core. With coupling "
        "`independent` the columns that are shown together are chosen at random instead of spread evenly."
    )
    head = ["table", "g", "B", "coupling", "time", "base", "smoothed", "certified"]
    rows = []
    for one in sorted(
        (one for one in found if one["estimator"].startswith("Hist")),
        key=lambda one: (one["table"], one["formula"], one["coupling"] == "independent", one["budget"]),
    ):
        radius = "3" if one["formula"] == SPARSE else "1"
        where = "3 columns" if one["formula"] == SPARSE else "radius 1"
        rows.append(
            [
                f"`{one['table']}`",
                one["formula"],
                str(one["budget"]),
                one["coupling"],
                f"{one['milliseconds']} ms",
                f"{one['base']}%",
                f"{one['smoothed']}%",
                f"{one['certified'][radius]}% at {where}",
            ]
        )
    parts.append(table_text(head, rows))
    return "\n\n".join(parts)


def rendered(page: str, found: list[dict[str, Any]]) -> str:
    """The page with its block written anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{block(found)}\n{END}{after}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure again before the page is written")
    if parser.parse_args().measure:
        import torch

        torch.set_num_threads(1)
        RECORD.write_text(json.dumps(measure_all(), indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), json.loads(RECORD.read_text())))


if __name__ == "__main__":
    main()
