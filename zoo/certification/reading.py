"""Certifications that were made before: where they lie, and what they found, counted again from their votes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ecm.number import exact
from smoothing import Record
from zoo.certification.about import read_about
from zoo.certification.certification import Certification, methods_up_to
from zoo.certification.recounts import Recount, by_image, recount
from zoo.certification.table import Table
from zoo.errors import ModelError
from zoo.folder import ABOUT, CARD, SCHEME, TABLE, VOTES
from zoo.models import PRETRAINED, RUNS, Model, find_model, read_card, read_scheme


def read_certification(path: str | os.PathLike[str]) -> Certification:
    """Return the certification in the folder `path` (or of a known name), as far as it got; no weights are loaded.

    The rows are counted again from the votes in the folder, and one that contradicts them is an error. What depends on
    the image itself, the gain of the vote-aware certificate, is on trust here; `certify` and `export` prove it again.

    >>> found = read_certification("digits-l0.5-a4")
    >>> found.images, found.methods
    (359, ('paper', 'integer', 'vote_aware', 'runoff', 'runoff_vote_aware'))
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
    """Return the votes beside a table; None if they were not kept."""
    if not (folder / VOTES).exists():
        return None
    record = Record.open(folder / VOTES)
    if (record.header.scheme, record.header.model) != (about["scheme"], about["weights"]):
        raise ModelError(f"{folder}: {VOTES}/ and {ABOUT} do not belong together; certify again")
    return record


def find_run(run: Certification | Model | str | os.PathLike[str]) -> Path:
    """Return the folder of a certified run: a path, or a name in `runs` or of the package; for a model, where `certify`
    wrote.

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
