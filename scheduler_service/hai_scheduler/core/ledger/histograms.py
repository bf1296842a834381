"""Histograms in buckets that grow: the median and the 90 % quantile of any sum can be told from them.

Bucket 0 is all below 1. From there each bucket is an eighteenth of a doubling, 3.9 % wide, and the value that is told
lies in its middle: so a quantile is at most 2 % beside a value that was counted. Counts are integers, so histograms of
parts add up to that of the whole exactly. Means need no buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from math import ceil, log2
from typing import Final

#: Buckets for each doubling.
_FINE: Final = 18
#: The last bucket: 2^30, in seconds 34 years.
LAST_BUCKET: Final = 30 * _FINE


def bucket_of(value: float) -> int:
    """Return the number of the bucket that a value belongs to."""
    return 0 if value < 1 else min(LAST_BUCKET, 1 + int(_FINE * log2(value)))


def bucket_of_wait(wait: timedelta) -> int:
    """Return the number of the bucket that a length of time belongs to, in seconds."""
    return bucket_of(wait.total_seconds())


def bounds_of(bucket: int) -> tuple[float, float]:
    """Return the smallest value of a bucket, and that of the next one."""
    return (0.0, 1.0) if bucket <= 0 else (2 ** ((bucket - 1) / _FINE), 2 ** (bucket / _FINE))


def quantile(counts: Mapping[int, int], part: float) -> float | None:
    """Return the smallest value that is not exceeded by a part of all values, to within 2 %; None if there is none.

    Of values below 1 it is 0.5: they are not told apart.

    Args:
        counts: How many values each bucket has.
        part: 0 to 1: 0.5 is the median.
    """
    count = sum(counts.values())
    if count <= 0:
        return None
    # A part that is a float: 0.9 of 10 values are 9 of them.
    left = max(1, ceil(part * count - 1e-9))
    found = max(counts)
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            found = bucket
            break
    low, high = bounds_of(found)
    # From here both bounds are equally far, in parts of themselves.
    return 2 * low * high / (low + high) if low else high / 2
