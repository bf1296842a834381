"""The periods that sums are kept for: hours, days and months in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple

_HOUR: Final = timedelta(hours=1)


class Period(IntEnum):
    """How long a period is."""

    HOUR = 0
    DAY = 1
    MONTH = 2

    def __bool__(self) -> bool:
        """An hour is a period as well, so that `period or other` is the other one where there is none."""
        return True


class Span(NamedTuple):
    """Whole periods of one length, one after the other."""

    period: Period
    since: datetime
    #: The end of the last one.
    until: datetime


def begin_of(period: Period, at: datetime) -> datetime:
    """Return the begin of the period that a time is in."""
    at = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if period is Period.HOUR:
        return at
    return at.replace(hour=0) if period is Period.DAY else at.replace(hour=0, day=1)


def end_of(period: Period, at: datetime) -> datetime:
    """Return the end of the period that a time is in."""
    begin = begin_of(period, at)
    if period is Period.HOUR:
        return begin + _HOUR
    # No day has more than 24 hours in UTC, and no month more than 31 days.
    return begin_of(period, begin + (timedelta(days=1) if period is Period.DAY else timedelta(days=31)))


def is_full_hour(at: datetime) -> bool:
    """Whether the time is the begin of an hour."""
    return begin_of(Period.HOUR, at) == at


def cover(since: datetime, until: datetime, *, longest: Period = Period.MONTH) -> Iterator[Span]:
    """Yield spans that together are the time from `since` to `until`, with the longest periods that fit.

    Args:
        since: A full hour.
        until: A full hour. With one that is not after `since`, nothing is yielded.
        longest: The longest period that may be used.

    Raises:
        ValueError: A time is not a full hour.
    """
    if not (is_full_hour(since) and is_full_hour(until)):
        raise ValueError(f"{since} to {until}: sums are kept by hour, give full hours")
    if since >= until:
        return
    if longest is Period.HOUR:
        yield Span(longest, since, until)
        return
    first = since if begin_of(longest, since) == since else end_of(longest, since)
    last = begin_of(longest, until)
    finer = Period(longest - 1)
    if first >= last:
        yield from cover(since, until, longest=finer)
        return
    yield from cover(since, first, longest=finer)
    yield Span(longest, first, last)
    yield from cover(last, until, longest=finer)
