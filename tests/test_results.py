"""The page of results holds: it is what the records say, and so are the README's tables."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ecm.errors import ECMError
from smoothing import Record, digest
from zoo import read_certification
from zoo.certification.certification import ALL_METHODS
from zoo.experiments.paper import best_published, published
from zoo.models import PRETRAINED

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RECORDS = DOCS / "records"
FOLDERS = sorted(path.parent for root in (RECORDS, PRETRAINED) for path in root.rglob("certify.tsv"))


@pytest.fixture(scope="module")
def results() -> Iterator[Any]:
    """The script as a module, with its neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module("docs.programs.results")


@pytest.fixture(scope="module")
def page(results: Any) -> tuple[str, dict[str, str]]:
    """Text and figures as the records give them."""
    made: tuple[str, dict[str, str]] = results.paper.page()
    return made


def test_the_pages_and_their_figures_are_in_step_with_the_records(results: Any) -> None:
    """Else run `python -m docs.programs`. Figures are compared by what they show, not by how they are drawn."""
    made = results.pages()
    drawn = {path: text for path, text in made.items() if path.suffix == ".svg"}
    assert (DOCS / "training.md").read_text() == made[DOCS / "training.md"]
    for page in ("results", "paper"):
        text = made[DOCS / f"{page}.md"]
        assert (DOCS / f"{page}.md").read_text() == text
        names = {path.name for path in drawn if path.name.startswith(page)}
        assert {path.name for path in DOCS.glob(f"img/{page}-*.svg")} == names
        assert all(f"(img/{name})" in text for name in names)
    points = re.compile("points ([0-9a-f]{64})")
    for path, figure in drawn.items():
        kept = path.read_text()
        assert points.findall(kept) == points.findall(figure)
        assert len(kept) < 150_000


@pytest.mark.parametrize(
    ("name", "table"), [("cifar10-l0.5-a18", "table1-half"), ("cifar10-l0.333-a18", "table1-third")]
)
def test_a_published_accuracy_is_of_the_same_p(page: tuple[str, dict[str, str]], name: str, table: str) -> None:
    """The paper's smoothed accuracy beside a model is that of its own table."""
    clean = next(cell.clean for cell in published(table).row("Variable Lambda") if cell.alpha == 18)
    (line,) = [line for line in page[0].splitlines() if line.startswith(f"| [`{name}`]")]
    assert line.endswith(f"| {clean:.2f} |")


def test_the_readme_is_in_step_with_the_cards(results: Any) -> None:
    """Else run `python -m docs.programs`."""
    text = (ROOT / "README.md").read_text()
    assert results.readme(text) == text
    assert {block[2] for block in results.BLOCK.finditer(text)} == set(results.BLOCKS)


def test_every_accuracy_in_the_readme_is_found_in_a_card_or_record(results: Any) -> None:
    """Each percentage in a row of a table is one of a card, a record, the best of all models or the paper."""
    known = set()
    for p in (Fraction(1, 2), Fraction(1, 3)):
        known |= {f"{share:.1f}" for share in best_published(p).values()}
        cells = results.frontier.Panel.of(p, results.frontier.models()).cells
        known |= {f"{100 * cell.certified.share:.1f}" for cell in cells}
    for folder in FOLDERS:
        summary = json.loads((folder / "card.json").read_text())["certification"]
        shares = [summary["base_accuracy"], summary["smoothed_accuracy"]]
        shares += [row[m] for row in summary["certified_accuracy"] for m in ALL_METHODS if m in row]
        known |= {f"{100 * share:.1f}" for share in shares}
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    quoted = [number for row in rows for number in re.findall(r"(\d+\.\d)%", row)]
    assert len(quoted) > 30
    assert [number for number in quoted if number not in known] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_record_is_whole(folder: Path) -> None:
    """Its rows give the numbers of its card, and both name the same weights and scheme."""
    card, about = (json.loads((folder / name).read_text()) for name in ("card.json", "certify.json"))
    assert (card["weights"], card["scheme"]) == (about["weights"], about["scheme"])
    assert card["certification"] == about["summary"]
    assert read_certification(folder).summary() == about["summary"]


def test_what_has_no_record_is_left_out_and_named(results: Any, tmp_path: Path) -> None:
    """A page of fewer models says which are missing; rows, orderings and experiments without models are not there."""
    shutil.copytree(RECORDS / "digits", tmp_path / "digits")
    assert "Left out here" not in results.paper.page(tmp_path)[0]
    shutil.rmtree(tmp_path / "digits" / "digits-l0.5-a6")
    text = results.paper.page(tmp_path)[0]
    assert "Left out here, without a record: `digits-l0.5-a6`." in text
    assert "93.9 @ 6" not in text
    shutil.rmtree(tmp_path / "digits" / "digits-l0.5-a3")
    text = results.paper.page(tmp_path)[0]
    assert "| Variable Lambda |" not in text
    assert "## The paper's orderings" not in text
    assert "`table1`: Table 1" in text.partition("## Not run")[2]


def test_models_are_compared_on_the_images_they_share(results: Any, tmp_path: Path) -> None:
    """One model with fewer images: its table counts those for all rows, and the others keep their own elsewhere."""
    shutil.copytree(RECORDS / "digits", tmp_path / "digits")
    cut = tmp_path / "digits" / "digits-l0.5-a3" / "certify.tsv"
    cut.write_text("\n".join(cut.read_text().splitlines()[:-100]) + "\n")
    text = results.paper.page(tmp_path)[0]
    assert "`ecm reproduce digits`, 259 images." in text
    full, fewer = (read_certification(folder / "digits" / "digits-l1-a6") for folder in (RECORDS, tmp_path))
    assert full.rows == fewer.rows
    shared = {row.idx for row in read_certification(cut.parent).rows}
    clean = sum(row.correct for row in full.rows if row.idx in shared) / 259
    assert f"{100 * clean:.1f} @ 6" in text


def test_only_finished_and_whole_runs_are_kept(results: Any, tmp_path: Path) -> None:
    """Card, scheme and certification are copied; a run that was stopped or tampered with is refused."""
    run = RECORDS / "digits" / "digits-l1-a3"
    (made,) = results.keep(run, records=tmp_path / "records")
    assert {path.name: path.read_bytes() for path in made.iterdir()} == {p.name: p.read_bytes() for p in run.iterdir()}
    bad = tmp_path / "run"
    shutil.copytree(run, bad)
    table = bad / "certify.tsv"
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ECMError, match="does not give the numbers"):
        results.keep(bad, records=tmp_path / "records")
    about = json.loads((bad / "certify.json").read_text())
    del about["summary"]
    (bad / "certify.json").write_text(json.dumps(about))
    with pytest.raises(ECMError, match="no finished run"):
        results.keep(bad, records=tmp_path / "records")


def test_what_was_tried_in_training_is_shown(results: Any, tmp_path: Path) -> None:
    """One row per entry of recipe.json; what was not measured stays empty."""
    tried = [{"what": "clipping", "epochs": 2, "lr": 0.1, "base_accuracy": 0.4321, "images": 2000, "note": "kept"}]
    (tmp_path / "recipe.json").write_text(json.dumps(tried))
    assert "| clipping | 2 | 0.1 | 43.2 | 2000 |  | kept |" in results.training.page(tmp_path)


def test_the_tables_name_the_best_model_at_every_radius(results: Any) -> None:
    """Each cell is the largest certified accuracy of all models of its p, counted here once more from their rows."""
    runs = results.frontier.models()
    panel = results.frontier.Panel.of(Fraction(1, 2), runs)
    assert [cell.radius for cell in panel.cells if cell.published is not None][-1] == 210
    for cell in panel.cells:
        found = [
            run.certification.certified_accuracy(cell.radius).share for run in runs if run.power[0] == Fraction(1, 2)
        ]
        assert cell.certified.share == max(found)
        assert cell.run.certification.certified_accuracy(cell.radius).share == max(found)
    assert f"| 10 | 56.74 | **{100 * panel.cells[0].certified.share:.1f}** |" in (DOCS / "results.md").read_text()


def test_differences_are_counted_on_shared_images(results: Any, tmp_path: Path) -> None:
    """Two records of one model under other budgets: the images that both have, and the interval of the difference."""
    for name, cut in (("digits-l0.5-a3", 0), ("digits-l0.5-a6", 100)):
        shutil.copytree(RECORDS / "digits" / name, tmp_path / "votes" / name)
        rows = (tmp_path / "votes" / name / "certify.tsv").read_text().splitlines()
        (tmp_path / "votes" / name / "certify.tsv").write_text("\n".join(rows[: len(rows) - cut]) + "\n")
    runs = [results.frontier.read_run(folder) for folder in sorted((tmp_path / "votes").iterdir())]
    compared = results.frontier._compared(runs, ["few", "many"], 1)
    assert compared["images"] == "259"
    shared = {row.idx for row in runs[1].certification.rows}
    (radius, *_) = [radius for radius in runs[1].certification.radii if radius]
    hits = [
        {
            row.idx
            for row in run.certification.rows
            if row.idx in shared and row.correct and run.certification.unit.covers(row.balls["paper"], radius)
        }
        for run in runs
    ]
    assert f"| {100 * len(hits[0]) / 259:.1f} |" in compared["table"].splitlines()[2]
    assert f"{100 * (len(hits[0]) - len(hits[1])) / 259:+.1f} <small>" in compared["differences"].splitlines()[2]


def test_a_run_is_shipped_with_its_votes_and_a_few_images(results: Any, tmp_path: Path) -> None:
    """What the package gets is the run itself, and images that are those of the record."""
    run = PRETRAINED / "digits-l0.5-a4"
    made = results.ship(run, packaged=tmp_path)
    files = [path.relative_to(made) for path in made.rglob("*") if path.is_file() and path.name != "images.npz"]
    assert {path: (made / path).read_bytes() for path in files} == {path: (run / path).read_bytes() for path in files}
    with np.load(made / "images.npz") as kept:
        rows = {int(row["index"]): bytes(row["digest"]).hex() for row in Record.open(made / "votes").read()}
        assert [digest(torch.from_numpy(image)) for image in kept["levels"]] == [rows[int(i)] for i in kept["index"]]
