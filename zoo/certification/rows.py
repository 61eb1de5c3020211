"""The rows of a run: votes into the record, certificates from the votes, one row after the other into the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.progress import ProgressBar
from smoothing import Packing, Record, SmoothedClassifier, digest
from smoothing.certificates import Certifier, Tally
from zoo.certification.about import same_run, write_about
from zoo.certification.certification import Row
from zoo.certification.images import image_order
from zoo.certification.recounts import Recount, by_image
from zoo.certification.table import Table
from zoo.data import Dataset
from zoo.distributed import Workers
from zoo.folder import TABLE
from zoo.models import Model


@attrs.frozen
class Run:
    """A run that has begun: the classifier that votes, the record of its votes, and the table of its rows."""

    model: Model
    data: Dataset
    classifier: SmoothedClassifier
    record: Record
    table: Table
    about: dict[str, Any]


def all_rows(run: Run, order: NDArray[np.int64], here: Workers, progress: bool) -> dict[int, Row]:
    """Vote on what the record lacks, write the rows that the table lacks; all rows of the table, on every process."""
    split, classifier = run.data.test, run.classifier
    voted = set(run.record.read()["index"].tolist())
    here.wait()  # everybody has read before anybody writes
    size = len(order) if set(order.tolist()) <= voted else classifier.group  # asking for it evaluates the base
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    groups = [group for group in groups if not set(group.tolist()) <= voted][here.rank :: here.world]
    with _rows(run, here) as write, run.record.writer(here.rank) as writer:
        with ProgressBar(sum(map(len, groups)), "voting", progress and here.leads and bool(groups)) as advance:
            for group in groups:
                began = time.perf_counter()
                levels = split.take(group.tolist())
                votes = classifier.rankings(levels)
                seconds = (time.perf_counter() - began) / len(group)
                fresh = [k for k, idx in enumerate(group.tolist()) if idx not in voted]
                for k in fresh:
                    writer.append_rankings(int(group[k]), digest(levels[k]), votes[k], classifier.scheme.weights)
                writer.sync()
                for k in fresh:
                    write(int(group[k]), votes[k], levels[k].cpu().numpy(), seconds)
                advance(len(group))
        here.wait()
        if here.leads:
            write.rows.update(_counted_again(run, _read_parts(run)))
            _certify_voted(run, [int(idx) for idx in order if int(idx) not in write.rows], write, progress)
    if here.leads:  # one order, however often the run was stopped and however many processes there were
        run.table.start([write.rows[idx] for idx in image_order(len(split)).tolist() if idx in write.rows]).close()
        _remove_parts(run)
    here.wait()
    return run.table.read()


def _certify_voted(run: Run, images: list[int], write: _Writer, progress: bool) -> None:
    """Rows of images whose votes are in the record already."""
    if not images:
        return
    indices, votes = run.record.ballots()
    position = {int(idx): k for k, idx in enumerate(indices)}
    with ProgressBar(len(images), "certificates", progress) as advance:
        for idx in images:
            write(idx, votes[position[idx]], run.data.test.take([idx])[0].cpu().numpy(), 0.0)
            advance(1)


class _Writer:
    """Makes the row of each image from its votes and appends it to the table, unless it is there."""

    def __init__(self, run: Run, rows: dict[int, Row], append: Callable[[str], None]) -> None:
        self.rows, self._run, self._append = rows, run, append
        self._labels = run.data.test.labels.cpu().numpy()
        scheme, classes = run.model.scheme, run.model.classes
        self._certifiers = {method: Certifier(scheme, classes, method) for method in run.table.methods}

    def __call__(self, idx: int, votes: NDArray[Any], levels: NDArray[Any], seconds: float) -> None:
        if idx in self.rows:
            return
        self.rows[idx] = make_row((idx, int(self._labels[idx])), votes, levels, self._certifiers, seconds)
        self._append(self._run.table.line(self.rows[idx]))


def make_row(
    image: tuple[int, int], votes: NDArray[Any], levels: NDArray[Any], certifiers: dict[str, Certifier], seconds: float
) -> Row:
    """Return the row of an image (its index and label) from its votes, or packed rankings; the certificates' time is
    added to `seconds`."""
    began = time.perf_counter()
    first = next(iter(certifiers.values()))
    cast = Packing.of(first.classes).votes(votes) if votes.dtype == np.uint32 else votes
    tally = Tally.of(cast, first.classes, first.scheme.weights)
    balls = {method: certifier(votes, levels) for method, certifier in certifiers.items()}
    seconds = round(seconds + time.perf_counter() - began, 6)
    return Row(*image, tally.counts[image[1]], tally.unsure, seconds, balls)


@contextmanager
def _rows(run: Run, here: Workers) -> Iterator[_Writer]:
    """The writer of this process's rows: the leading one has the table itself, with the rows of this very run that are
    there already (of a larger limit, too); the others have a part each, which the leading one collects in the end."""
    kept: dict[int, Row] = {}
    table = run.table
    if here.leads:
        folder = table.path.parent
        if same_run(folder, run.about):
            kept = _counted_again(run, table.read() | _read_parts(run))
        write_about(folder, run.about)
        file = table.start(list(kept.values()))
        _remove_parts(run)
        here.wait()
    else:
        here.wait()
        table = Table(table.path.with_name(f"{TABLE}.rank-{here.rank:05d}"), table.scheme, table.methods)
        file = table.start([])
    with file:

        def append(line: str) -> None:
            file.write(line)
            file.flush()

        yield _Writer(run, kept, append)


def _counted_again(run: Run, rows: dict[int, Row]) -> dict[int, Row]:
    """Return the rows that a table holds, after a recount; those without votes are left out and made anew."""
    split, recount = run.data.test, Recount(run.model.scheme, run.model.classes, run.table.methods)
    votes = by_image(*run.record.ballots()) if rows else {}
    labels = split.labels.cpu().numpy()
    kept = {idx: row for idx, row in rows.items() if idx in votes and idx < len(split)}
    for idx, row in kept.items():
        recount.check(row, votes[idx], int(labels[idx]), split.take([idx])[0].cpu().numpy())
    return kept


def _parts(run: Run) -> list[Path]:
    return sorted(run.table.path.parent.glob(f"{TABLE}.rank-?????"))


def _read_parts(run: Run) -> dict[int, Row]:
    tables = (Table(path, run.table.scheme, run.table.methods) for path in _parts(run))
    return {idx: row for table in tables for idx, row in table.read().items()}


def _remove_parts(run: Run) -> None:
    for path in _parts(run):
        path.unlink()
