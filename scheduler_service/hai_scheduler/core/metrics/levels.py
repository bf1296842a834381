"""Which of several levels of a series shows which moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hai_scheduler.core.metrics.series import Point


def merged(levels: Mapping[int, Iterable[Point]], step: int) -> list[Point]:
    """Return the points of several levels as one series, each moment by one level.

    The coarsest level whose step is at most `step` goes first, then finer ones, then coarser ones. A level shows what
    lies outside of the time, from its first point to its last, of the levels before it.

    Args:
        levels: The points by step, in order of time.
        step: The step that is wanted, seconds.
    """
    fine = sorted((level for level in levels if level <= step), reverse=True)
    coarse = sorted(level for level in levels if level > step)
    chosen: list[Point] = []
    begin, end = 0, 0
    for level in [*fine, *coarse]:
        points = [point for point in levels[level] if point.at > end or point.at <= begin]
        if points:
            chosen += points
            ends = [point.at for point in chosen]
            begin, end = min(ends) - level, max(ends)
    return sorted(chosen, key=lambda point: point.at)
