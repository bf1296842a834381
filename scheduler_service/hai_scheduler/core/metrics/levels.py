"""Which of several levels of a series shows which moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hai_scheduler.core.metrics.series import Point


def in_turn(steps: Iterable[int], step: int) -> list[int]:
    """Return the steps of levels in the order in which they are asked.

    The coarsest whose step is at most `step` goes first, then finer ones, then coarser ones.
    """
    known = sorted(steps)
    return [*reversed([level for level in known if level <= step]), *(level for level in known if level > step)]


def merged(levels: Mapping[int, Iterable[Point]], step: int) -> list[Point]:
    """Return the points of several levels as one series, each moment by one level.

    A level shows what lies outside of the time, from its first point to its last, of the levels before it (`in_turn`).

    Args:
        levels: The points by step, in order of time.
        step: The step that is wanted, seconds.
    """
    chosen: list[Point] = []
    begin, end = 0, 0
    for level in in_turn(levels, step):
        points = [point for point in levels[level] if point.at > end or point.at <= begin]
        if points:
            chosen += points
            begin, end = span_of(chosen, level)
    return sorted(chosen, key=lambda point: point.at)


def span_of(points: Iterable[Point], step: int) -> tuple[int, int]:
    """Return from when to when points show what was; the earliest one has this step."""
    ends = [point.at for point in points]
    return min(ends) - step, max(ends)
