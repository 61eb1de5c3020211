"""Finished rows in one compressed file, for records that are shared: votes are mostly alike, so they shrink by half."""

from __future__ import annotations

import lzma
from pathlib import Path

from smoothing.errors import RecordError

PACKED = "packed.rows.xz"
LARGEST_UNPACKED = 1 << 30  # bytes of rows
LARGEST_MEMORY = 1 << 27  # bytes that the decoder itself may take
_STEP = 1 << 20


def pack(rows: bytes) -> bytes:
    """Return the rows, compressed with a checksum of their own.

    >>> len(pack(bytes(10_000))) < 200
    True
    """
    return lzma.compress(rows, check=lzma.CHECK_SHA256, preset=9)


def unpack(path: Path) -> bytes:
    """Read what `pack` wrote. A file that is damaged, cut off, or far larger inside than outside raises RecordError."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LARGEST_MEMORY)
    parts: list[bytes] = []
    size = 0
    try:
        with path.open("rb") as file:
            while not decoder.eof:
                part = decoder.decompress(file.read(_STEP) if decoder.needs_input else b"", _STEP)
                if not part and decoder.needs_input and file.tell() == path.stat().st_size:
                    break
                size += len(part)
                if size > LARGEST_UNPACKED:
                    raise RecordError(
                        f"{path} unpacks to more than {LARGEST_UNPACKED} bytes: it is not a record of votes that was "
                        "packed here; restore it from a copy"
                    )
                parts.append(part)
    except (lzma.LZMAError, OSError, EOFError) as error:
        raise RecordError(f"{path} cannot be unpacked ({error}): restore it from a copy") from error
    if not decoder.eof or decoder.unused_data:
        raise RecordError(f"{path} is cut off or continues after its end: restore it from a copy")
    return b"".join(parts)
