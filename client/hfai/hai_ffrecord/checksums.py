"""CRC32 as zlib computes it: by ISA-L where the package `isal` is installed (several times faster), else by zlib."""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Callable, Optional

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


def crc32_of(data: memoryview, value: int = 0, upto: Optional[int] = None) -> int:
    """The sum of the first `upto` bytes (all, when it is not given), block by block, so that a map is read only once."""
    for start in range(0, len(data) if upto is None else upto, BLOCK):
        value = crc32(data[start : min(start + BLOCK, len(data) if upto is None else upto)], value)
    return value
