"""Exported certificates are checked by a copy of the checker that sees nothing but the exported folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import zoo
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import CertifyError, DataError, TrainingError
from zoo.certification.documents import export


def checked(document: Path) -> subprocess.CompletedProcess[str]:
    """Run the exported checker in the exported folder, isolated from every installed package."""
    stem = document.stem
    files = [document.name, "facts.json", f"{stem}.votes", f"{stem}.levels"]
    command = [sys.executable, "-I", "-S", "checker.py", *files]
    return subprocess.run(command, cwd=document.parent, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The certificates of three images of a small model."""
    folder = tmp_path_factory.mktemp("export")
    model = tiny_model(folder / "model")
    zoo.certify(model, tiny_data(), progress=False)
    return export(model.path, [0, 3, 8], folder / "documents", data=tiny_data())


def test_exported_certificates_check(documents: list[Path]) -> None:
    """Exit code 0 for each."""
    assert [checked(document).returncode for document in documents] == [0, 0, 0]


def test_a_radius_made_larger_does_not_check(documents: list[Path], tmp_path: Path) -> None:
    """The checker recomputes: a document that claims more is refused."""
    for file in documents[0].parent.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    document = tmp_path / documents[1].name
    text = json.loads(document.read_text())
    text["radius"] = "1"
    document.write_text(json.dumps(text))
    assert checked(document).returncode == 1


def test_an_image_without_votes_is_named(documents: list[Path]) -> None:
    """The error says which image is missing and which are there."""
    with pytest.raises(CertifyError, match="image 99 has no votes"):
        export(documents[0].parent.parent / "model", [99], documents[0].parent, data=tiny_data())


def test_another_image_of_the_same_number_is_refused(documents: list[Path], tmp_path: Path) -> None:
    """Votes belong to the bytes of an image, not to its number."""
    with pytest.raises(DataError, match="not the test images that were certified"):
        export(documents[0].parent.parent / "model", [0, 1, 2, 3], tmp_path, data=tiny_data(seed=1))


def test_no_network_is_needed(documents: list[Path], tmp_path: Path) -> None:
    """A model of the user's own class, of which only scheme, votes and table are there, gives the same document."""
    model = documents[0].parent.parent / "model"
    for name in ("scheme.json", "certify.json", "certify.tsv"):
        (tmp_path / name).write_bytes((model / name).read_bytes())
    shutil.copytree(model / "votes", tmp_path / "votes")
    (again,) = export(zoo.read_certification(tmp_path), [3], tmp_path / "again", data=tiny_data())
    assert again.read_bytes() == documents[1].read_bytes()


def test_the_pixel_threat_is_a_word_away(tmp_path: Path) -> None:
    """train(pixel=True) shares offsets by pixel; a scheme that does not is refused."""
    model = zoo.train("sign(z)/4", "digits", pixel=True, epochs=1, out=tmp_path / "pixel", progress=False)
    assert model.scheme.pixel
    with pytest.raises(TrainingError, match="pixel"):
        zoo.train(tiny_model(tmp_path / "tiny").scheme, tiny_data(), pixel=True, out=tmp_path / "no", progress=False)
