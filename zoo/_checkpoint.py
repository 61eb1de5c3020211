"""Atomic files, and the state of a run in one safetensors file: tensors plus a JSON text, never a pickle."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from zoo._errors import CheckpointError

FORMAT = "ecm-checkpoint-1"
PART = ".part"  # what a killed process may leave behind


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, flush to the disk, rename: `path` holds the old or the new content, never a part of one.

    A full disk or a missing permission leaves the old file as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}{PART}")  # not tempfile: its files are for the owner alone
    try:
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CheckpointError(
            f"{path} could not be written: {error.strerror}; the previous state is intact. Make room or choose another "
            "folder, then run the same command again to resume"
        ) from error
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename itself
    finally:
        os.close(folder)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Tensors and facts (JSON) in one file, with a digest of both."""
    flat = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    text = json.dumps(dict(facts), sort_keys=True)
    header = {"format": FORMAT, "facts": text, "sha256": _digest(flat, text)}
    write_atomically(path, to_bytes(flat, metadata=header))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save_tensors` wrote; a file that is truncated, damaged or something else is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file ({error}); {_ADVICE}") from error
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path} has the format {header.get('format')!r}, not {FORMAT!r}; {_ADVICE}")
    if header.get("sha256") != _digest(tensors, header.get("facts", "")):
        raise CheckpointError(f"{path} is damaged: its digest does not fit its content; {_ADVICE}")
    facts: dict[str, Any] = json.loads(header["facts"])
    return tensors, facts


_ADVICE = "delete it to begin the run anew (resume=False does the same)"


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    sha = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = tensors[name]
        sha.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        sha.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()
