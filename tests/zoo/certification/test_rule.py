"""Both rules from one record: the table, the card, the page and older records know which is which."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest

from ecm import ECMError
from smoothing import Packing, Record, Scheme, record_logits
from zoo import CertifyError, certify, compare, read_certification, report
from zoo.certification.certification import ALL_METHODS, METHODS, Certification
from zoo.certification.table import COLUMNS, OLDER, Table
from zoo.folder import TABLE, VOTES

NAME = "digits-l0.5-a4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by run-off of eight digits."""
    out = tmp_path_factory.mktemp("rule") / "run"
    certify(NAME, limit=8, rule="runoff", out=out, progress=False)
    return out


def test_a_run_off_is_told_beside_the_plurality(folder: Path) -> None:
    """Five certificates, the class and the accuracy of each rule, exact balls that come back from the table."""
    found = read_certification(folder)
    assert (found.rule, found.certificate, found.methods) == ("runoff", "runoff_vote_aware", ALL_METHODS)
    about = json.loads((folder / "certify.json").read_text())
    assert about["rule"] == about["summary"]["rule"] == "runoff"
    assert about["summary"]["smoothed_by_plurality"] == found.smoothed_by("paper").share
    header, *lines = ((folder / TABLE).read_text()).splitlines()
    assert header.split("\t") == [*COLUMNS, *ALL_METHODS]
    for row, line in zip(found.rows, lines, strict=True):
        cells = dict(zip(header.split("\t"), line.split("\t"), strict=True))
        assert (cells["rule"], int(cells["predict"])) == ("runoff", row.balls["runoff"].prediction)
        assert int(cells["plurality"]) == row.balls["paper"].prediction
        assert cells["method"] == row.method
        assert row.balls["runoff"].strength <= row.balls["runoff_vote_aware"].strength
    assert "by run-off\n" in repr(found)
    assert "by plurality\n" in repr(found)
    assert all(len(line) <= 80 for line in repr(found).splitlines())


def test_the_other_rule_needs_no_further_vote(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The record is the same for both, and the certificates are those of its rankings."""
    import shutil

    from smoothing import SmoothedClassifier

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    monkeypatch.delattr(SmoothedClassifier, "rankings")
    plain = certify(NAME, limit=8, rule="plurality", out=copy, progress=False)
    assert (plain.rule, plain.methods) == ("plurality", METHODS)
    both = compare(folder, copy, radii=[0, 1])
    assert list(both.runs) == [f"{NAME}, runoff_vote_aware", f"{copy}, vote_aware"]
    ranked = read_certification(folder)
    for one, other in zip(plain.rows, ranked.rows, strict=True):
        assert one.balls == {m: other.balls[m] for m in METHODS}


def test_the_page_shows_both(folder: Path, tmp_path: Path) -> None:
    """Each certificate has its line, and the rule is named."""
    text = report(folder, tmp_path / "page.html").read_text()
    for words in ("run-off, vote-aware", "vote-aware", "paper", "class by the run-off"):
        assert words in text


def test_votes_alone_certify_a_plurality(tmp_path: Path, folder: Path) -> None:
    """An older record is read, goes on as it is, and refuses a run-off in words."""
    ranked = Record.open(folder / VOTES)
    out = tmp_path / "older"
    older = Record.create(out / VOTES, attrs.evolve(ranked.header, columns={}))
    with older.writer() as writer:
        for row in ranked.read()[:5]:
            writer.append(int(row["index"]), bytes(row["digest"]).hex(), row["votes"], row["counts"])
    tolerance = ranked.header.tolerance
    with pytest.raises(CertifyError, match="votes alone"):
        certify(NAME, limit=8, rule="runoff", out=out, tolerance=tolerance, progress=False)
    found = certify(NAME, limit=8, out=out, tolerance=tolerance, progress=False)
    assert (found.rule, found.images) == ("plurality", 8)
    assert not Record.open(out / VOTES).header.ranked


def test_a_table_without_a_rule_is_one_of_a_plurality(tmp_path: Path, folder: Path) -> None:
    """As an older version wrote it; the records of the paper's experiments have such tables."""
    found: Certification = read_certification(Path(__file__).parents[3] / "docs/records/cifar10/cifar10-l0.5-a6")
    assert (found.rule, found.images) == ("plurality", 500)
    path = tmp_path / TABLE
    table = Table(path, found.scheme, METHODS)
    table.start(list(found.rows[:3])).close()
    new = [line.split("\t") for line in path.read_text().splitlines()]
    cut = [cells[: len(OLDER)] + cells[len(COLUMNS) :] for cells in new]
    path.write_text("".join("\t".join(cells) + "\n" for cells in cut))
    assert list(table.read().values()) == list(found.rows[:3])


def test_a_rule_and_the_other_ones_certificate_are_refused() -> None:
    """Before anything is voted."""
    with pytest.raises(ECMError, match="the other rule"):
        certify(NAME, rule="plurality", certificate="runoff", limit=1, progress=False)
    with pytest.raises(ECMError, match="plurality, runoff"):
        certify(NAME, rule="borda", limit=1, progress=False)


def test_stored_logits_make_the_record_that_voting_makes(tmp_path: Path) -> None:
    """The same rankings, votes and counts, also from packed rankings and with weights."""
    from ecm import ECM, Design

    design = Design.from_weights(ECM.l1(2), {2: 1, 4: 1}, q=4, budget=16)
    scheme = Scheme(design, (2, 2), coupling="global")
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, scheme.samples, 4)).astype(np.float32)
    images = rng.integers(0, 5, size=(3, 2, 2))
    facts = {"scheme": scheme, "classes": 4, "model": "m", "data": "d", "tolerance": 0.1}
    record = record_logits(logits, images, tmp_path / "a", indices=[5, 3, 9], **facts)
    index, codes = record.rankings()
    assert index.tolist() == [3, 5, 9]
    rows = record.read()
    assert np.array_equal(rows["votes"], Packing.of(4).votes(codes))
    assert (
        int(rows["counts"].sum()) + int(sum(scheme.weights[v == 255].sum() for v in rows["votes"])) == 3 * scheme.total
    )  # type: ignore[index]
    again = record_logits(list(codes), images[[1, 0, 2]], tmp_path / "b", indices=[3, 5, 9], **facts)
    assert np.array_equal(again.read(), rows)
    assert Fraction(int(rows["counts"].sum())) > 0
