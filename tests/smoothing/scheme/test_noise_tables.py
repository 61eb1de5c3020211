"""The tables behind the noise: both forms for every coupling and several components, large numbers, and memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from ecm import ECM
from ecm.design import Design
from smoothing import Noise, Scheme
from smoothing.scheme import noise as _noise
from smoothing.scheme.representation import PLANES
from tests.smoothing.scheme.test_noise import bins

FORMS = pytest.mark.parametrize("largest", [2**23, 0], ids=["rows", "bisection"])


def schemes() -> Iterator[Scheme]:
    """Every coupling, of one component and of three that have 4, 2 and 3 rows, in every representation."""
    whole = Design.from_weights(ECM.l0(1), {1: 1, 3: 2}, 4, 9)
    metric = ECM.grouped([ECM.l0(1), ECM.l0("3/2"), ECM.l0(2)], [0, 1, 2, 0])
    parts = Design.from_rows(metric, [[[1], [2, 4], [1, 3], [3]], [[4], [1, 2, 3]], [[2], [3], [2, 3]]], 4, 7)
    for coupling, representation in product(("spread", "independent", "permutation", "global"), PLANES):
        yield Scheme(whole, (2, 2, 1), coupling=coupling, representation=representation, seed=1)  # type: ignore[arg-type]
        if coupling != "global":
            yield Scheme(parts, (4, 1, 2), coupling=coupling, representation=representation, seed=2)  # type: ignore[arg-type]


@FORMS
def test_both_forms_of_table_follow_the_definition(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Bins and planes are those of the outcomes, whether the permutations are kept or not, however they are stored."""
    monkeypatch.setattr(_noise, "_LARGEST_TABLE", largest)
    for scheme in schemes():
        x = np.random.RandomState(0).randint(scheme.q + 1, size=(2, *scheme.shape))
        order = range(scheme.samples - 1, -1, -1)
        ends = tuple(torch.from_numpy(end) for end in bins(scheme, x, order))
        lower, upper = (end.double().numpy() / (2 * scheme.q) for end in ends)
        planes = [torch.from_numpy(plane(lower, upper)).float() for plane in PLANES[scheme.representation]]
        for memory in (1, 2**28):
            noise = Noise(scheme, memory=memory)
            assert (noise._table is None) == (memory == 1 or scheme.coupling != "permutation")
            assert all(map(torch.equal, noise.bounds(torch.from_numpy(x), order), (end.int() for end in ends)))
            shown = noise.inputs(torch.from_numpy(x), order)
            assert torch.equal(shown, torch.cat(planes, dim=2))
            assert torch.equal(shown, noise.inputs(torch.from_numpy(x), torch.tensor(order), channels_last=True))
            for last in (False, True):
                assert torch.equal(noise.paired(torch.from_numpy(x), [0, 3], last), shown[[0, 1], [-1, -4]])


def test_rows_beyond_31_bits_are_found() -> None:
    """Of 32,768 offsets of one width at q = 65535 the last has a row that ends just beyond 2**31."""
    q, width = 65535, 32_768
    design = Design.from_weights(ECM.l0(1), {width: 1}, q, width + 5)
    scheme = Scheme(design, (1,), coupling="independent", order="published")
    outcome = np.array([0, 7_000, width - 2, width - 1, width, width + 4])
    x = np.array([[0], [30_000], [width - 1], [width], [width + 3], [q]])
    below = (x - outcome - 1) // width * width + outcome + 1  # the last gap with a divider that is not above the level
    lower, upper = Noise(scheme).bounds(torch.from_numpy(x), (outcome - scheme.offsets[0]) % scheme.total)
    shown = outcome < width
    assert np.array_equal(lower[:, :, 0], np.where(shown & (below >= 1), 2 * below - 1, 0))
    assert np.array_equal(upper[:, :, 0], np.where(shown & (below + width <= q), 2 * (below + width) - 1, 2 * q))


def test_offsets_beyond_31_bits_are_added_exactly() -> None:
    """A global width has few samples but offsets up to B: offset plus phase is a number of 32 bits or more."""
    q = 65535
    design = Design.from_weights(ECM.l0(1), {q: 1}, q, 2**31 - 3)
    scheme = Scheme(design, (1,), coupling="global", order="published", seed=30553)  # an offset near B
    assert scheme.offsets[0] + q > 2**31
    samples = np.array([0, 1, q - 1, q])
    lower, _ = Noise(scheme).bounds(torch.tensor([[q]]), samples)
    gaps = [(t + int(scheme.offsets[0])) % q + 1 for t in samples[:-1]]
    assert lower.ravel().tolist() == [*(2 * gap - 1 for gap in gaps), 0]


class Peak(TorchFunctionMode):
    """The most bytes that tensors with a number for each of many places take at a time."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.places, self.most = places, 0
        self.alive: list[weakref.ref[torch.Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.alive += [weakref.ref(made)] if isinstance(made, torch.Tensor) and made.numel() >= self.places else []
        stored = [tensor.untyped_storage() for one in self.alive if (tensor := one()) is not None]
        self.most = max(self.most, sum({part.data_ptr(): part.nbytes() for part in stored}.values()))
        return made


@FORMS
@pytest.mark.parametrize("channels_last", [False, True])
def test_a_chunk_fills_the_memory_and_takes_no_more(
    monkeypatch: pytest.MonkeyPatch, largest: int, channels_last: bool
) -> None:
    """As many pairs as `chunk` says fit the memory; with bins by bisection one pair more does not."""
    monkeypatch.setattr(_noise, "_LARGEST_TABLE", largest)
    noise = Noise(Scheme(ECM.l0(2).design(64, q=4), (2, 3, 3)), memory=30_000)
    assert 8 < noise.chunk < 60

    def peak(pairs: int) -> int:
        with Peak(pairs * 18 * 2) as measured:
            noise.inputs(torch.zeros((1, 2, 3, 3), dtype=torch.uint8), range(pairs), channels_last)
        return measured.most

    assert noise.memory / 2 < peak(noise.chunk) <= noise.memory
    assert largest or peak(noise.chunk + 1) > noise.memory
    assert Noise(noise.scheme, memory=1).chunk == 1


def test_permutations_are_kept_if_they_fit_half_the_memory() -> None:
    """The table of 6 features at 8 samples has 192 bytes: it is kept within a memory of 384 and not within 383."""
    scheme = Scheme.l1(2, (6,), q=4, coupling="permutation")
    kept, found = Noise(scheme, memory=384), Noise(scheme, memory=383)
    assert kept._table is not None
    assert kept._table.nbytes == 192
    assert found._table is None


def test_what_is_shown_is_stored_as_asked() -> None:
    """Channels come first unless the caller wants them last; tensors of sample numbers are used as they are."""
    noise = Noise(Scheme.l1(2, (3, 4, 4), q=4))
    x, samples = torch.zeros((2, 3, 4, 4), dtype=torch.uint8), torch.tensor([1, 5])
    assert noise.indices(samples) is samples
    assert noise.inputs(x, samples).is_contiguous()
    assert noise.paired(x, samples).is_contiguous()
    assert noise.paired(x, samples, True).is_contiguous(memory_format=torch.channels_last)


def test_small_tables_are_kept_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four offsets and the row without dividers, five levels each: 25 entries are kept if they fit the limit."""
    scheme = Scheme.l1(2, (1,), q=4)
    for limit in (24, 25):
        monkeypatch.setattr(_noise, "_LARGEST_TABLE", limit)
        assert (Noise(scheme)._keys is None) == (limit == 25)
    assert Noise(scheme).memory == 2**28
