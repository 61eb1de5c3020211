"""The record of a run: begun with a tolerance that is measured here, or gone on with where it fits."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from smoothing import Header, Record, SmoothedClassifier
from smoothing.certificates import RUNOFF_METHODS
from smoothing.votes import fitting_header
from zoo.certification.certification import chosen_certificate
from zoo.certification.tolerance import measured_tolerance, recorded_tolerance, require_same_machine
from zoo.data import Dataset
from zoo.distributed import Workers
from zoo.errors import CertifyError
from zoo.files import write_atomically
from zoo.folder import SCHEME, VOTES
from zoo.models import Model


@attrs.frozen
class Voting:
    """Who votes on what: the images of a data set in their order, the classifier, and the folder of the votes."""

    model: Model
    data: Dataset
    order: NDArray[np.int64]
    classifier: SmoothedClassifier
    folder: Path
    workers: Workers

    def header(self, tolerance: float | None) -> Header:
        """Return the identity of the record; the classifier gets its tolerance: the one given, the recorded one, or the
        one that is measured here."""
        known = recorded_tolerance(self.folder / VOTES) if tolerance is None else tolerance
        if known is None:
            known = measured_tolerance(self.classifier, self.data, self.order, self.workers)
        self.classifier.tolerance = float(known)
        scheme = self.model.scheme
        header = Header(
            scheme=scheme.fingerprint,
            model=self.model.card["weights"],
            data=self.data.test.digest,
            samples=scheme.samples,
            classes=self.model.classes,
            tolerance=self.classifier.tolerance,
        )
        self.workers.wait()  # nobody looks for an older record while another process begins a new one
        header = fitting_header(header, self.folder / VOTES)
        self.workers.wait()
        return header

    def record(self, header: Header, *, home: bool, measured: bool) -> Record:
        """Return the record with this header, on every process. One that goes on with a tolerance that was measured
        elsewhere (`measured`) is refused where this machine asks for another or casts other votes."""
        votes = self.folder / VOTES
        goes_on = measured and self.workers.leads and recorded_tolerance(votes) is not None
        if self.workers.leads:
            Record.create(votes, header)
            if not home:  # only now: what belongs to another run was refused
                write_atomically(self.folder / SCHEME, self.model.scheme.to_json().encode())
        self.workers.wait()
        record = Record.create(votes, header)
        if goes_on:
            require_same_machine(self.classifier, self.data, self.order, record)
        return record


def reported_certificate(certificate: str, rule: str | None, header: Header, folder: Path, *, default: str) -> str:
    """The certificate to report from such a record, of the rule `default` if none is given; one of a run-off needs
    rankings."""
    reported = chosen_certificate(certificate, rule, ranked=header.ranked, default=default)
    if reported in RUNOFF_METHODS and not header.ranked:
        raise CertifyError(
            f"{folder / VOTES} holds votes alone, of an older version: they certify rule='plurality'; for a "
            "run-off vote again, in another folder (out=...)"
        )
    return reported
