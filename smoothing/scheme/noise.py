"""The noise: levels and sample indices in, the ends of every feature's bin out, by table lookups alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecm.allocation import Outcomes
from smoothing.errors import InputError, SchemeError
from smoothing.scheme.representation import planes
from smoothing.scheme.scheme import Scheme, lookup_rows

# Above this many entries the level -> bin rows would leave every cache; bins are then found by bisection.
_LARGEST_TABLE = 2**23


class Noise:
    """The noise of a scheme on one device.

    A *cell* is one bin of one outcome. The tables hold, for every cell, its ends in half-steps (level v is 2v, so
    0..2q) and its planes in [0,1]; a lookup is `row(t, feature)`, then `cell(row, level)`, then the tables. Only
    integers are added and compared, so the same input gives the same bins on every machine. No tensor of size
    samples x features is kept (the permutation coupling keeps one if it fits `memory`).

    `memory` (bytes) bounds the temporary tensors and the result of one call with at most `chunk` (image, sample) pairs.

    >>> noise = Noise(Scheme.l1(1, shape=(2,), q=2, coupling="independent", order="published"))
    >>> lower, upper = noise.bounds(torch.tensor([[0, 2]]), range(2))
    >>> lower.tolist(), upper.tolist()
    ([[[0, 3], [0, 1]]], [[[1, 4], [3, 4]]])
    """

    def __init__(self, scheme: Scheme, device: torch.device | str = "cpu", memory: int = 2**28) -> None:
        self.scheme = scheme
        self.device = torch.device(device)
        self.memory = memory
        outcomes = [part.distinct for part in scheme.design.outcomes]  # a periodic list repeats its rows
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
        self._cells, self._planes = len(lower), len(shown)

        # The key of a level is its row's start plus the level: a cell itself, or what is bisected for.
        largest = max(shown.size, 2 * len(lower), rows * self._stride)
        self._key = torch.int32 if largest < 2**31 else torch.int64
        self._position = torch.int32 if 2 * len(outcomes) * scheme.total < 2**31 else torch.int64
        if scheme.coupling != "global":
            parts = zip(scheme.design.outcomes, scheme.lists, last - [o.finite for o in outcomes], strict=True)
            row = np.stack([part.distinct_of(ids) + first for part, ids, first in parts])
            # Every list twice in a row, so that t + offset < 2B needs no remainder.
            self._starts = self._on(np.concatenate([row, row], axis=1).ravel() * self._stride).to(self._key)
        self._first = self._on(scheme.component * 2 * scheme.total).to(self._position)
        self._offset = self._on(scheme.offsets[scheme.site]).to(self._position)
        self._combs = []
        if scheme.coupling == "global":
            width, phase, start, _ = scheme.combs
            first = scheme.design.outcomes[0].distinct_of(start)
            self._combs = [self._on(column).to(self._position)[:, None] for column in (width, phase, first)]
        self._storage = {channels_last: self._stored(channels_last) for channels_last in (False, True)}
        self._table: Tensor | None = None
        if scheme.coupling == "permutation" and scheme.features * scheme.samples * 4 <= memory // 2:
            self._table = self._permuted(np.arange(scheme.samples))

    @property
    def chunk(self) -> int:
        """How many (image, sample) pairs one call may have to stay within `memory`: at least 1."""
        key, position = (torch.empty(0, dtype=d).element_size() for d in (self._key, self._position))
        number = 2 * key + position + 4 + (8 if self._keys is not None else 0)
        return max(1, self.memory // (self.scheme.features * self._planes * number))

    def bounds(self, x: Tensor, samples: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        """Return (lower, upper) in half-steps, int32 [N, S, *shape], of every level in `x` [N, *shape] at every
        sample."""
        cells = self._cells_of(self._flat(x)[:, None] + self._rows(self.indices(samples)))
        lower, upper = (_look(self._ends, cells + end * self._cells) for end in (0, 1))
        return _split(lower, self.scheme.shape), _split(upper, self.scheme.shape)

    def inputs(self, x: Tensor, samples: Sequence[int] | Tensor, channels_last: bool = False) -> Tensor:
        """Return what the network reads, float32 [N, S, planes * shape[0], *shape[1:]] in [0,1], at every sample.

        With `channels_last` the same numbers, stored with the channels innermost (for shapes of three axes).
        """
        return self._shown_at(self._flat(x)[:, None], self.indices(samples), channels_last)

    def paired(self, x: Tensor, samples: Sequence[int] | Tensor, channels_last: bool = False) -> Tensor:
        """Show image n at its own sample `samples[n]`, for training: float32 [N, planes * shape[0], ...]."""
        flat, wanted = self._flat(x), self.indices(samples)
        if len(flat) != len(wanted):
            raise InputError(f"{len(wanted)} samples for {len(flat)} images: paired takes one sample per image")
        return self._shown_at(flat, wanted, channels_last)

    def indices(self, samples: Sequence[int] | Tensor) -> Tensor:
        """Return sample numbers on the device: those of a sequence are checked, a tensor is taken at its word."""
        if isinstance(samples, Tensor):
            return samples.to(self.device)
        chosen = np.asarray(samples, dtype=np.int64)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.scheme.samples:
            raise SchemeError(f"samples {chosen.min()}..{chosen.max()}: this scheme has 0..{self.scheme.samples - 1}")
        return self._on(chosen)

    def _shown_at(self, flat: Tensor, samples: Tensor, channels_last: bool) -> Tensor:
        """Return planes [..., planes * C, ...] of levels [N, (1,) features] at samples [S]."""
        feature, plane = self._storage[channels_last]
        rows = self._rows(samples, feature)
        if self._keys is None:
            # A key is a cell: the plane is added to the levels, which are few, and every other sum is contiguous.
            shown = _look(self._shown, (flat[..., feature] + plane) + rows)
        else:
            shown = _look(self._shown, self._cells_of(flat[..., feature] + rows) + plane)
        c, *rest = self.scheme.shape
        if channels_last and len(rest) == 2:
            return _split(shown, (*rest, c * self._planes)).movedim(-1, -3)
        return _split(shown, (c * self._planes, *rest))

    def _stored(self, channels_last: bool) -> tuple[Tensor, Tensor]:
        """Return feature and first cell of the plane of every number a network reads, in the order of storage."""
        feature = np.tile(np.arange(self.scheme.features), (self._planes, 1))
        plane = np.repeat(np.arange(self._planes) * self._cells, self.scheme.features)
        if channels_last and len(self.scheme.shape) == 3:
            c, h, w = self.scheme.shape
            order = np.arange(feature.size).reshape(self._planes * c, h, w).transpose(1, 2, 0).ravel()
            feature, plane = feature.ravel()[order], plane[order]
        return self._on(feature.ravel()), self._on(plane).to(self._key)

    def _cells_of(self, keys: Tensor) -> Tensor:
        if self._keys is None:
            return keys
        return torch.searchsorted(self._keys, keys, right=True) - 1

    def _rows(self, samples: Tensor, feature: Tensor | None = None) -> Tensor:
        """Start of the row of every feature at every sample, [S, features]."""
        if self.scheme.cyclic:
            place = self._first + self._offset
            return _look(
                self._starts, samples.to(self._position)[:, None] + (place if feature is None else place[feature])
            )
        if self.scheme.coupling == "global":
            width, phase, first = (column[samples] for column in self._combs)
            rows = (first + (phase + self._offset) % width).to(self._key) * self._stride
        elif self._table is not None:
            rows = self._table[samples]
        else:
            rows = self._permuted(samples.cpu().numpy())
        return rows if feature is None else rows.index_select(1, feature)

    def _permuted(self, samples: NDArray[np.int64]) -> Tensor:
        position = np.empty((len(samples), self.scheme.sites), dtype=np.int64)
        for site in range(self.scheme.sites):
            position[:, site] = self.scheme.permutation(site)[samples]
        return _look(self._starts, self._on(position[:, self.scheme.site]) + self._first)

    def _flat(self, x: Tensor) -> Tensor:
        if tuple(x.shape[1:]) != self.scheme.shape:
            raise InputError(f"levels of shape {tuple(x.shape)}; this scheme reads (N, {self.scheme.shape})")
        return x.to(self.device, self._key).flatten(1)

    def _on(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.array(array)).to(self.device)


def _look(table: Tensor, index: Tensor) -> Tensor:
    return table.index_select(0, index.reshape(-1)).view(index.shape)


def _split(flat: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the last axis as axes of those sizes."""
    return flat.reshape(flat.shape[:-1] + sizes)


def _cells(outcomes: Sequence[Outcomes]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (key, lower, upper) of every bin of every row: bin [2e-1, ..] of row r has the key r*(q+2) + e, its first
    level, and the keys of all rows together are increasing, so one bisection finds row and bin at once."""
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
