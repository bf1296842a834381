"""The checksum of samples that lie one after another, from their own checksums.

64 calls of `crc32` cost ten times as much as the sums of 64 KB themselves. Samples of one size are therefore summed
with one call, and the sum is held against what their checksums make together. CRC32 is linear: the sum of A and B, one
after the other, is L(sum of A) ^ (sum of B), where L says what as many zero bytes as B has make of a sum. L has an
inverse, so a single wrong sample is found as surely as by its own checksum; then all are summed one by one, to name it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hai_ffrecord.checksums import crc32

Array = Any
#: The fewest and the most samples that are summed together.
LEAST, MOST = 16, 128
#: The largest of them, bytes: of larger ones the calls no longer matter.
LARGEST = 16 << 10
#: For how many sizes tables are kept, of 512 KiB and 2 ms each. Samples of further sizes are summed one by one.
SIZES = 4

_tables: dict[int, Array] = {}
#: Where the table of each byte of each sum begins.
_BEGINS = np.arange(0, MOST * 4 * 256, 256)


def combined(sums: Array, size: int) -> int | None:
    """Return the checksum of samples one after another.

    Args:
        sums: their checksums, in order (uint32).
        size: the bytes of each of them.

    Returns:
        None where it is not worth while: for few or large samples, and too many different sizes.
    """
    count = len(sums)
    if not LEAST <= count <= MOST or not 0 < size <= LARGEST:
        return None
    table: Array = _tables.get(size)
    if table is None:
        if len(_tables) >= SIZES:
            return None
        table = _tables.setdefault(size, _made(size))
    # The last sum is followed by nothing, the one before by one sample, and so on.
    at = _BEGINS[-4 * count :] + sums.view(np.uint8)
    return int(np.bitwise_xor.reduce(table.take(at)))


def _made(size: int) -> Array:
    """Return the table of [sum, byte of the sum, value of the byte], for `MOST` sums of samples of this size."""
    zeros = bytes(size)
    one = np.zeros((4, 256), np.uint32)
    table = np.zeros((MOST, 4, 256), np.uint32)
    table[-1] = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    for bit in range(32):
        byte, first = bit // 8, 1 << bit % 8
        # CRC32 begins and ends with an inversion of all bits.
        image = crc32(zeros, (1 << bit) ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
        one[byte, first : 2 * first] = one[byte, :first] ^ np.uint32(image)
    for at in range(MOST - 2, -1, -1):
        after = table[at + 1]
        table[at] = one[0][after & 255] ^ one[1][after >> 8 & 255] ^ one[2][after >> 16 & 255] ^ one[3][after >> 24]
    return table.reshape(-1)
