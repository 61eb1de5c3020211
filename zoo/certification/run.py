"""A certification run: votes of every image into a record, certificates from the votes, a table row by row.

Both can be stopped at any moment. The record keeps whole images, the table whole rows; the same call goes on from
there and ends with the same votes and, but for the times, the same table.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from numpy.typing import NDArray

from ecm.errors import ECMError
from ecm.number import Exact, exact
from smoothing import Header, Packing, Record, SmoothedClassifier, digest
from smoothing.certificates import RUNOFF_METHODS, Certifier, Tally
from smoothing.votes import fitting_header, progress_bar
from zoo.certification.certification import ALL_METHODS, Certification, Row, Unit, chosen_certificate, methods_up_to
from zoo.certification.recounts import Recount, by_image, recount
from zoo.certification.table import MEANING, Table
from zoo.certification.tolerance import measured_tolerance, recorded_tolerance, require_same_machine
from zoo.data import DATASETS, Dataset, load_data, load_evaluated, with_columns
from zoo.distributed import Workers, workers
from zoo.errors import CertifyError, DataError, ModelError
from zoo.files import PART, alone, write_atomically
from zoo.folder import ABOUT, CARD, SCHEME, TABLE, VOTES
from zoo.models import PRETRAINED, RUNS, Model, find_model, load, read_card, read_scheme, require_unchanged, update_card
from zoo.untrusted import read_json

FORMAT = "ecm-certification-1"
_ENTRIES = (
    *("model", "weights", "scheme", "tolerance", "certificate", "radii"),
    *("data.name", "data.test_digest", "data.test_images"),
    *("card.model.name", "card.data.name", "card.data.digest"),
)


def certify(
    model: Model | str | os.PathLike[str],
    data: Any = None,
    *,
    limit: int | None = None,
    radii: Sequence[Exact] | None = None,
    rule: str | None = None,
    certificate: str = "strongest",
    tolerance: float | None = None,
    batch_size: int | None = None,
    device: str | torch.device | None = None,
    root: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Certification:
    """Certify the test images of `data` (by default those of the data set the model was trained on).

    Everything that is given is certified: `(images, labels)`, a torch data set or `DataLoader`, a Hugging Face split, a
    folder of class folders, with the levels and classes of the model. Of what has two halves (a named data set, a
    `Dataset`, a pair (train, test)) it is the test half.

    `limit` takes the first images of one fixed random order, so that a larger limit continues a smaller one and sets
    sorted by class are not a problem. `radii` (l_p radii where g = z**p/alpha, else metric distances) are those of the
    table. `rule` says how the votes make a class, "plurality" or "runoff" (default: `model.rule`); both are computed
    from one record, since it keeps how every sample ranks the classes. `certificate` is "strongest" (the vote-aware one
    of the rule), or "paper", "integer", "vote_aware" (plurality), "runoff", "runoff_vote_aware"; the weaker ones, and
    for a run-off those of the plurality, are computed along with it, from the same votes. A vote whose two best logits
    differ by at most `tolerance` is unsure and counts against the prediction; by default that is measured on this
    machine when the record is begun, and checked where the record goes on.
    `batch_size` is the number of noisy inputs in one call of the network; by default what suits it. `root` is where the
    files of a named data set lie (`--data` on the command line).

    Written into `out` (default: the model's folder): the votes, `certify.tsv` (one row an image, flushed as it comes),
    `certify.json` (what the columns mean, the accuracies). Under torchrun the images are shared among the processes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     found = certify("digits-l0.5-a4", limit=2, radii=[0, 1], out=out, progress=False)
    >>> found.images, found.scheme.samples, [row["radius"] for row in found.table()]
    (2, 512, [0.0, 1.0])
    """
    chosen_certificate(certificate, rule)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1):
        raise ECMError(f"limit = {limit!r}: write a number of images >= 1, or leave it out for all of them")
    if tolerance is not None and not (isinstance(tolerance, int | float) and 0 <= tolerance < math.inf):
        raise ECMError(
            f"tolerance = {tolerance!r}: write a difference of two logits >= 0, or leave it out to measure it"
        )
    trained = model if isinstance(model, Model) else load(model)
    require_unchanged(trained)
    loaded = fitting_data(trained, data, root)
    order = image_order(len(loaded.test))[:limit]
    folder = run_folder(trained, out)
    home = folder.resolve() == trained.path.resolve()
    if not home and (folder / CARD).exists():
        raise ModelError(f"{folder} is the folder of another model, which would be spoilt: choose another out")
    unit = Unit.under(trained.scheme)
    chosen = unit.grid() if radii is None else chosen_radii(radii, unit)
    with workers(device) as here, moved_to(trained, here), kept_on_disk(folder), ExitStack() as held:
        if here.leads:
            held.enter_context(alone(folder))
            for left in folder.glob(f".*{PART}"):  # by a process that was killed while it wrote
                left.unlink()
        here.wait()
        classifier = trained.smoothed(batch_size=batch_size)
        recorded = recorded_tolerance(folder / VOTES)
        known = recorded if tolerance is None else tolerance
        classifier.tolerance = measured_tolerance(classifier, loaded, order, here) if known is None else float(known)
        header = Header(
            scheme=trained.scheme.fingerprint,
            model=trained.card["weights"],
            data=loaded.test.digest,
            samples=trained.scheme.samples,
            classes=trained.classes,
            tolerance=classifier.tolerance,
        )
        here.wait()  # nobody looks for an older record while another process begins a new one
        header = fitting_header(header, folder / VOTES)
        here.wait()
        reported = chosen_certificate(certificate, rule, ranked=header.ranked, default=trained.rule)
        methods = methods_up_to(reported)
        if reported in RUNOFF_METHODS and not header.ranked:
            raise CertifyError(
                f"{folder / VOTES} holds votes alone, of an older version: they certify rule='plurality'; for a "
                "run-off vote again, in another folder (out=...)"
            )
        if here.leads:
            Record.create(folder / VOTES, header)
            if not home:  # only now: what belongs to another run was refused
                write_atomically(folder / SCHEME, trained.scheme.to_json().encode())
        here.wait()
        record = Record.create(folder / VOTES, header)
        if here.leads and tolerance is None and recorded is not None:
            require_same_machine(classifier, loaded, order, record)
        about = {
            "format": FORMAT,
            "model": trained.name,
            "weights": trained.card["weights"],
            "scheme": trained.scheme.fingerprint,
            "data": {"name": loaded.name, "test_digest": loaded.test.digest, "test_images": len(loaded.test)},
            "tolerance": classifier.tolerance,
            "rule": "runoff" if reported in RUNOFF_METHODS else "plurality",
            "certificate": reported,
            "radius": unit.name,
            "radii": [str(r) for r in chosen],
            "columns": {name: text for name, text in MEANING.items() if name in methods or name not in ALL_METHODS},
            "card": {part: value for part, value in trained.card.items() if part != "certification"},
        }
        run = _Run(trained, loaded, classifier, record, Table(folder / TABLE, trained.scheme, methods), about)
        rows = _execute(run, order, here, progress)
        every = Certification(
            trained.name,
            loaded.name,
            len(loaded.test),
            trained.scheme,
            tuple(rows.values()),
            reported,
            chosen,
            folder,
        )
        if here.leads:
            write_about(folder, about | {"summary": every.summary()})
            if home:
                update_card(trained, certification=every.summary())
        here.wait()
    return attrs.evolve(every, rows=tuple(rows[int(idx)] for idx in order))


def image_order(images: int) -> NDArray[np.int64]:
    """The order in which the images of a split are taken: random but always the same, so that limits are nested.

    >>> image_order(5).tolist()
    [2, 0, 1, 3, 4]
    """
    return np.random.RandomState(0).permutation(images).astype(np.int64)


@attrs.frozen
class _Run:
    model: Model
    data: Dataset
    classifier: SmoothedClassifier
    record: Record
    table: Table
    about: dict[str, Any]


def _execute(run: _Run, order: NDArray[np.int64], here: Workers, progress: bool) -> dict[int, Row]:
    """Vote on what the record lacks, write the rows that the table lacks; all rows of the table, on every process."""
    split, classifier = run.data.test, run.classifier
    voted = set(run.record.read()["index"].tolist())
    here.wait()  # everybody has read before anybody writes
    size = len(order) if set(order.tolist()) <= voted else classifier.group  # asking for it evaluates the base
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    groups = [group for group in groups if not set(group.tolist()) <= voted][here.rank :: here.world]
    with _rows(run, here) as write, run.record.writer(here.rank) as writer:
        with progress_bar(sum(map(len, groups)), "voting", progress and here.leads and bool(groups)) as advance:
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


def _certify_voted(run: _Run, images: list[int], write: _Writer, progress: bool) -> None:
    """Rows of images whose votes are in the record already."""
    if not images:
        return
    indices, votes = run.record.ballots()
    position = {int(idx): k for k, idx in enumerate(indices)}
    with progress_bar(len(images), "certificates", progress) as advance:
        for idx in images:
            write(idx, votes[position[idx]], run.data.test.take([idx])[0].cpu().numpy(), 0.0)
            advance(1)


class _Writer:
    """Makes the row of an image from its votes and appends it to the table, unless it is there."""

    def __init__(self, run: _Run, rows: dict[int, Row], append: Callable[[str], None]) -> None:
        self.rows, self._run, self._append = rows, run, append
        self._labels = run.data.test.labels.cpu().numpy()
        scheme, classes = run.model.scheme, run.model.classes
        self._certifiers = {method: Certifier(scheme, classes, method) for method in run.table.methods}  # type: ignore[arg-type]

    def __call__(self, idx: int, votes: NDArray[Any], levels: NDArray[Any], seconds: float) -> None:
        if idx in self.rows:
            return
        self.rows[idx] = make_row((idx, int(self._labels[idx])), votes, levels, self._certifiers, seconds)
        self._append(self._run.table.line(self.rows[idx]))


def make_row(
    image: tuple[int, int], votes: NDArray[Any], levels: NDArray[Any], certifiers: dict[str, Certifier], seconds: float
) -> Row:
    """The row of an image (its index and label) from its votes, or packed rankings; the certificates' time is added to
    `seconds`."""
    began = time.perf_counter()
    first = next(iter(certifiers.values()))
    cast = Packing.of(first.classes).votes(votes) if votes.dtype == np.uint32 else votes
    tally = Tally.of(cast, first.classes, first.scheme.weights)
    balls = {method: certifier(votes, levels) for method, certifier in certifiers.items()}
    seconds = round(seconds + time.perf_counter() - began, 6)
    return Row(*image, tally.counts[image[1]], tally.unsure, seconds, balls)


@contextmanager
def _rows(run: _Run, here: Workers) -> Iterator[_Writer]:
    """The writer of this process's rows: the leading one has the table itself, with the rows of this very run that are
    there already (of a larger limit, too); the others have a part each, which the leading one collects in the end."""
    kept: dict[int, Row] = {}
    table = run.table
    if here.leads:
        folder = table.path.parent
        same = ("weights", "scheme", "data", "tolerance", "certificate")
        before = read_about(folder) if (folder / ABOUT).exists() else {}
        if all(before.get(key) == run.about[key] for key in same):
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


def _counted_again(run: _Run, rows: dict[int, Row]) -> dict[int, Row]:
    """The rows that a table holds, after a recount; those without votes are left out and made anew."""
    split, recount = run.data.test, Recount(run.model.scheme, run.model.classes, run.table.methods)
    votes = by_image(*run.record.ballots()) if rows else {}
    labels = split.labels.cpu().numpy()
    kept = {idx: row for idx, row in rows.items() if idx in votes and idx < len(split)}
    for idx, row in kept.items():
        recount.check(row, votes[idx], int(labels[idx]), split.take([idx])[0].cpu().numpy())
    return kept


def _parts(run: _Run) -> list[Path]:
    return sorted(run.table.path.parent.glob(f"{TABLE}.rank-?????"))


def _read_parts(run: _Run) -> dict[int, Row]:
    tables = (Table(path, run.table.scheme, run.table.methods) for path in _parts(run))
    return {idx: row for table in tables for idx, row in table.read().items()}


def _remove_parts(run: _Run) -> None:
    for path in _parts(run):
        path.unlink()


def read_certification(path: str | os.PathLike[str]) -> Certification:
    """Return the certification that a folder (or a known name) holds, as far as it got; no weights are loaded.

    The rows are counted again from the votes in the folder, and one that contradicts them is an error. What depends on
    the image itself, the gain of the vote-aware certificate, is on trust here; `certify` and `export` prove it again.

    >>> found = read_certification("digits-l0.5-a4")
    >>> found.images, found.methods
    (359, ('paper', 'integer', 'vote_aware'))
    """
    folder = find_run(path)
    about = read_about(folder)
    try:
        scheme = read_scheme(folder)
        if scheme.fingerprint != about["scheme"]:
            raise ModelError(f"{folder}: {TABLE} was made under another scheme than {SCHEME}; certify again")
        if (folder / CARD).exists() and read_card(folder).get("weights") != about["weights"]:
            raise ModelError(f"{folder}: {TABLE} is about other weights than {CARD}; certify again")
        methods = methods_up_to(about["certificate"])
        rows = Table(folder / TABLE, scheme, methods).read()
        recorded = _recorded(folder, about)
        if recorded is not None:
            recount(rows, by_image(*recorded.ballots()), Recount(scheme, recorded.header.classes, methods))
        return Certification(
            about["model"],
            about["data"]["name"],
            int(about["data"]["test_images"]),
            scheme,
            tuple(rows.values()),
            about["certificate"],
            tuple(exact(r, "radius") for r in about["radii"]),
            folder,
            recounted=recorded is not None,
        )
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ModelError(f"{folder / ABOUT} is damaged ({error!r}): certify again") from error


def _recorded(folder: Path, about: dict[str, Any]) -> Record | None:
    """The votes beside a table; None if they were not kept."""
    if not (folder / VOTES).exists():
        return None
    record = Record.open(folder / VOTES)
    if (record.header.scheme, record.header.model) != (about["scheme"], about["weights"]):
        raise ModelError(f"{folder}: {VOTES}/ and {ABOUT} do not belong together; certify again")
    return record


def find_run(run: Certification | Model | str | os.PathLike[str]) -> Path:
    """The folder of a certified run: a path, or a name in `runs` or of the package; for a model, where `certify` wrote.

    >>> find_run("digits-l0.5-a4").name
    'digits-l0.5-a4'
    """
    if isinstance(run, Certification):
        return run.folder
    if isinstance(run, Model):
        run = run.name if run.path.parent == PRETRAINED else run.path
    if isinstance(run, str | os.PathLike):
        for folder in (Path(run), RUNS / run, PRETRAINED / run):
            if (folder / ABOUT).exists():
                return folder
    return find_model(run)


def read_about(folder: Path) -> dict[str, Any]:
    """`certify.json` of a folder, or an error that says what to do."""
    try:
        about: dict[str, Any] = read_json((folder / ABOUT).read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{folder} holds no certification: {ABOUT} is missing; run `ecm certify {folder}`") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / ABOUT} cannot be read ({error}): delete it and certify again") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelError(f"{folder / ABOUT} is not of the format {FORMAT}: delete it and certify again")
    for path in _ENTRIES:
        part: Any = about
        for key in path.split("."):
            part = part.get(key) if isinstance(part, dict) else None
        if part is None:
            raise ModelError(f"{folder / ABOUT} is damaged, it lacks the entry {path}: delete it and certify again")
    return about


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Put `certify.json` in place in one step."""
    write_atomically(folder / ABOUT, (json.dumps(about, indent=1) + "\n").encode())


def fitting_data(model: Model, data: Any, root: str | os.PathLike[str] | None) -> Dataset:
    """The data set, which must have the shape, levels and classes that the model was made for.

    Of a named data set, a `Dataset` or a pair (train, test) the test images are meant; of everything else all of it,
    with the levels and classes of the model.
    """
    trained_on = model.card["data"]
    if data is None:
        loaded = load_data(_known(trained_on["name"], f"{model.name} was trained on"), root)
        if loaded.digest != trained_on["digest"]:
            raise DataError(
                f"the {loaded.name} found here is not the one that {model.name} was trained on (another digest): pass "
                f"the data (--dataset), {loaded.name!r} too if its test images are what you want"
            )
    else:
        loaded = load_evaluated(
            with_columns(data, trained_on), model.scheme.q, model.scheme.shape, trained_on["class_names"], root
        )
    with_columns(loaded, trained_on)  # a table by name, too, must have the columns that the model was trained on
    for what, given, wanted in (
        ("shape", loaded.shape, model.scheme.shape),
        ("largest level q", loaded.q, model.scheme.q),
        ("number of classes", loaded.classes, model.classes),
    ):
        if given != wanted:
            raise DataError(
                f"{loaded.name} has the {what} {given}, but {model.name} was trained for {wanted}; pass such data"
            )
    return loaded


def certified_data(about: dict[str, Any], data: Any, root: str | os.PathLike[str] | None) -> Dataset:
    """The data set whose test images a run certified: given, or found by its name."""
    name = about["data"]["name"]
    if data is None:
        loaded = load_data(_known(name, "the run certified images of"), root)
    else:
        made = about["card"]["data"]
        loaded = load_evaluated(with_columns(data, made), made["q"], tuple(made["shape"]), made["class_names"], root)
    if loaded.test.digest != about["data"]["test_digest"]:
        raise DataError(
            f"{loaded.name}: these are not the test images that were certified (another digest); pass those of the run"
        )
    return loaded


def _known(name: str, what: str) -> str:
    if name not in DATASETS:
        raise DataError(
            f"{what} {name!r}, which cannot be found by name: pass the data (--dataset FOLDER for a folder of images)"
        )
    return name


def chosen_radii(radii: Sequence[Exact], unit: Unit) -> tuple[Fraction, ...]:
    """The radii of a table, each once, smallest first."""
    if isinstance(radii, str) or not isinstance(radii, Iterable):
        raise ECMError(f"radii = {radii!r}: write a list, as in [0, '1/2', 1]")
    chosen = tuple(sorted({exact(r, "radius") for r in radii}))
    if not chosen or chosen[0] < 0:
        raise ECMError(f"radii = {radii}: write radii >= 0, in units of the {unit.name}")
    return chosen


def run_folder(model: Model, out: str | os.PathLike[str] | None) -> Path:
    """Where the run is kept: a model that comes with the package stays as it is."""
    if out is not None:
        return Path(out)
    return RUNS / model.name if model.path.parent == PRETRAINED else model.path


@contextmanager
def moved_to(model: Model, here: Workers) -> Iterator[None]:
    """The network on the process's device, and back where it was afterwards."""
    before = model.device
    model.base.to(here.device)
    try:
        yield
    finally:
        model.base.to(before)


@contextmanager
def kept_on_disk(folder: Path) -> Iterator[None]:
    """A full disk or a missing permission, said in one sentence; what was finished is kept."""
    try:
        yield
    except OSError as error:
        raise CertifyError(
            f"{error.filename or folder} could not be written: {error.strerror or error}. Finished images are kept; "
            "make room or choose another folder (out=...), then run the same command again to go on"
        ) from error
