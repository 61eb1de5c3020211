"""Single certificates of a run as documents that anybody can check without this package."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smoothing import Certifier, Record, certificate_document, digest, level_bytes, scheme_facts, vote_bytes
from smoothing.certificates import RUNOFF_METHODS
from smoothing.document import checker
from zoo.certification.about import read_about
from zoo.certification.certification import Certification
from zoo.certification.images import certified_data
from zoo.certification.reading import find_run
from zoo.errors import CertifyError
from zoo.folder import CHECKER, FACTS, VOTES
from zoo.models import Model, read_scheme


def export(
    model: Certification | Model | str | os.PathLike[str],
    images: Sequence[int],
    out: str | os.PathLike[str],
    *,
    data: Any = None,
    root: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write the certificates of some test images of a certified model into the folder `out`; return the documents.

    `model` is a model, its folder or its name, or what `certify` gave; `images` are indices of test images. `data` and
    `root` say where the images are, as in `report`. The certificates are made again from the recorded votes, which
    needs no network.

    Beside them lie their votes and levels, the facts of the scheme and a copy of the checker (standard library only):
    `python checker.py certificate-7.json facts.json certificate-7.votes certificate-7.levels`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     export("digits-l0.5-a4", [0], out)[0].name
    'certificate-0.json'
    """
    run = find_run(model)
    about, scheme, record = read_about(run), read_scheme(run), Record.open(run / VOTES)
    wanted, header = (about["scheme"], about["scheme"], about["weights"]), record.header
    if (scheme.fingerprint, header.scheme, header.model) != wanted:
        raise CertifyError(f"{run}: its votes, scheme.json and certify.json do not belong together; certify again")
    split, classes = certified_data(about, data, root).test, record.header.classes
    indices, votes = record.ballots() if about["certificate"] in RUNOFF_METHODS else record.votes()
    position = {int(index): k for k, index in enumerate(indices)}
    missing = [index for index in images if index not in position]
    if missing:
        raise CertifyError(
            f"image {missing[0]} has no votes in {record.path}; it holds {len(indices)} images, such as "
            f"{', '.join(str(i) for i in indices[:5].tolist())}: certify more of them first"
        )
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    shared = scheme_facts(scheme)
    (folder / FACTS).write_text(shared)
    shutil.copyfile(checker.__file__, folder / CHECKER)
    certifier = Certifier(scheme, classes, about["certificate"])
    rows = record.read()
    documents = []
    for index in images:
        levels = split.take([index])[0].cpu()
        if digest(levels) != rows[position[index]]["digest"].tobytes().hex():
            raise CertifyError(
                f"image {index} of {about['data']['name']} is not the image that was voted on; restore its file"
            )
        ballot = votes[position[index]]
        ball = certifier(ballot, levels.numpy())
        name = folder / f"certificate-{index}"
        text = certificate_document(ball, ballot, levels.numpy(), scheme, classes=classes, shared=shared)
        name.with_suffix(".votes").write_bytes(vote_bytes(ballot))
        name.with_suffix(".levels").write_bytes(level_bytes(levels.numpy()))
        name.with_suffix(".json").write_text(text)
        documents.append(name.with_suffix(".json"))
    return documents
