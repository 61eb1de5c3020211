"""Atomic files, and the state of a run in one safetensors file: tensors plus a JSON text, never a pickle."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from ecm.errors import ECMError
from ecm.files import locked, replace_file
from ecm.jsontext import read_json
from zoo.errors import CheckpointError

FORMAT = "ecm-checkpoint-1"
_ADVICE = "delete it to start the run again (resume=False, --no-resume, does the same)"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While this lasts no other process writes a run into the folder; a killed process takes its lock with it."""
    folder.mkdir(parents=True, exist_ok=True)
    busy = ECMError(f"{folder} is in use by another process: wait until it has ended, or choose another folder")
    handle = os.open(folder, os.O_RDONLY)
    try:
        with locked(handle, busy):
            yield
    finally:
        os.close(handle)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of a run in one step; an error says how to resume the run.

    A full disk or a missing permission leaves the old file as it was.
    """
    try:
        replace_file(path, content)
    except OSError as error:
        raise CheckpointError(
            f"{path} could not be written: {error.strerror}; the previous state is intact. Make room or choose another "
            "folder, then run the same command again to resume"
        ) from error


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file of a run in one step."""
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def save_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and facts (JSON) to one file, with a digest of both; equal content gives equal bytes."""
    flat = {
        name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()
    }  # tied ones apart
    text = json.dumps(dict(facts), sort_keys=True)
    header = {"format": FORMAT, "facts": text, "sha256": _digest(flat, text)}
    write_atomically(path, _ordered(to_bytes(flat, metadata=header)))


def _ordered(content: bytes) -> bytes:
    """Return the same safetensors file with its metadata in order: the library writes them in an order of chance, and a
    model is known by the sha256 of its file."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def load_tensors(path: Path, *, advice: str = _ADVICE) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what `save_tensors` wrote; a file that is truncated, damaged or something else is refused with the
    advice."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; {advice}") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file ({error}); {advice}") from error
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path} has the format {header.get('format')!r}, not {FORMAT!r}; {advice}")
    if header.get("sha256") != _digest(tensors, header.get("facts", "")):
        raise CheckpointError(f"{path} is damaged: its digest does not fit its content; {advice}")
    facts: dict[str, Any] = read_json(header["facts"])
    return tensors, facts


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    sha = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = tensors[name]
        sha.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        sha.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()
