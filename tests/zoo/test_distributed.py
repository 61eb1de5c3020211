"""Several processes share a batch and end where one process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from zoo.distributed import Workers
from zoo.errors import TrainingError
from zoo.files import load_tensors
from zoo.training import train

SETTINGS = ["-d", "digits", "--model", "mlp", "--epochs", "2", "--budget", "48", "--set", "batch=64", "--device", "cpu"]
SETTINGS += [
    "--set",
    "bf16=false",
]  # where training computes in bfloat16, the two parts are rounded more coarsely


@pytest.mark.slow
def test_two_processes_train_like_one(tmp_path: Path) -> None:
    """torchrun with two gloo processes gives the weights of one process, up to the rounding of a sum in two parts."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    command = [*torchrun, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "-m", "zoo", "train", "z**0.5/3"]
    done = subprocess.run(
        [*command, *SETTINGS, "--out", str(tmp_path / "two")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    alone = train(
        "z**0.5/3", "digits", model="mlp", epochs=2, budget=48, batch=64, bf16=False, out=tmp_path / "one", device="cpu"
    )
    two, one = (load_tensors(tmp_path / name / "model.safetensors")[0] for name in ("two", "one"))
    assert all(torch.allclose(two[name], one[name], atol=1e-4) for name in one)
    assert alone.card["training"]["processes"] == 1
    assert len((tmp_path / "two" / "metrics.jsonl").read_text().splitlines()) == 2


def test_the_shares_make_up_the_batch() -> None:
    """Every image of a batch belongs to exactly one process."""
    batch = torch.arange(12)
    shares = [Workers(torch.device("cpu"), rank, 3).share(batch) for rank in range(3)]
    assert sorted(torch.cat(shares).tolist()) == batch.tolist()
    assert {len(share) for share in shares} == {4}


def test_a_batch_that_cannot_be_shared_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An uneven share would weigh images differently."""
    from contextlib import nullcontext

    three = Workers(torch.device("cpu"), 0, 3)
    monkeypatch.setattr("zoo.training.run.workers", lambda device: nullcontext(three))
    with pytest.raises(TrainingError, match=r"64 images is not shared evenly by 3 processes: write batch=63 \(--set"):
        train("z**0.5/3", "digits", batch=64, budget=24, out=tmp_path, progress=False)
