"""At which steps series are kept, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from hai_scheduler.core.metrics.series import WINDOW_S, Point

HOUR: Final = 3600
DAY: Final = 24 * HOUR


class SeriesLevel(NamedTuple):
    """How points of one step are kept; all numbers are seconds."""

    #: The length of their spans.
    step: int
    #: The span of time whose points are packed together, and folded for the next level, when it is over.
    chunk: int
    #: How long they are kept after their time.
    keep: int


LEVELS: Final = (
    SeriesLevel(WINDOW_S, HOUR, DAY),
    SeriesLevel(60, DAY, 30 * DAY),
    SeriesLevel(600, 30 * DAY, 366 * DAY),
)


def chunk_of(at: int, level: SeriesLevel) -> int:
    """Return the end of the chunk that a point with this end belongs to."""
    return -(-at // level.chunk) * level.chunk


def joined(points: Iterable[Point]) -> list[Point]:
    """Return points in order of time; of two with the same end the later one of the argument."""
    return [point for _, point in sorted({point.at: point for point in points}.items())]
