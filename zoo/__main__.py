"""`python -m zoo ...` is the command `ecm`, for torchrun: `torchrun --nproc-per-node 8 -m zoo train "z**0.5/18"`."""

from __future__ import annotations

from zoo.cli import main

if __name__ == "__main__":
    main()
