"""Histograms of waiting times, in buckets that grow: the median and the 90 % quantile of any sum can be told.

Bucket 0 is less than a second. From there each bucket is a fourth of a doubling, 19 % wide: so a quantile is right to
within 19 %, and mostly much better, because it is interpolated within its bucket. The mean needs no buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from math import log2
from typing import Final

#: Buckets for each doubling.
_FINE: Final = 4
#: The last bucket: 34 years.
LAST_BUCKET: Final = 30 * _FINE


def bucket_of(wait: timedelta) -> int:
    """Return the number of the bucket that a wait belongs to."""
    seconds = wait.total_seconds()
    return 0 if seconds < 1 else min(LAST_BUCKET, 1 + int(_FINE * log2(seconds)))


def bounds_of(bucket: int) -> tuple[float, float]:
    """Return the shortest wait of a bucket, and that of the next one, in seconds."""
    return (0.0, 1.0) if bucket <= 0 else (2 ** ((bucket - 1) / _FINE), 2 ** (bucket / _FINE))


def quantile(waits: Mapping[int, int], part: float) -> timedelta | None:
    """Return the wait that a part of all waits do not exceed, about; None if there is no wait.

    Args:
        waits: How many waits each bucket has.
        part: 0 to 1: 0.5 is the median.
    """
    count = sum(waits.values())
    if count <= 0:
        return None
    left = part * count
    for bucket in sorted(waits):
        if left <= waits[bucket]:
            low, high = bounds_of(bucket)
            return timedelta(seconds=low + (high - low) * max(0.0, left) / waits[bucket])
        left -= waits[bucket]
    return timedelta(seconds=bounds_of(max(waits))[1])
