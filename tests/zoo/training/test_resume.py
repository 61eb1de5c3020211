"""A run that is killed at any moment and started again is the same run."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.zoo.tiny import tiny_data
from zoo.errors import CheckpointError
from zoo.files import load_tensors, save_tensors
from zoo.folder import CHECKPOINT
from zoo.training.run import train
from zoo.training.state import save

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["zoo.training.run"])  # one import of torch for all lives


def live(out: Path, settings: dict[str, Any]) -> None:
    """One life of a run, in a process of its own."""
    torch.set_num_threads(1)
    try:
        data = tiny_data(settings.pop("images")) if "images" in settings else "digits"
        train("z**0.5/3", data, out=out, budget=48, progress=False, device="cpu", checkpoint_seconds=0.05, **settings)
    except KeyboardInterrupt as stopped:
        (out / "stopped").write_text(str(stopped))


def start(out: Path, settings: dict[str, Any]) -> BaseProcess:
    process = SERVER.Process(target=live, args=(out, settings))
    process.start()
    return process


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"model": "mlp", "epochs": 12}, {"model": "small_cnn", "epochs": 3, "optimizer": "muon", "images": 200}],
    ids=str,
)
def test_killed_and_resumed_equals_undisturbed(tmp_path: Path, settings: dict[str, Any]) -> None:
    """kill -9 at random moments, start again until done: bitwise the weights of a run that nobody touched."""
    calm = start(tmp_path / "calm", settings)
    calm.join()
    assert calm.exitcode == 0
    chance = random.Random(0)
    path = tmp_path / "hunted" / CHECKPOINT
    kills = seen = 0
    while True:
        process = start(tmp_path / "hunted", settings)
        while process.is_alive() and kills < 2:  # wait for a checkpoint of this life, then strike at a random moment
            if path.exists() and path.stat().st_mtime_ns > seen:
                time.sleep(chance.uniform(0, 0.3))
                process.kill()
                kills, seen = kills + 1, time.time_ns()
                break
            time.sleep(0.01)
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    assert kills >= 1
    weights = [load_tensors(tmp_path / name / "model.safetensors")[0] for name in ("calm", "hunted")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not [entry for entry in (tmp_path / "hunted").iterdir() if entry.name.startswith(".")]
    rows = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("calm", "hunted")]
    assert [json.loads(row)["step"] for row in rows[0]] == [json.loads(row)["step"] for row in rows[1]]


@pytest.mark.slow
def test_a_polite_stop_saves_first(tmp_path: Path) -> None:
    """SIGTERM (and Ctrl-C) ends the run after a step, with the state of that step on disk."""
    process = start(tmp_path, {"model": "mlp", "epochs": 4000})
    while not (tmp_path / CHECKPOINT).exists() and process.is_alive():
        time.sleep(0.02)
    process.terminate()
    process.join()
    _, facts = load_tensors(tmp_path / CHECKPOINT)
    assert (tmp_path / "stopped").read_text() == f"stopped at step {facts['step']} of 44000; the same command resumes"


def test_the_card_counts_the_seconds_of_all_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped after its first checkpoint, which is then dated back, ends with the sum."""
    settings = {"budget": 24, "epochs": 1, "progress": False, "device": "cpu", "checkpoint_seconds": 0.0}

    def stop(*args: Any, seconds: float) -> None:
        save(*args, seconds=seconds + 1000)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("zoo.training.loop.save", stop)
        with pytest.raises(KeyboardInterrupt):
            train("z**0.5/3", "digits", out=tmp_path, **settings)
    assert 1000 < load_tensors(tmp_path / CHECKPOINT)[1]["seconds"] < 1100
    assert 1000 < train("z**0.5/3", "digits", out=tmp_path, **settings).card["training"]["seconds"] < 1100


def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    """It is named, and what to do is said; nothing is trained over it."""
    settings = {"budget": 24, "epochs": 1, "progress": False, "device": "cpu"}
    (tmp_path / CHECKPOINT).write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match=r"damaged or no safetensors file .*; delete it to start the run again"):
        train("z**0.5/3", "digits", out=tmp_path, **settings)
    for found in ({"scheme": "another"}, {"scheme": "another", "training": [1]}):
        save_tensors(tmp_path / CHECKPOINT, {}, {"step": 1, "sums": [0, 0, 0], "run": found})
        with pytest.raises(CheckpointError, match="different settings: the metric, the budget or the design differs"):
            train("z**0.5/3", "digits", out=tmp_path, **settings)
