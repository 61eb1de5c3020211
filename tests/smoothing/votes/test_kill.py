"""A voting run killed at random moments, again and again, leaves the record of an undisturbed one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# One process imports everything, then forks runs and kills them with SIGKILL: a kill costs milliseconds, not an import.
RUN = """
import os, random, signal, sys, time
import torch
torch.set_num_threads(1)
from torch import nn
from smoothing import Scheme, SmoothedClassifier, vote_dataset

torch.manual_seed(0)
base = nn.Sequential(nn.Conv2d(2, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 10))
images = torch.randint(0, 17, (60, 1, 8, 8), dtype=torch.uint8)
classifier = SmoothedClassifier(base, Scheme.l1(2, (1, 8, 8), q=16), 10, batch_size=70)

def run(path):
    child = os.fork()
    if child == 0:
        vote_dataset(classifier, images, path)
        os._exit(0)
    return child

whole, killed = sys.argv[1:]
start = time.perf_counter()
os.waitpid(run(whole), 0)
length = time.perf_counter() - start
rng = random.Random(0)
kills = 0
for _ in range(25):
    child = run(killed)
    time.sleep(rng.uniform(0, length / 5))
    os.kill(child, signal.SIGKILL)
    kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
_, status = os.waitpid(run(killed), 0)
print(kills, status)
"""


def test_killed_runs_leave_the_same_bytes(tmp_path: Path) -> None:
    """Twenty-five kill -9 at random moments, each followed by a resume, and not a byte differs in the end."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-c", RUN, str(whole), str(killed)]
    kills, status = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(kills) >= 3
    assert status == "0"
    names = sorted(file.name for file in whole.iterdir())
    assert names == ["header.json", "rank-00000.rows"]
    for name in names:
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
