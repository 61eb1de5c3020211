"""Small runs of everything that writes: each in a forked child, so that a kill costs milliseconds and no import."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ecm import ECM
from smoothing import Scheme, SmoothedClassifier, vote_dataset
from zoo import Dataset, certify, load, train

SETTINGS: dict[str, Any] = {"device": "cpu", "progress": False}


def data(images: int = 40) -> Dataset:
    """Two classes of 1x4x4 images with levels 0..4, dark and bright."""
    random, labels = np.random.RandomState(0), np.arange(images) % 2
    levels = np.clip(random.randint(0, 3, (images, 1, 4, 4)) + labels[:, None, None, None], 0, 4)
    pair = levels.astype(np.uint8), labels.astype(np.int64)
    return Dataset.from_arrays(pair, pair, q=4, name="soak", class_names=["dark", "bright"])


def training(folder: Path) -> None:
    """A few epochs with checkpoints."""
    train("z**0.5/2", data(), model="mlp", epochs=6, budget=12, out=folder, **SETTINGS)


def voting(folder: Path) -> None:
    """A record of votes."""
    torch.manual_seed(0)
    base = nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    scheme = Scheme(ECM.lp("1/2", 4).design(48, q=4), (1, 4, 4))
    vote_dataset(SmoothedClassifier(base, scheme, 2, batch_size=48), data().test.take(range(40)), folder)


def certification(model: Path) -> Callable[[Path], None]:
    """Votes, certificates and the table of a model."""

    def run(folder: Path) -> None:
        certify(load(model), data(), out=folder, tolerance=1e-4, batch_size=24, **SETTINGS)

    return run


def forked(run: Callable[[Path], None], folder: Path, **environment: str) -> int:
    """Start the run in a child process; its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ.update(environment)
        torch.set_num_threads(1)
        run(folder)
        code = 0
    except BaseException:
        sys.stderr.write(traceback.format_exc())
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, seconds: float = 120.0) -> int | None:
    """The exit code of a child (negative: the signal that ended it); None, and a kill, if it takes too long."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def table_without_times(folder: Path) -> list[list[str]]:
    """The cells of certify.tsv but for the column of times; none if there is no table."""
    if not (folder / "certify.tsv").exists():
        return []
    lines = (folder / "certify.tsv").read_text().splitlines()
    return [[cell for k, cell in enumerate(line.split("\t")) if k != 5] for line in lines]
