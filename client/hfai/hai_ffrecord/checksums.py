"""CRC32 as zlib computes it: by ISA-L where the package `isal` is installed (several times faster), else by zlib."""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Callable

#: How much is summed at a time: it should still be in the processor's cache.
BLOCK = 1 << 20


def _fastest() -> Callable[..., int]:
    try:
        module: Any = importlib.import_module("isal.isal_zlib")
    except ImportError:
        return zlib.crc32
    fast: Callable[..., int] = module.crc32
    return fast


#: `crc32(data, value=0)`: the sum of anything with a buffer, going on from `value`.
crc32: Callable[..., int] = _fastest()


def crc32_of(data: memoryview) -> int:
    """The sum of all of it, block by block: of a mapped file not all has to be in memory at once."""
    value = 0
    for start in range(0, len(data), BLOCK):
        value = crc32(data[start : start + BLOCK], value)
    return value
