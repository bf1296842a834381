"""FFRecord files laid out by hand, from the description of the format alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path


def laid_out(samples: Sequence[bytes], *, old: bool = False) -> bytes:
    """The bytes of a file of these samples; an `old` one has no checksum of its index."""
    n = len(samples)
    at = 12 + 12 * n
    starts = []
    for sample in samples:
        starts.append(at)
        at += len(sample)
    sums = [zlib.crc32(sample) for sample in samples]
    index = struct.pack("<q", n) + struct.pack(f"<{n}I", *sums) + struct.pack(f"<{n}q", *starts)
    return struct.pack("<I", 0 if old else zlib.crc32(index)) + index + b"".join(samples)


def lay_out(path: Path, samples: Sequence[bytes], *, old: bool = False) -> Path:
    """Write a file of these samples; returns `path`."""
    path.write_bytes(laid_out(samples, old=old))
    return path


def with_offset(data: bytes, index: int, offset: int) -> bytes:
    """The bytes of a file with another offset of one sample, and with the right checksum for that index."""
    (n,) = struct.unpack_from("<q", data, 4)
    changed = bytearray(data)
    struct.pack_into("<q", changed, 12 + 4 * n + 8 * index, offset)
    struct.pack_into("<I", changed, 0, zlib.crc32(bytes(changed[4 : 12 + 12 * n])))
    return bytes(changed)
