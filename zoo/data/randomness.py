"""Random numbers that belong to a place in the run, not to the history of the process.

Every draw of a training run (data order, crops, sample indices) comes from a generator keyed by what it is for and
where it happens, such as ("noise", seed, step). A run that is killed and resumed therefore draws the same numbers.
"""

from __future__ import annotations

import hashlib

import torch


def key_seed(*key: int | str) -> int:
    """Return a 63-bit seed for the key, the same on every machine.

    >>> key_seed("order", 0, 1) == key_seed("order", 0, 1) != key_seed("order", 0, 2)
    True
    """
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest()) >> 1


def generator(*key: int | str) -> torch.Generator:
    """Return a CPU generator for the key: draws are made on the CPU and moved, so that they do not depend on the
    device.

    >>> int(torch.randint(100, (), generator=generator("doc", 1)))
    49
    """
    return torch.Generator().manual_seed(key_seed(*key))
