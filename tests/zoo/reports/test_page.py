"""The report: complete in itself, safe against what names may hold, and with the numbers behind every picture."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import attrs
import pytest

from tests.zoo.tiny import tiny_data, tiny_model
from zoo import CheckpointError, DataError, Dataset, ModelError, certify, load, report, train
from zoo.certification import find_run, read_about, steps
from zoo.reports.accuracy_part import accuracy_curve


class Page(HTMLParser):
    """Tags with their attributes, and whether they are nested properly."""

    VOID = frozenset({"meta", "link", "img", "br", "source", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tiny_model(tmp_path_factory.mktemp("report") / "model")
    certify(model, tiny_data(), progress=False)
    return report(model.path, data=tiny_data())


def test_the_page_loads_nothing(page: Path) -> None:
    """One script, named by its hash in a policy that forbids the rest; no address but data: ones and its own parts."""
    text = page.read_text()
    parsed = Page(text)
    assert not parsed.open
    assert [attributes for tag, attributes in parsed.tags if tag == "script"] == [{}]
    script = text[text.index("<script>") + 8 : text.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\"" in text
    for _, attributes in parsed.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "srcset", "href"):
            if name in attributes:
                assert str(attributes[name]).startswith(("data:", "#"))
    assert not re.search(r"https?://(?!www\.w3\.org)", text)


def test_every_picture_has_words_and_every_chart_its_numbers(page: Path) -> None:
    """Alternative texts everywhere; tables behind the charts and the gallery."""
    parsed = Page(page.read_text())
    pictures = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert len(pictures) > 20
    assert all(len(str(attributes.get("alt", ""))) > 5 for attributes in pictures)
    assert sum(tag == "details" for tag, _ in parsed.tags) == 6


def test_the_numbers_of_the_page_are_those_of_the_run(page: Path) -> None:
    """Smoothed and certified accuracy appear as measured, the proof and the fingerprints as they are."""
    from zoo import read_certification

    found, text = read_certification(page.parent), page.read_text()
    assert f"{found.smoothed_accuracy.correct} of {found.images} images" in text
    for radius in found.radii:
        assert f"{100 * found.certified_accuracy(radius).share:.1f}</td>" in text
    assert found.scheme.fingerprint in text
    assert "exact value" in text


def test_figures_lie_beside_the_page(page: Path) -> None:
    """As SVG and as PNG; the SVG follows a dark page by itself."""
    names = sorted(path.name for path in (page.parent / "figures").iterdir())
    assert names == ["certified.png", "certified.svg", "radii.png", "radii.svg"]
    assert "prefers-color-scheme" in (page.parent / "figures" / "certified.svg").read_text()


def test_the_same_run_gives_the_same_page(page: Path) -> None:
    """No time, no random name: a page can be compared with another."""
    before = page.read_bytes()
    report(page.parent, data=tiny_data())
    assert page.read_bytes() == before


def test_names_cannot_smuggle_markup(tmp_path: Path) -> None:
    """A class called <script> is shown, not run."""
    data = tiny_data()
    evil = Dataset.from_arrays(
        (data.train.take(range(20)), data.train.labels), (data.test.take(range(20)), data.test.labels), q=4,
        name="tiny", class_names=["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'],
    )  # fmt: skip
    model = tiny_model(tmp_path / "model", data=evil)
    certify(model, evil, progress=False, limit=4)
    text = report(model.path, data=evil).read_text()
    assert "&lt;script&gt;" in text
    assert sum(tag == "script" for tag, _ in Page(text).tags) == 1
    assert all(str(attributes["src"]).startswith("data:") for tag, attributes in Page(text).tags if tag == "img")


def test_without_the_images_the_page_says_so(tmp_path: Path) -> None:
    """Data that cannot be found by name, tables, and images that are not the certified ones."""
    model = tiny_model(tmp_path / "model")
    certify(model, tiny_data(), progress=False, limit=3)
    assert "pass the data" in report(model.path).read_text()
    with pytest.raises(DataError, match="not the test images"):
        report(model.path, data=tiny_data(seed=1))


def test_the_page_names_nobody_s_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the images are missing is said without the home of whoever made the page."""

    def missing(*_: object) -> Dataset:
        raise DataError(f"CIFAR10 was not found under {Path.home() / '.cache'}")

    monkeypatch.setattr("zoo.reports.gallery.certified_data", missing)
    text = report("digits-l0.5-a4", tmp_path / "page.html").read_text()
    assert "The images are not shown: CIFAR10 was not found under ~/.cache" in text
    assert str(Path.home()) not in text


def test_a_card_is_told_in_words(tmp_path: Path) -> None:
    """Parts of parts have their own line, digests stand with the fingerprints, yes is not True."""
    about = read_about(find_run("cifar10-l0.5-a6"))
    start = about["card"]["training"]["start"]
    text = report("cifar10-l0.5-a6", tmp_path / "page.html", root=tmp_path).read_text()
    made = text[text.index('<h2 id="made">') : text.index('<h2 id="means">')]
    before, _, after = made.partition("<details>")
    assert f">start name</th><td>{start['name']}</td>" in before
    assert start["weights"] in after
    assert start["weights"] not in before
    assert "{" not in made
    assert ">True<" not in made


@pytest.mark.parametrize("formula", ["z**0.5/2", "sign(z)", "sign(z)/3", "1 - exp(-z)"])
def test_a_run_without_any_certificate_has_an_honest_page(tmp_path: Path, formula: str) -> None:
    """Every vote unsure, one radius of 0: nothing is certified, and the page says so in numbers and words."""
    model = tiny_model(tmp_path / "model", formula)
    found = certify(model, tiny_data(), progress=False, limit=1, radii=[0], tolerance=1e9)
    text = report(found, data=tiny_data()).read_text()
    assert found.certified_accuracy(0).correct == 0
    assert "Without any certificate: 1" in text
    assert ">no certificate<" in text
    assert ">nan<" not in text
    assert not Page(text).open


def test_a_radius_without_limit_is_called_so(tmp_path: Path) -> None:
    """A metric that may change everything freely hides everything: one class everywhere, no number stands for it."""
    model = tiny_model(tmp_path / "model", "0")
    found = certify(model, tiny_data(), progress=False)
    assert all(row.balls["vote_aware"].everywhere for row in found.rows)
    text = report(model, data=tiny_data()).read_text()
    assert "no limit" in text
    assert "1.79" not in text
    assert ">inf<" not in text


def test_every_method_is_tabulated_at_its_own_share(tmp_path: Path) -> None:
    """Where the paper's formula certifies fewer images than the others, each radius stands beside the right share."""
    model = tiny_model(tmp_path / "model")
    found = certify(model, tiny_data(), progress=False)
    right = next(k for k, row in enumerate(found.rows) if row.correct)
    rows, balls = list(found.rows), found.rows[right].balls
    paper = attrs.evolve(balls["paper"], radius=None, closed=False)
    rows[right] = attrs.evolve(rows[right], balls={**balls, "paper": paper})
    fewer = attrs.evolve(found, rows=tuple(rows))
    table = accuracy_curve(fewer)["rows"]
    assert len(table) == len(steps(fewer, "vote_aware")[0]) == len(steps(fewer, "paper")[0]) + 1
    for share, *radii in table:
        for method, radius in zip(fewer.methods, radii, strict=True):
            found_share = 100 * fewer.certified_accuracy(radius or 0, method).share
            assert (found_share > float(share) - 0.01) == bool(radius)


def test_the_package_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of a model that comes with the package goes to `runs`; one certified again there is the one shown."""
    monkeypatch.chdir(tmp_path)
    assert report("digits-l0.5-a4") == Path("runs/digits-l0.5-a4/report.html")
    found = certify("digits-l0.5-a4", limit=2, certificate="paper", progress=False)
    assert found.folder == Path("runs/digits-l0.5-a4") == find_run("digits-l0.5-a4") == find_run(load("digits-l0.5-a4"))
    with pytest.raises(CheckpointError, match="certification of another model"):
        train("z**0.5/4", "digits", epochs=1, progress=False)


@pytest.mark.parametrize("entry", ["card", "data", "tolerance"])
def test_a_description_edited_by_hand_is_refused(tmp_path: Path, entry: str) -> None:
    """What is missing is named, and what to do."""
    model = tiny_model(tmp_path / "model")
    certify(model, tiny_data(), progress=False, limit=1)
    about = json.loads((model.path / "certify.json").read_text())
    del about[entry]
    (model.path / "certify.json").write_text(json.dumps(about))
    with pytest.raises(ModelError, match=rf"lacks the entry {entry}.*: delete it and certify again"):
        report(model.path)


def test_a_run_without_rows_has_no_report(tmp_path: Path) -> None:
    """The error says which command is missing."""
    model = tiny_model(tmp_path / "model")
    with pytest.raises(ModelError, match="ecm certify"):
        report(model.path)
