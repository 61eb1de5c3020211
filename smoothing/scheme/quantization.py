"""From images to levels 0..q: integers as they are, floats only where nothing has to be rounded away."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smoothing.errors import InputError

_FLOATS = (torch.float32, torch.float64)
Images = Tensor | NDArray[np.generic]


def levels(x: Images, q: int, shape: tuple[int, ...]) -> Tensor:
    """Return the batch `x` [N, *shape] as int32 levels 0..q on its device, or an `InputError` that says what is wrong.

    Integers are levels. Floats must be v/q exactly, as float32 or float64 render it (torchvision's `ToTensor` does):
    a certificate speaks of the levels, so rounding is left to an explicit `quantize`.

    >>> levels(torch.tensor([[0.0, 1 / 255, 1.0]]), q=255, shape=(3,))
    tensor([[  0,   1, 255]], dtype=torch.int32)
    """
    batch = _tensor(x)
    if tuple(batch.shape[1:]) != shape or batch.ndim != len(shape) + 1:
        last = (*shape[1:], shape[0])
        hint = (
            "; channels come first: x.permute(0, 3, 1, 2)" if tuple(batch.shape[1:]) == last and len(shape) == 3 else ""
        )
        raise InputError(
            f"the input has shape {tuple(batch.shape)}; this scheme reads batches (N, {_inner(shape)}){hint}"
        )
    if batch.dtype in _FLOATS:
        return _on_grid(batch, q)
    if batch.dtype.is_floating_point or batch.dtype.is_complex or batch.dtype == torch.bool:
        raise InputError(
            f"dtype {batch.dtype} cannot hold the levels: give integers 0..{q}, or float32/float64 values v/{q}"
        )
    whole = batch.to(torch.int64)
    _within(whole, 0, q, f"levels are 0..{q}")
    return whole.to(torch.int32)


def quantize(x: Images, q: int = 255) -> Tensor:
    """Return the nearest levels of floats in [0,1] (ties to even), int32. The certificates then hold around the rounded
    image.

    >>> quantize(torch.tensor([[0.1, 0.5]]), q=4)
    tensor([[0, 2]], dtype=torch.int32)
    """
    batch = _tensor(x)
    if not batch.dtype.is_floating_point:
        raise InputError(f"dtype {batch.dtype}: quantize takes floats in [0,1]; integers are levels already")
    _within(batch, 0.0, 1.0, "quantize takes floats in [0,1]")
    return (batch.to(torch.float64) * q).round().to(torch.int32)


def digest(image: Images) -> str:
    """Return sha256 (hex) of one image's levels: its shape as text, then the levels as little-endian 32-bit integers.

    >>> digest(torch.tensor([0, 255], dtype=torch.uint8)) == digest(torch.tensor([0, 255]))
    True
    """
    array = _tensor(image).cpu().numpy().astype("<i4")
    return hashlib.sha256(f"{array.shape}".encode() + array.tobytes()).hexdigest()


def _on_grid(batch: Tensor, q: int) -> Tensor:
    _within(batch, 0.0, 1.0, f"floats are v/{q} in [0,1], and levels are integers")
    exact = batch.to(torch.float64)
    nearest = (exact * q).round()
    grid = nearest / q
    off = (exact != grid) & (exact != grid.to(torch.float32).to(torch.float64))
    if bool(off.any()):
        value = float(batch[off][0])
        raise InputError(
            f"the value {value!r} is not v/{q}: pass integer levels, or smoothing.quantize(x, {q}) if rounding is meant"
        )
    return nearest.to(torch.int32)


def _within(batch: Tensor, least: float, most: float, rule: str) -> None:
    if batch.is_floating_point() and bool(batch.isnan().any()):
        raise InputError(f"the input contains NaN; {rule}")
    if batch.numel() and (bool((batch < least).any()) or bool((batch > most).any())):
        raise InputError(f"the input spans {batch.min().item()}..{batch.max().item()}; {rule}")


def _tensor(x: Images) -> Tensor:
    if isinstance(x, Tensor):
        return x
    try:
        array = np.ascontiguousarray(x)
    except ValueError as error:
        raise InputError(f"the input is not an array ({error}): give images of one shape") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"an array of dtype {array.dtype}: give integer levels, or float32/float64 values in [0,1]")
    if array.dtype == np.uint64:
        raise InputError("dtype uint64: give levels in a smaller integer type, uint8 say")
    return torch.from_numpy(array.astype(np.int64) if array.dtype in (np.uint16, np.uint32) else array.copy())


def _inner(shape: tuple[int, ...]) -> str:
    return ", ".join(str(n) for n in shape)
