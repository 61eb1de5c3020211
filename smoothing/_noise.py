"""The noise: levels and sample indices in, the ends of every feature's bin out, by table lookups alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecm._outcomes import Outcomes
from smoothing._errors import InputError, SchemeError
from smoothing._representation import planes
from smoothing._scheme import Scheme, lookup_rows

# Above this many entries the level -> bin rows would leave every cache; bins are then found by bisection.
_LARGEST_TABLE = 2**23


class Noise:
    """The noise of a scheme on one device.

    A *cell* is one bin of one outcome. The tables hold, for every cell, its ends in half-steps (level v is 2v, so
    0..2q) and its planes in [0,1]; a lookup is `row(t, feature)`, then `cell(row, level)`, then the tables. Only
    integers are added and compared, so the same input gives the same bins on every machine. No tensor of size
    samples x features is kept (the permutation coupling keeps one if it fits `memory`).

    `memory` (bytes) bounds the temporary tensors and the result of one call with at most `chunk` (image, sample) pairs.

    >>> noise = Noise(Scheme.l1(1, shape=(2,), q=2, order="published"))
    >>> lower, upper = noise.bounds(torch.tensor([[0, 2]]), range(2))
    >>> lower.tolist(), upper.tolist()
    ([[[0, 1], [0, 3]]], [[[1, 4], [3, 4]]])
    """

    def __init__(self, scheme: Scheme, device: torch.device | str = "cpu", memory: int = 2**28) -> None:
        self.scheme = scheme
        self.device = torch.device(device)
        self.memory = memory
        outcomes = scheme.design.outcomes
        # Rows of all components stand below each other; `last[c]` is component c's row without dividers.
        last = np.cumsum([o.finite + 1 for o in outcomes]) - 1
        rows = int(last[-1]) + 1
        self._keys: Tensor | None = None
        if rows * (scheme.q + 1) <= _LARGEST_TABLE:
            self._stride = scheme.q + 1
            tables = [lookup_rows(o) for o in outcomes]
            lower, upper = (np.concatenate([t[end].ravel() for t in tables]) for end in (0, 1))
        else:
            self._stride = scheme.q + 2
            keys, lower, upper = _cells(outcomes)
            self._keys = self._on(keys)
        shown = planes(scheme.representation, lower, upper, scheme.q)
        self._ends = self._on(np.stack([lower, upper]).astype(np.int32).ravel())
        self._shown = self._on(shown.ravel())
        self._index = torch.int32 if max(shown.size, rows * self._stride, 2 * len(lower)) < 2**31 else torch.int64
        self._per_end, self._planes = len(lower), len(shown)

        # Position -> first key of the row; twice in a row, so that t + offset < 2B needs no remainder.
        first = last - np.array([o.finite for o in outcomes])
        finite = np.array([o.finite for o in outcomes])
        start = (np.minimum(scheme.lists, finite[:, None]) + first[:, None]) * self._stride
        self._starts = self._on(np.concatenate([start, start], axis=1).ravel()).to(self._index)
        self._table: Tensor | None = None
        if scheme.coupling == "cyclic":
            self._place = self._on(scheme.component * 2 * scheme.total + scheme.offsets[scheme.site])
        elif scheme.coupling == "global":
            width, phase, begin, _ = scheme.combs
            self._global = [self._on(a)[:, None] for a in (width, phase, begin)]
            self._place = self._on(scheme.offsets[scheme.site])
        else:
            self._place = self._on(scheme.component * 2 * scheme.total)
            if scheme.features * scheme.samples * 4 <= memory // 2:
                self._table = self._permuted(np.arange(scheme.samples)).to(torch.int32)

    @property
    def chunk(self) -> int:
        """How many (image, sample) pairs one call may have to stay within `memory`: at least 1."""
        index = torch.empty(0, dtype=self._index).element_size()
        # a pair's own tensors: row starts while they are looked up, cells, and planes with their indices
        pair = self.scheme.features * (
            8 + 3 * index + self._planes * (index + 4) + (16 if self._keys is not None else 0)
        )
        return max(1, self.memory // pair)

    def bounds(self, x: Tensor, samples: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        """(lower, upper) in half-steps, int32 [N, S, *shape], of every level in `x` [N, *shape] at every sample."""
        cells = self._cells_of(self._flat(x)[:, None], self._rows(self._wanted(samples)))
        lower, upper = (self._look(self._ends, cells + end * self._per_end) for end in (0, 1))
        return _split(lower, self.scheme.shape), _split(upper, self.scheme.shape)

    def inputs(self, x: Tensor, samples: Sequence[int] | Tensor, channels_last: bool = False) -> Tensor:
        """What the network reads, float32 [N, S, planes * shape[0], *shape[1:]] in [0,1], at every sample.

        With `channels_last` the same numbers, stored with the channels innermost (for shapes of three axes).
        """
        flat, rows = self._flat(x, channels_last), self._rows(self._wanted(samples), channels_last)
        return self._planes_of(flat[:, None], rows, channels_last)

    def paired(self, x: Tensor, samples: Sequence[int] | Tensor, channels_last: bool = False) -> Tensor:
        """As `inputs`, but image n at its own `samples[n]`, for training: float32 [N, planes * shape[0], ...]."""
        flat, rows = self._flat(x, channels_last), self._rows(self._wanted(samples), channels_last)
        if len(flat) != len(rows):
            raise InputError(f"{len(rows)} samples for {len(flat)} images: paired takes one sample an image")
        return self._planes_of(flat, rows, channels_last)

    def _planes_of(self, flat: Tensor, rows: Tensor, channels_last: bool) -> Tensor:
        """Planes [..., planes * C, ...] of levels and row starts [..., features] in the same storage order."""
        shape, count = self.scheme.shape, self._planes
        plane = torch.arange(count, device=self.device, dtype=self._index) * self._per_end
        if channels_last and len(shape) == 3:
            c, h, w = shape
            plane = plane[:, None]  # features stand as (h, w, c); the planes go between w and c
            flat, rows = _split(flat, (h, w, 1, c)), _split(rows, (h, w, 1, c))
            stored = self._shown_at(flat, rows, plane)
            return stored.flatten(-2).movedim(-1, -3)
        stored = self._shown_at(flat.unsqueeze(-2), rows.unsqueeze(-2), plane[:, None])
        return _split(stored, shape).flatten(stored.ndim - 2, stored.ndim - 1)

    def _shown_at(self, flat: Tensor, rows: Tensor, plane: Tensor) -> Tensor:
        if self._keys is None:  # a cell is row + level: adding the plane to the small level tensor saves a pass
            return self._look(self._shown, (flat + plane) + rows)
        return self._look(self._shown, self._cells_of(flat, rows) + plane)

    def _cells_of(self, flat: Tensor, rows: Tensor) -> Tensor:
        if self._keys is None:
            return flat + rows
        return torch.searchsorted(self._keys, flat + rows, right=True, out_int32=self._index == torch.int32) - 1

    def _look(self, table: Tensor, index: Tensor) -> Tensor:
        return table.index_select(0, index.reshape(-1)).view(index.shape)

    def _rows(self, samples: Tensor, channels_last: bool = False) -> Tensor:
        """First key of the row of every feature at every sample, [S, features]."""
        place = self._stored(self._place, channels_last)
        if self.scheme.coupling == "cyclic":
            return self._look(self._starts, samples[:, None] + place)
        if self.scheme.coupling == "global":
            width, phase, begin = (column[samples] for column in self._global)
            row = begin + (phase + place) % width
            return row.clamp_(max=self.scheme.design.outcomes[0].finite).mul_(self._stride).to(self._index)
        if self._table is not None:
            return self._stored(self._table[samples], channels_last)
        return self._stored(self._permuted(samples.cpu().numpy()), channels_last)

    def _permuted(self, samples: NDArray[np.int64]) -> Tensor:
        position = np.empty((len(samples), self.scheme.sites), dtype=np.int64)
        for site in range(self.scheme.sites):
            position[:, site] = self.scheme.permutation(site)[samples]
        return self._look(self._starts, self._on(position[:, self.scheme.site]) + self._place)

    def _stored(self, features: Tensor, channels_last: bool) -> Tensor:
        """The feature axis (last) in storage order: C,H,W or H,W,C."""
        if not channels_last or len(self.scheme.shape) != 3:
            return features
        return _split(features, self.scheme.shape).movedim(-3, -1).flatten(-3)

    def _flat(self, x: Tensor, channels_last: bool = False) -> Tensor:
        if tuple(x.shape[1:]) != self.scheme.shape:
            raise InputError(f"levels of shape {tuple(x.shape)}; this scheme reads (N, {self.scheme.shape})")
        return self._stored(x.to(self.device, self._index).flatten(1), channels_last)

    def _wanted(self, samples: Sequence[int] | Tensor) -> Tensor:
        if isinstance(samples, Tensor):
            return samples.to(self.device, torch.int64)
        chosen = np.asarray(samples, dtype=np.int64)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.scheme.samples:
            raise SchemeError(f"samples {chosen.min()}..{chosen.max()}: this scheme has 0..{self.scheme.samples - 1}")
        return self._on(chosen)

    def _on(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.array(array)).to(self.device)


def _split(flat: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The last axis as axes of those sizes."""
    return flat.reshape(flat.shape[:-1] + sizes)


def _cells(outcomes: Sequence[Outcomes]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(key, lower, upper) of every bin of every row: bin [2e-1, ..] of row r has the key r*(q+2) + e, its first level,
    and the keys of all rows together are increasing, so one bisection finds row and bin at once."""
    q = outcomes[0].q
    keys, lower, upper = [], [], []
    row = 0
    for o in outcomes:
        owner = np.concatenate([np.repeat(np.arange(o.finite), np.diff(o.starts)), np.arange(o.finite + 1)])
        first = np.concatenate([o.gaps, np.zeros(o.finite + 1, dtype=np.int64)])
        order = np.lexsort((first, owner))
        owner, first = owner[order], first[order]
        end = np.full(len(first), 2 * q)
        same = owner[1:] == owner[:-1]
        end[:-1][same] = 2 * first[1:][same] - 1
        keys.append((owner + row) * (q + 2) + first)
        lower.append(np.maximum(2 * first - 1, 0))
        upper.append(end)
        row += o.finite + 1
    return np.concatenate(keys), np.concatenate(lower), np.concatenate(upper)
