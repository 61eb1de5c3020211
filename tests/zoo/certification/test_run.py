"""Certification runs: exact tables, three accuracies that are not mixed up, and nothing lost when a run is stopped."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import socket
import time
from fractions import Fraction
from multiprocessing.process import BaseProcess
from pathlib import Path

import attrs
import numpy as np
import pytest
import torch

from ecm import ECM, ECMError
from smoothing import Record, RecordError
from smoothing.certificates import Certificate, Tally
from tests.zoo.tiny import BUDGET, tiny_data, tiny_model
from zoo import (
    Certification,
    CertifyError,
    DataError,
    Dataset,
    Model,
    ModelError,
    certify,
    load,
    load_data,
    read_certification,
    train,
)
from zoo.certification.certification import ALL_METHODS, METHODS, Unit
from zoo.certification.images import image_order
from zoo.certification.table import COLUMNS, Table
from zoo.files import alone
from zoo.folder import ABOUT, TABLE


def run(model: Model, **options: object) -> Certification:
    return certify(model, tiny_data(), progress=False, tolerance=1e-4, **options)  # type: ignore[arg-type]


def rows_without_time(folder: Path) -> list[list[str]]:
    lines = [line.split("\t") for line in (folder / TABLE).read_text().splitlines()]
    return [cells[:5] + cells[6:] for cells in lines]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return tiny_model(tmp_path / "model")


def test_the_table_begins_with_the_columns_that_the_field_reads(model: Model) -> None:
    """idx label predict radius correct time, tab separated, one row per image."""
    found = run(model)
    header, *rows = (model.path / TABLE).read_text().splitlines()
    assert header.split("\t")[:6] == ["idx", "label", "predict", "radius", "correct", "time"]
    assert len(rows) == found.images == 20
    assert {int(row.split("\t")[0]) for row in rows} == set(range(20))
    meaning = json.loads((model.path / ABOUT).read_text())["columns"]
    assert list(meaning) == header.split("\t")


def test_the_three_accuracies_are_what_they_are_called(model: Model) -> None:
    """Base, smoothed and certified accuracy recomputed from the votes by other means."""
    found, data = run(model), tiny_data()
    indices, votes = Record.open(model.path / "votes").votes()
    labels = data.test.labels.numpy()[indices]
    assert found.base_accuracy == pytest.approx((votes == labels[:, None]).mean())
    plurality = np.array([np.bincount(row[row != 255], minlength=2).argmax() for row in votes])
    assert found.smoothed_accuracy.correct == int((plurality == labels).sum())
    margins = [Tally.of(row, 2).least_need for row in votes]
    for radius in (Fraction(0), Fraction(1, 3), Fraction(1)):
        # (alpha r)**(1/p) >= radius with alpha = 2, p = 1/2 and r = (need - 1)/(2B), the published formula
        safe = [need > 0 and (2 * Fraction(need - 1, 2 * BUDGET)) ** 2 >= radius for need in margins]
        right = sum(ok and bool(hit) for ok, hit in zip(safe, plurality == labels, strict=True))
        assert found.certified_accuracy(radius, "paper").correct == right
    assert found.certified_accuracy(0).correct <= found.smoothed_accuracy.correct


def test_stronger_certificates_never_certify_less(model: Model) -> None:
    """paper <= integer <= vote-aware, at every radius of the table."""
    found = run(model, radii=["0", "0.1", "0.25", "0.5", "1"])
    for line in found.table():
        assert line["paper"] <= line["integer"] <= line["vote_aware"]


def test_an_open_ball_does_not_cover_its_radius(model: Model) -> None:
    """Decided exactly, and printed so that `radius >= r` agrees."""
    unit = Unit.of(ECM.lp("1/2", 6))
    for closed, covered in ((True, True), (False, False)):
        ball = Certificate(0, "integer", Fraction(1, 6), closed, ECM.lp("1/2", 6), q=4, shape=(3,))
        assert unit.covers(ball, Fraction(1)) is covered
        assert (unit.radius(ball) >= 1.0) is covered
        assert unit.covers(ball, Fraction(unit.radius(ball)))


@pytest.mark.parametrize("formula", ["z**0.5/2", "1 - exp(-z)", "sign(z)/3"])
def test_a_table_read_back_is_the_run_itself(tmp_path: Path, formula: str) -> None:
    """Rows survive the file exactly, whatever the radii are counted in."""
    model = tiny_model(tmp_path / "model", formula)
    found = run(model)
    assert read_certification(model.path) == found
    assert found.unit.name == {"z": "l_1/2 radius", "1": "metric distance", "s": "changed features"}[formula[0]]


def test_balls_of_every_kind_survive_the_table(tmp_path: Path, model: Model) -> None:
    """Closed, open, unlimited and missing balls come back as they were."""
    row = run(model, limit=1, rule="plurality").rows[0]
    table = Table(tmp_path / "t.tsv", model.scheme, METHODS)
    everywhere = table._parse(table.line(row).replace("\n", "").rsplit("\t", 1)[0] + "\tall")
    none = attrs.evolve(row, idx=3, balls={m: attrs.evolve(b, radius=None) for m, b in row.balls.items()})
    none = attrs.evolve(none, balls={m: attrs.evolve(b, closed=False) for m, b in none.balls.items()})
    table.start([everywhere, none]).close()
    assert list(table.read().values()) == [everywhere, none]
    assert everywhere.balls["vote_aware"].everywhere
    lines = (tmp_path / "t.tsv").read_text().splitlines()
    assert [line.split("\t")[3] for line in lines[1:]] == ["inf", "nan"]


def test_a_larger_limit_continues_a_smaller_one(model: Model) -> None:
    """Limits are nested; votes that are there are not cast again, and the rows are the same."""
    small = run(model, limit=7)
    calls = []
    model.base.register_forward_hook(lambda *_: calls.append(1))
    assert run(model, limit=7) == small
    assert not calls
    large = run(model)
    assert large.rows[:7] == small.rows
    assert [row.idx for row in large.rows] == image_order(20).tolist()


def test_rows_that_another_process_left_are_collected(model: Model) -> None:
    """A run of several processes that was killed leaves a part of the table for each; none of it is done again."""
    before = run(model)
    lines = (model.path / TABLE).read_text().splitlines(keepends=True)
    (model.path / TABLE).write_text("".join(lines[:5]))
    (model.path / f"{TABLE}.rank-00001").write_text("".join([lines[0], *lines[9:], "17\t1\t"]))
    after = run(model)
    kept = [k for k in range(20) if k < 4 or k >= 8]
    assert [after.rows[k] for k in kept] == [before.rows[k] for k in kept]  # times included
    assert not list(model.path.glob(f"{TABLE}.*"))


def test_a_smaller_limit_forgets_nothing(model: Model) -> None:
    """A look at a few images leaves the table and the card of all of them as they were."""
    run(model)
    table, card = (model.path / TABLE).read_bytes(), load(model.path).card
    few = run(model, limit=3)
    assert few.images == 3
    assert (model.path / TABLE).read_bytes() == table
    assert load(model.path).card == card


def test_other_certificates_come_from_the_same_votes(model: Model) -> None:
    """No vote is cast again for another certificate, and only what was asked for is computed."""
    strongest = run(model)
    before = (model.path / "votes" / "rank-00000.rows").read_bytes()
    paper = run(model, certificate="paper")
    assert (model.path / "votes" / "rank-00000.rows").read_bytes() == before
    assert paper.methods == ("paper",)
    assert [row.balls["paper"] for row in paper.rows] == [row.balls["paper"] for row in strongest.rows]
    with pytest.raises(ECMError, match="was not computed"):
        paper.certified_accuracy(0, "integer")


def test_a_half_written_row_is_written_again(model: Model) -> None:
    """What a kill leaves at the end of the table or of the votes is cut off, the rest is kept."""
    run(model)
    whole = rows_without_time(model.path)
    votes = model.path / "votes" / "rank-00000.rows"
    before = votes.read_bytes()
    text = (model.path / TABLE).read_text()
    (model.path / TABLE).write_text(text[: len(text) // 2])
    votes.write_bytes(before[: len(before) // 2])
    run(model)
    assert rows_without_time(model.path) == whole
    assert votes.read_bytes() == before


def test_the_card_keeps_the_accuracies_with_the_number_of_images(model: Model) -> None:
    """After a run the model's card says what was measured and on how many images."""
    found = run(model, limit=9)
    kept = load(model.path).card["certification"]
    assert kept == json.loads(json.dumps(found.summary()))
    assert (kept["images"], kept["of"]) == (9, 20)


def test_unsure_votes_count_against_the_prediction(tmp_path: Path) -> None:
    """With a huge tolerance every vote is unsure: no certificate at all, which is less than radius 0."""
    model = tiny_model(tmp_path / "model")
    found = certify(model, tiny_data(), tolerance=1e9, progress=False)
    assert all(row.unsure == BUDGET and row.balls["paper"].radius is None for row in found.rows)
    assert found.certified_accuracy(0).correct == 0
    assert "nan" in (model.path / TABLE).read_text().splitlines()[1].split("\t")


def test_the_measured_tolerance_is_kept_with_the_record(model: Model) -> None:
    """Without a given tolerance the jitter is measured once; the next run takes the record's."""
    certify(model, tiny_data(), progress=False, limit=2)
    kept = Record.open(model.path / "votes").header.tolerance
    assert kept > 0
    certify(model, tiny_data(), progress=False)
    assert Record.open(model.path / "votes").header.tolerance == kept


@pytest.mark.parametrize("change", ["jitter", "network"])
def test_a_record_is_not_continued_where_its_votes_would_be_others(model: Model, change: str) -> None:
    """Logits that move more than the record's tolerance, or votes that differ, as on another device, stop the run."""
    certify(model, tiny_data(), progress=False, limit=2)
    before = (model.path / "votes" / "rank-00000.rows").read_bytes()
    layer = model.base.network[-1]
    if change == "jitter":  # what a batch holds moves the logits of all of it
        layer.register_forward_hook(lambda _, shown, logits: logits + 0.01 * shown[0].mean())
    else:
        layer.register_forward_hook(lambda _, shown, logits: -logits)
    words = {"jitter": r"started with the tolerance .*needs", "network": "a vote that the network does not cast"}
    with pytest.raises(CertifyError, match=words[change]):
        certify(model, tiny_data(), progress=False)
    assert (model.path / "votes" / "rank-00000.rows").read_bytes() == before
    assert certify(model, tiny_data(), progress=False, limit=2).images == 2  # nothing to vote on


def test_votes_are_of_the_weights_in_the_folder(tmp_path: Path, model: Model) -> None:
    """A network changed in memory, or a folder whose weights were replaced meanwhile, gets no votes or accuracies."""
    changed = load(model.path)
    with torch.no_grad():
        changed.base.network[-1].bias += 1
    with pytest.raises(ModelError, match="holds other weights than this model has in memory: load it again"):
        run(changed)
    tiny_model(model.path, seed=1)
    with pytest.raises(ModelError, match="holds other weights"):
        run(model)
    assert "certification" not in load(model.path).card


def test_the_folder_of_another_model_or_run_is_not_spoilt(tmp_path: Path, model: Model) -> None:
    """`out` may be neither another model's folder nor that of another model's run; both stay whole."""
    other = tiny_model(tmp_path / "other", "z/2")
    with pytest.raises(ModelError, match="is the folder of another model"):
        run(model, out=other.path)
    assert load(other.path).scheme == other.scheme
    found = run(other, out=tmp_path / "run")
    with pytest.raises(RecordError, match="votes of another run"):
        run(model, out=tmp_path / "run")
    assert read_certification(tmp_path / "run") == found


def test_the_own_folder_may_be_named_in_any_way(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path to the model's folder is the model's folder: its card gets the accuracies."""
    monkeypatch.chdir(model.path.parent)
    run(model, out=Path(model.path.name), limit=3)
    assert load(model.path).card["certification"]["images"] == 3


def test_votes_without_their_header_are_not_taken_for_ours(model: Model) -> None:
    """Rows of an unknown network are no votes of this one."""
    run(model, limit=2)
    (model.path / "votes" / "header.json").unlink()
    with pytest.raises(RecordError, match=r"votes but no header.json .*: restore it, or delete the votes"):
        run(model)


def test_one_process_at_a_time(model: Model) -> None:
    """A folder in which another process works is not touched."""
    with alone(model.path), pytest.raises(ECMError, match="in use by another process: wait"):
        run(model)
    assert not (model.path / TABLE).exists()


def test_a_table_of_other_weights_is_not_read(tmp_path: Path, model: Model) -> None:
    """The weights were replaced and the old table is still there: no accuracy of theirs is shown as the new ones'."""
    run(model)
    other = tiny_model(tmp_path / "other", seed=1)
    for name in ("card.json", "model.safetensors"):
        (model.path / name).write_bytes((other.path / name).read_bytes())
    with pytest.raises(ModelError, match="about other weights"):
        read_certification(model.path)


def test_data_found_by_name_are_those_of_the_training(tmp_path: Path) -> None:
    """Arrays that the user called by a known name are not replaced by the set of that name."""
    data = load_data("digits")
    halved = Dataset.from_arrays((data.train.take(range(50)), data.train.labels[:50]), q=16, name="digits",
                                 class_names=data.class_names)  # fmt: skip
    model = train("z**0.5/2", halved, model="mlp", epochs=0, budget=8, out=tmp_path, progress=False)
    with pytest.raises(DataError, match=r"not the one that .* was trained on"):
        certify(model, progress=False)


def test_another_folder_leaves_the_model_as_it_is(tmp_path: Path, model: Model) -> None:
    """With `out` the model's own folder does not change, and the other one can be read by itself."""
    before = sorted(path.name for path in model.path.iterdir())
    found = run(model, out=tmp_path / "elsewhere")
    assert sorted(path.name for path in model.path.iterdir()) == before
    assert read_certification(tmp_path / "elsewhere") == found


def test_what_does_not_fit_is_refused(model: Model) -> None:
    """Other shapes, limits, certificates, radii and data that cannot be found are errors that say so."""
    other = Dataset.from_arrays((np.zeros((6, 4), np.uint8), np.arange(6) % 2), q=4, name="rows")
    for options, words in (
        ({"data": other}, "shape"),
        ({"data": None}, "pass the data"),
        ({"limit": 0}, "limit = 0"),
        ({"limit": -1}, "limit = -1: write a number of images >= 1"),
        ({"limit": 2.5}, "limit = 2.5"),
        ({"tolerance": -1}, "tolerance = -1: write a difference"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"tolerance": float("inf")}, "tolerance = inf"),
        ({"radii": 1}, "write a list"),
        ({"radii": "1/2"}, "write a list"),
        ({"certificate": "best"}, "'best' is unknown"),
        ({"radii": [-1]}, "radii"),
        ({"radii": []}, "radii"),
    ):
        with pytest.raises(ECMError, match=words):
            certify(model, **{"data": tiny_data(), "progress": False} | options)  # type: ignore[arg-type]


def test_votes_of_other_data_are_not_continued(model: Model) -> None:
    """A folder holds the votes of one test split; another one needs another folder."""
    run(model)
    with pytest.raises(RecordError, match="data"):
        certify(model, tiny_data(seed=1), progress=False)


SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["zoo", "tests.zoo.tiny"])  # one import of torch for all processes


def live(folder: Path, images: int, environment: dict[str, str]) -> None:
    """One life of a run, in a process of its own."""
    os.environ.update(environment)
    torch.set_num_threads(1)
    certify(folder, tiny_data(images), progress=False, tolerance=1e-4, batch_size=12)


def start(folder: Path, images: int, **environment: str) -> BaseProcess:
    process = SERVER.Process(target=live, args=(folder, images, environment))
    process.start()
    return process


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    """kill -9, several times: the same votes byte for byte, the same rows, the same card but for times."""
    images = 300
    data = tiny_data(images)
    calm, wild = (tiny_model(tmp_path / name, data=data) for name in ("calm", "wild"))
    certify(calm, data, progress=False, tolerance=1e-4, batch_size=12)
    killed = 0
    rng = random.Random(0)
    marks = [wild.path / "votes" / "rank-00000.rows", wild.path / TABLE]
    for _ in range(40):
        size = sum(mark.stat().st_size for mark in marks if mark.exists())
        process = start(wild.path, images)
        while process.is_alive() and killed < 2:  # wait for what this life writes, then strike at a random moment
            if sum(mark.stat().st_size for mark in marks if mark.exists()) > size:
                time.sleep(rng.uniform(0, 0.15))
                process.kill()
                break
            time.sleep(0.005)
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        killed += 1
    assert killed
    rows = "votes/rank-00000.rows"
    assert (wild.path / rows).read_bytes() == (calm.path / rows).read_bytes()
    assert rows_without_time(wild.path) == rows_without_time(calm.path)
    assert load(wild.path).card["certification"] == load(calm.path).card["certification"]


@pytest.mark.slow
def test_two_processes_cast_the_same_votes_as_one(tmp_path: Path) -> None:
    """Two gloo processes, with the environment that torchrun gives them: one record, the same votes, the same table."""
    alone, shared = (tiny_model(tmp_path / name) for name in ("alone", "shared"))
    first = certify(alone, tiny_data(), progress=False, tolerance=1e-4, batch_size=12)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    pair = [start(shared.path, 20, RANK=str(rank), LOCAL_RANK=str(rank), **place) for rank in range(2)]
    for process in pair:
        process.join(200)
    assert [process.exitcode for process in pair] == [0, 0]
    assert len(list((shared.path / "votes").glob("rank-*.rows"))) == 2
    ours, theirs = Record.open(alone.path / "votes").votes(), Record.open(shared.path / "votes").votes()
    assert np.array_equal(ours[0], theirs[0])
    assert np.array_equal(ours[1], theirs[1])
    assert rows_without_time(alone.path) == rows_without_time(shared.path)
    assert not list(shared.path.glob(f"{TABLE}.*"))
    again = certify(load(shared.path), tiny_data(), progress=False, batch_size=12)
    assert [attrs.evolve(row, seconds=0) for row in again.rows] == [attrs.evolve(r, seconds=0) for r in first.rows]


def test_the_exact_columns_are_announced() -> None:
    """Every column has a meaning; the radius says in which direction it is rounded."""
    from zoo.certification.table import MEANING

    assert tuple(MEANING) == (*COLUMNS, *ALL_METHODS)
    assert "rounded down" in MEANING["radius"]


def test_the_network_goes_back_to_the_cpu(model: Model) -> None:
    """A run leaves the model where it was."""
    run(model, limit=1)
    assert next(model.base.parameters()).device == torch.device("cpu")


@pytest.mark.slow
def test_a_folder_of_large_images_is_streamed(tmp_path: Path) -> None:
    """JPEGs of 224x224 in class folders: trained, voted and reported without holding them all."""
    from PIL import Image

    from zoo import report, train

    rng = np.random.RandomState(0)
    for half, count in (("train", 4), ("val", 2)):
        for label, name in enumerate(("dark", "bright")):
            folder = tmp_path / "pictures" / half / name
            folder.mkdir(parents=True)
            for k in range(count):
                pixels = rng.randint(0, 128, (240, 260, 3)) + 120 * label
                Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{k}.jpg")
    model = train("z**0.5/2", tmp_path / "pictures", out=tmp_path / "run", epochs=1, budget=6, batch=4, progress=False)
    found = certify(model, tmp_path / "pictures", progress=False, batch_size=6, tolerance=1e-3)
    assert found.images == 4
    assert report(model.path, data=tmp_path / "pictures").stat().st_size > 100_000
    with pytest.raises(DataError, match="pass the data"):
        certify(model, progress=False)
