"""Files made to do harm get one of the package's own errors, at once and without filling the memory."""

from __future__ import annotations

import json
import shutil
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ecm.errors import ECMError
from smoothing import Record, Scheme
from zoo import list_models, load, read_certification, report
from zoo.models import find_model, read_scheme

BRACKETS = "[" * 200_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a shipped model with its votes."""
    return Path(shutil.copytree(find_model("digits-l0.5-a4"), tmp_path / "digits"))


@contextmanager
def refused(word: str | None = None) -> Iterator[None]:
    """One of our errors, within seconds (a loaded machine is slow) and a few dozen megabytes."""
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises(ECMError, match=word):
            yield
        assert time.perf_counter() - began < 5
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def changed(text: str, **changes: Any) -> str:
    """The JSON of a scheme with entries of itself or of its design replaced."""
    fields = json.loads(text)
    for name, value in changes.items():
        (fields["design"] if name in fields["design"] and name != "fingerprint" else fields)[name] = value
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"q": 2**24}, "at most 65536"),
        ({"shape": [10**6, 10**6]}, "1000000000000 features"),
        ({"shape": [10**30]}, "features"),
        ({"weights": [{"1": 10**9}]}, "more than the budget"),
        ({"weights": [{"1": 10**9}], "budget": 10**9}, "separate"),
        ({"weights": [{"4": 25 * 10**7}], "budget": 2 * 10**9}, "altered"),
        ({"weights": [{"4": 10**30}], "budget": 2 * 10**31}, "outcomes"),
        ({"coupling": "global", "order": "published", "weights": [{"1": 10**9}], "budget": 10**9}, "separate"),
    ],
    ids=str,
)
def test_a_scheme_of_enormous_sizes(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    """No table is made before the sizes are known to be possible."""
    (tmp_path / "scheme.json").write_text(changed(Scheme.l1(2, shape=(3,), q=4).to_json(), **changes))
    with refused(word):
        read_scheme(tmp_path)


@pytest.mark.parametrize("text", [BRACKETS, '{"format": "ecm-model-1", "model": ' + BRACKETS, '{"a":' * 100_000])
def test_a_card_of_brackets(folder: Path, text: str) -> None:
    """Loading, listing and reporting say that the card cannot be read."""
    (folder / "card.json").write_text(text)
    for act in (load, list_models, report):
        with refused("nested too deeply"):
            act(folder)


def test_a_certification_of_brackets(folder: Path) -> None:
    """The same for certify.json."""
    (folder / "certify.json").write_text(BRACKETS)
    with refused("nested too deeply"):
        read_certification(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": {"x": ["O", [1]]}},
        {"columns": {"x": ["|O", []]}},
        {"columns": {"x": ["O,i4", [1]]}},
        {"columns": {"x": ["V1000000000", [1]]}},
        {"columns": {"x": ["<f8", [10**9]]}},
        {"columns": {"x": ["no type", []]}},
        {"samples": 10**12},
        {"samples": -1},
        {"classes": 10**9},
        {"tolerance": "much"},
        {"tolerance": -1.0},
    ],
    ids=str,
)
def test_a_header_that_no_record_has(folder: Path, changes: dict[str, Any]) -> None:
    """Object columns would be pointers; enormous rows would be memory."""
    path = folder / "votes" / "header.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with refused():
        Record.open(folder / "votes").read()
    with refused():
        read_certification(folder)


def test_a_cell_with_an_exponent(folder: Path) -> None:
    """`<1e99999999` is ten characters; as an integer it has a hundred million digits."""
    table = folder / "certify.tsv"
    header, first, *rest = table.read_text().splitlines()
    table.write_text("\n".join([header, first.rpartition("\t")[0] + "\t<1e99999999", *rest]) + "\n")
    with refused("damaged row"):
        read_certification(folder)
