"""Reads the time of a report: days and months of UTC, as the service adds up."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hai_client.backports import UTC, dataclass
from hai_client.durations import parse_duration
from hai_client.errors import Invalid

_WRITE = "write a day (2026-11-01), a month (2026-11), today, yesterday, or how long ago (7d)"
_MONTH, _DAY = re.compile(r"\d{4}-\d\d"), re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Days:
    """A day or a month, with its end; or a moment, with the same end."""

    begin: datetime
    end: datetime


def read_days(text: str, field: str, now: datetime) -> Days:
    """Read a day or a month of UTC, or a length of time before now. Raises Invalid.

    Args:
        text: `2026-11-01`, `2026-11`, `today`, `yesterday`, `now`, `7d`.
        field: Name of the option, for the error.
        now: The present time.
    """
    word = text.strip().lower()
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"today": today, "yesterday": today - timedelta(days=1)}
    if word == "now":
        return Days(now, now)
    if word in named:
        return Days(named[word], named[word] + timedelta(days=1))
    if _MONTH.fullmatch(word) or _DAY.fullmatch(word):
        return _calendar(text, word, field)
    try:
        ago = now - timedelta(seconds=parse_duration(word, field=field))
    except Invalid:
        ago = None
    # A bare number would be seconds: it is a typing error here.
    if ago is None or word.isdigit():
        raise Invalid(f"{field}: {text!r} is not a day; {_WRITE}")
    return Days(ago, ago)


def _calendar(text: str, word: str, field: str) -> Days:
    month = len(word) == len("2026-11")
    try:
        begin = datetime.fromisoformat(f"{word}-01" if month else word).replace(tzinfo=UTC)
        if not 1971 <= begin.year <= 8998:
            raise ValueError
    except ValueError:
        what = "month" if month else "day"
        raise Invalid(f"{field}: {text!r} is not a {what} of the calendar; {_WRITE}") from None
    # No month has more than 31 days: the first day of the next one is within them.
    end = (begin + timedelta(days=31)).replace(day=1) if month else begin + timedelta(days=1)
    return Days(begin, end)


def read_range(since: str | None, until: str | None, now: datetime) -> tuple[datetime, datetime]:
    """Return begin and end of a report: from the first day to the end of the last one, not after now. Raises Invalid.

    Args:
        since: The first day; None: the first of the month of the last one.
        until: The last day, to its end; None: until now.
        now: The present time.
    """
    last = Days(now, now) if until is None else read_days(until, "to", now)
    end = min(last.end, now)
    if since is None:
        # The last moment of a month belongs to it; its end is the next one's begin.
        inside = last.begin if until is not None else now
        begin = inside.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    else:
        begin = read_days(since, "from", now).begin
    if begin > now:
        field, text = ("from", since) if since is not None else ("to", until)
        raise Invalid(f"{field}: {text!r} is in the future, where nothing has been used yet; give a day that is past")
    if begin >= last.end and until is not None:
        raise Invalid(f"from: {since!r} is after the end of {until!r}; swap --from and --to")
    return begin, end
