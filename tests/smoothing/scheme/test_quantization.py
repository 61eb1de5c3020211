"""Images become levels without any rounding that was not asked for; whatever cannot is refused in words."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from smoothing import InputError, levels, quantize
from smoothing.scheme import digest


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats_on_the_grid_are_levels(dtype: torch.dtype) -> None:
    """Every v/q as float32 or float64 renders it is read as the level v, for every q."""
    for q in (1, 16, 255, 65535):
        level = torch.arange(q + 1)[None]
        assert torch.equal(levels(level.to(dtype) / q, q, (q + 1,)), level.int())
        assert torch.equal(levels((level.double() / q).float().to(dtype), q, (q + 1,)), level.int())


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "int16", "int64", "float32", "float64"])
def test_arrays_are_read_like_tensors(kind: str) -> None:
    """Integers of every size are levels, in the order of the array, and the array is left alone."""
    array = np.arange(6, dtype=kind)[::-1].reshape(1, 2, 3) / np.asarray(5 if kind.startswith("f") else 1, dtype=kind)
    array = array.astype(kind)
    read = levels(array, 5, (2, 3))
    assert read.dtype == torch.int32
    assert read.tolist() == [[[5, 4, 3], [2, 1, 0]]]
    read += 1
    assert array.max() == (1 if kind.startswith("f") else 5)


NAN = float("nan")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.tensor([[0.1, 0.5]]), r"the value 0\.1\d* is not v/4.*quantize"),
        (torch.tensor([[0.5, 0.3], [0.25, 0.7]]), r"the value 0\.3\d* is not v/4.*quantize"),
        (torch.tensor([[0.0, NAN]]), "NaN"),
        (torch.tensor([[NAN, NAN]]), "NaN"),
        (torch.tensor([[0.0, 1.5]]), r"0\.0\.\.1\.5"),
        (torch.tensor([[2.0, 1.5]]), r"1\.5\.\.2\.0"),
        (torch.tensor([[-0.25, 1.0]]), r"-0\.25\.\.1\.0"),
        (torch.tensor([[-1, 2]]), r"-1\.\.2"),
        (torch.tensor([[-2, -1]]), r"-2\.\.-1"),
        (torch.tensor([[0, 5]]), r"0\.\.5"),
        (torch.tensor([[-1, 5]]), r"-1\.\.5"),
        (torch.tensor([[2**32, 0]]), r"0\.\.4294967296"),
        (torch.tensor([[0, 1, 2]]), r"\(N, 2\)"),
        (torch.tensor([[[0], [1]]]), r"\(N, 2\)"),
        (torch.tensor([0, 1]), r"\(N, 2\)"),
        (torch.tensor([[0.0, 1.0]], dtype=torch.float16), "float16"),
        (torch.tensor([[0.0, 1.0]], dtype=torch.bfloat16), "bfloat16"),
        (torch.tensor([[0, 1]], dtype=torch.complex64), "complex64"),
        (torch.tensor([[True, False]]), "bool"),
        (np.array([["a", "b"]]), "dtype"),
        (np.array([[0, 1j]]), "complex128: give integer levels"),
        (np.array([[0, 1]], dtype=np.uint64), "uint64"),
        ([[0, 1], [2]], "one shape"),
    ],
    ids=str,
)
def test_bad_inputs_are_refused(x: Tensor, message: str) -> None:
    """Values off the grid or out of range, NaN, wrong shapes and dtypes raise an error that shows what was given."""
    with pytest.raises(InputError, match=message):
        levels(x, 4, (2,))


@pytest.mark.parametrize(
    ("given", "shape", "hinted"),
    [
        ((1, 5, 6, 3), (3, 5, 6), True),
        ((1, 6, 5, 3), (3, 5, 6), False),
        ((1, 3, 5), (3, 5, 6), False),
        ((1, 6, 5), (5, 6), False),
        ((1, 4, 5, 6, 3), (3, 4, 5, 6), False),
    ],
)
def test_channels_at_the_end_are_named_as_the_cause(
    given: tuple[int, ...], shape: tuple[int, ...], hinted: bool
) -> None:
    """The hint to permute is given for images whose shape is that of channels last, and only for those."""
    with pytest.raises(InputError) as error:
        levels(torch.zeros(given, dtype=torch.uint8), 4, shape)
    assert ("permute(0, 3, 1, 2)" in str(error.value)) == hinted


def test_an_empty_batch_is_read() -> None:
    """No image is no error."""
    for dtype in (torch.uint8, torch.float32):
        assert levels(torch.zeros((0, 2), dtype=dtype), 4, (2,)).shape == (0, 2)


def test_rounding_is_explicit() -> None:
    """`quantize` takes any float in [0,1] to its nearest level (ties to even, 0..255 by default), and nothing else."""
    for given in (torch.tensor([[0.1, 0.5, 0.99, 0.0, 1.0]]), np.array([[0.1, 0.5, 0.99, 0, 1]])):
        assert quantize(given).tolist() == quantize(given, 255).tolist() == [[26, 128, 252, 0, 255]]
    assert quantize(torch.tensor([0.1, 0.9], dtype=torch.float16), 4).tolist() == [0, 4]
    wrong: list[Any] = [torch.tensor([[1]]), np.array([[1]]), torch.tensor([[0.0, 1.01]]), torch.tensor([[-0.1, 1.0]])]
    for given in (*wrong, torch.tensor([[NAN]]), torch.tensor([[0.5, NAN]])):
        with pytest.raises(InputError, match=r"floats in \[0,1\]"):
            quantize(given, 255)


def test_the_digest_is_that_of_shape_and_levels() -> None:
    """Whatever type holds them, the levels are hashed as little-endian integers of four bytes, after their shape."""
    expected = hashlib.sha256(b"(1, 3)" + bytes([0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])).hexdigest()
    for kind in ("int16", "int64", "uint16"):
        assert digest(np.array([[0, 1, 256]], dtype=kind)) == expected
    assert digest(torch.tensor([[0, 1, 256]])) == expected
