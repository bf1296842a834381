"""Histograms of the ledger as bytes: six for each bucket that has a count, its number and the count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Final

_PAIR: Final = Struct("<HI")
#: The largest count that is kept: more in one bucket of one key count as that number.
_MOST: Final = 2**32 - 1


def packed(counts: Mapping[int, int]) -> bytes | None:
    """Return a histogram as bytes; None if it has no counts.

    A count below 0 is left out: it comes from sums that were spoilt, and must not stop who writes a run.
    """
    pairs = [_PAIR.pack(bucket, min(count, _MOST)) for bucket, count in sorted(counts.items()) if count > 0]
    return b"".join(pairs) or None


def together(some: Iterable[bytes | None]) -> dict[int, int]:
    """Return the histogram of all of these."""
    counts: dict[int, int] = {}
    get = counts.get
    # All of them are one long row of pairs: that is several times faster than one after the other.
    for bucket, count in _PAIR.iter_unpack(b"".join([each for each in some if each])):
        counts[bucket] = get(bucket, 0) + count
    return counts
