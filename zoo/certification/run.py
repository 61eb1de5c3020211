"""A certification run: votes of every image into a record, certificates from the votes, a table row by row.

Both can be stopped at any moment. The record keeps whole images, the table whole rows; the same call goes on from
there and ends with the same votes and, but for the times, the same table.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs
import torch

from ecm.number import Exact
from zoo.certification.about import about_run, write_about
from zoo.certification.certification import Certification, chosen_certificate, methods_up_to
from zoo.certification.images import fitting_data, image_order
from zoo.certification.place import held_by_leader, is_home, kept_on_disk, moved_to, run_folder
from zoo.certification.recording import Voting, reported_certificate
from zoo.certification.rows import Run, all_rows
from zoo.certification.settings import chosen_radii, require_limit, require_tolerance
from zoo.certification.table import Table
from zoo.certification.unit import Unit
from zoo.distributed import workers
from zoo.folder import TABLE
from zoo.models import Model, given_model, require_unchanged, update_card


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

    `model` is a model, its folder or its name. `data` may be `(images, labels)`, a torch data set or `DataLoader`, a
    Hugging Face split, or a folder of class folders, with the levels and classes of the model; all of it is certified.
    If it has a training and a test split (a named data set, a `Dataset`, a pair (train, test)), the test split is
    certified.

    `limit` takes the first images of one fixed random order, so that a larger limit continues a smaller one and sets
    sorted by class are not a problem. `radii` (l_p radii where g = z**p/alpha, else metric distances) are those of the
    table. `rule` says how the votes make a class, "plurality" or "runoff" (default: `model.rule`); both are computed
    from one record, since it keeps how every sample ranks the classes. `certificate` is "strongest" (the vote-aware one
    of the rule), or "paper", "integer", "vote_aware" (plurality), "runoff", "runoff_vote_aware"; the weaker ones, and
    for a run-off those of the plurality, are computed along with it, from the same votes. A vote whose two best logits
    differ by at most `tolerance` is unsure and counts against the prediction; by default that is measured on this
    machine when the record is begun, and checked where the record goes on. `batch_size` is the number of noisy inputs
    in one call of the network; by default what suits it. `root` is where the files of a named data set lie (`--data` on
    the command line). `device` is "cpu", "cuda" or "cuda:1"; by default a GPU if there is one. With `progress` a bar is
    shown on a terminal, and a line per minute in a log.

    The folder `out` (default: the model's folder) receives the votes, `certify.tsv` (one row per image, written at
    once) and `certify.json` (the meaning of the columns, and the accuracies). Under torchrun the images are divided
    among the processes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     found = certify("digits-l0.5-a4", limit=2, radii=[0, 1], out=out, progress=False)
    >>> found.images, found.scheme.samples, [row["radius"] for row in found.table()]
    (2, 512, [0.0, 1.0])
    """
    chosen_certificate(certificate, rule)
    require_limit(limit)
    require_tolerance(tolerance)
    trained = given_model(model)
    require_unchanged(trained)
    loaded = fitting_data(trained, data, root)
    order = image_order(len(loaded.test))[:limit]
    folder = run_folder(trained, out)
    home = is_home(folder, trained)
    unit = Unit.under(trained.scheme)
    chosen = unit.grid() if radii is None else chosen_radii(radii, unit)
    with workers(device) as here, moved_to(trained, here), kept_on_disk(folder), held_by_leader(here, folder):
        classifier = trained.smoothed(batch_size=batch_size)
        voting = Voting(trained, loaded, order, classifier, folder, here)
        header = voting.header(tolerance)
        reported = reported_certificate(certificate, rule, header, folder, default=trained.rule)
        record = voting.record(header, home=home, measured=tolerance is None)
        about = about_run(trained, loaded, header, reported, chosen)
        table = Table(folder / TABLE, trained.scheme, methods_up_to(reported))
        rows = all_rows(Run(trained, loaded, classifier, record, table, about), order, here, progress)
        names = (trained.name, loaded.name, len(loaded.test))
        every = Certification(*names, trained.scheme, tuple(rows.values()), reported, chosen, folder)
        if here.leads:
            write_about(folder, about | {"summary": every.summary()})
            if home:
                update_card(trained, certification=every.summary())
        here.wait()
    return attrs.evolve(every, rows=tuple(rows[int(idx)] for idx in order))
