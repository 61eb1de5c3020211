"""What a run tells: JSON lines on disk, TensorBoard when it is installed, and a progress bar with the time left."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ecm.jsontext import read_json
from ecm.progress import ProgressBar
from zoo.errors import TrainingError
from zoo.files import write_atomically
from zoo.folder import BOARD, METRICS


class Journal:
    """Writes to `folder/metrics.jsonl` (one object per line) and to the terminal. Without a folder it is silent.

    A resumed run drops the lines after the step it resumes from: they will be written again.
    """

    def __init__(self, folder: Path | None, title: str, steps: int, start: int, show: bool) -> None:
        self.path = None if folder is None else folder / METRICS
        self.steps, self.start, self.shown = steps, start, -math.inf
        self.board: Any = None
        self.progress = ProgressBar(steps, f"steps on {title}", show and folder is not None, done=start)
        if folder is not None:
            self._open(folder)

    def _open(self, folder: Path) -> None:
        kept = _lines(folder / METRICS, self.start) if self.start else []
        write_atomically(folder / METRICS, "".join(line + "\n" for line in kept).encode())
        try:
            from torch.utils.tensorboard.writer import SummaryWriter

            self.board = SummaryWriter(str(folder / BOARD), purge_step=self.start)
        except ImportError:
            self.board = None

    def _append(self, text: str) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a") as file:
                file.write(text)
        except OSError as error:
            raise TrainingError(
                f"{self.path} could not be written: {error.strerror}; make room, then run the same command to resume"
            ) from error

    def __enter__(self) -> Self:
        self.progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.__exit__(kind, error, trace)
        if self.board is not None:
            self.board.close()

    def step(self, step: int, loss: float, accuracy: float) -> None:
        """The state after a step; `accuracy` is the base accuracy on noisy training images so far in this epoch."""
        self.progress.at(step, f"loss {loss:.3f}, base accuracy {accuracy:.1%}")

    def epoch(self, row: dict[str, Any]) -> None:
        """A line for the file, and for the terminal; short epochs are shown about once a second, and the last one."""
        self._append(json.dumps(row) + "\n")
        if self.board is not None:
            for name, value in row.items():
                if name not in ("epoch", "step"):
                    self.board.add_scalar(name, value, row["step"])
        now = time.monotonic()
        if now - self.shown < 1 and row["step"] < self.steps:
            return
        self.shown = now
        self.progress.say(
            f"epoch {row['epoch']:>4}  loss {row['loss']:.3f}  base accuracy {row['train_base_accuracy']:.1%} train, "
            f"{row['test_base_accuracy']:.1%} test  lr {row['lr']:.4f}  {row['seconds']:.1f} s"
        )


def _lines(path: Path, step: int) -> list[str]:
    """Return the lines up to this step; what a kill or a full disk left of a line is no line."""
    kept = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            if read_json(line)["step"] <= step:
                kept.append(line)
        except (ValueError, KeyError, TypeError):
            continue
    return kept
