"""Reads chunks of series in the form that databases before the first state have, to write them in the form of now.

Metrics of a kind are written together: the differences of their means a byte each, the two distances of each value as
one byte, and what needs more in a part of its own. A metric that stays the same is in the head.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from itertools import accumulate
from typing import Final

from hai_scheduler.core.metrics.codes import Codes
from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.own_numbers import own_columns
from hai_scheduler.core.metrics.packing import pack_columns

#: What such a chunk begins with.
FORMER: Final = b"\x03"
#: The byte of a number that is among the wide ones.
_WIDE: Final = 255
#: The differences 0, -1, 1, -2, 2, ... and the pairs of distances, by their bytes.
_DIFFERENCES: Final = [-(n + 1) // 2 if n % 2 else n // 2 for n in range(_WIDE)]
_PAIRS: Final = [(low, total - low) for total in range(22) for low in range(total + 1)]


def rewritten(chunk: bytes) -> bytes:
    """Return a chunk of the former form in the form of now."""
    inflate = zlib.decompressobj()
    said = json.loads(inflate.decompress(chunk[1:]))
    body = inflate.unused_data
    ends = [at for first, step, count in said["spans"] for at in range(first, first + step * count, step)]
    codes = {name: Codes.same(mean, low, high, len(ends)) for name, (mean, low, high) in said["same"].items()}
    begin = 0
    for names, firsts, sizes in said["kinds"]:
        means, pairs, wide = (_part(body, begin + sum(sizes[:place]), size) for place, size in enumerate(sizes))
        begin += sum(sizes)
        numbers = array("h", wide)
        if sys.byteorder == "big":
            numbers.byteswap()
        rest = iter(numbers)
        for index, (name, first) in enumerate(zip(names, firsts, strict=True)):
            own = slice(index * len(ends), (index + 1) * len(ends))
            differences = [next(rest) if byte == _WIDE else _DIFFERENCES[byte] for byte in means[own]]
            distances = [(next(rest), next(rest)) if byte == _WIDE else _PAIRS[byte] for byte in pairs[own]]
            codes[name] = Codes(
                list(accumulate(differences, initial=first))[1:],
                [low for low, _ in distances],
                [high for _, high in distances],
            )
    return pack_columns(PackedColumns(ends, codes, own_columns(said.get("own", {}), len(ends))))


def _part(body: bytes, begin: int, size: int) -> bytes:
    return zlib.decompress(body[begin : begin + size], -zlib.MAX_WBITS) if size else b""
