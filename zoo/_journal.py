"""What a run tells: JSON lines on disk, TensorBoard when it is installed, and a progress bar with the time left."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Journal:
    """Writes to `folder/metrics.jsonl` (one object a line) and to the terminal. Without a folder it is silent.

    A resumed run drops the lines after the step it resumes from: they will be written again.
    """

    def __init__(self, folder: Path | None, title: str, steps: int, start: int, show: bool) -> None:
        self.file: TextIO | None = None
        self.board: Any = None
        self.console = Console(stderr=True, quiet=not (show and folder))
        self.progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=self.console.quiet or not self.console.is_terminal,
            speed_estimate_period=300,
        )
        self.task = self.progress.add_task(title, total=steps, completed=start, status="")
        if folder is not None:
            self._open(folder, start)

    def _open(self, folder: Path, start: int) -> None:
        path = folder / "metrics.jsonl"
        kept = [line for line in _lines(path) if json.loads(line)["step"] <= start] if start else []
        self.file = path.open("w")
        self.file.writelines(line + "\n" for line in kept)
        self.file.flush()
        try:
            from torch.utils.tensorboard.writer import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=start)
        except ImportError:
            self.board = None

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
        if self.file is not None:
            self.file.close()
        if self.board is not None:
            self.board.close()

    def step(self, step: int, loss: float, accuracy: float) -> None:
        """The state after a step; `accuracy` is the base accuracy on noisy training images so far in this epoch."""
        self.progress.update(self.task, completed=step, status=f"loss {loss:.3f}  base {accuracy:.1%} (train)")

    def epoch(self, row: dict[str, Any]) -> None:
        """A line for the file, and for the terminal."""
        if self.file is not None:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()
        if self.board is not None:
            for name, value in row.items():
                if name not in ("epoch", "step"):
                    self.board.add_scalar(name, value, row["step"])
        self.console.print(
            f"epoch {row['epoch']:>4}  loss {row['loss']:.3f}  base accuracy {row['train_base_accuracy']:.1%} train, "
            f"{row['test_base_accuracy']:.1%} test  lr {row['lr']:.4f}  {row['seconds']:.1f} s",
            highlight=False,
        )


def _lines(path: Path) -> list[str]:
    """Whole lines only: a killed process may have left half of one."""
    if not path.exists():
        return []
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()
