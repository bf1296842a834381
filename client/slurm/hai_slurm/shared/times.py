"""Slurm's notations of points in time, as `sacct --starttime` takes them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hai_slurm.shared.getting import BadOption

_NOW = re.compile(r"now(?:([+-])(\d{1,9})(second|minute|hour|day|week)?s?)?")
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?\s*(?P<half>[AaPp][Mm])?"
_FORMS = [
    re.compile(form, re.ASCII)
    for form in (
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]{_CLOCK})?)?",
        rf"(?P<month>\d{{1,2}})[/.](?P<day>\d{{1,2}})(?:[/.](?P<year>\d\d(?:\d\d)?))?(?:-{_CLOCK})?",
        rf"(?P<month>\d\d)(?P<day>\d\d)(?P<year>\d\d)?(?:-{_CLOCK})?",
        _CLOCK,
    )
]
_HOURS = {"midnight": 0, "noon": 12, "fika": 15, "teatime": 16, "elevenses": 11}


def point_of(text: str, option: str, *, now: datetime | None = None) -> datetime:
    """Return the time that a text names, in this machine's time zone. Raises BadOption."""
    here = now or datetime.now().astimezone()
    word = text.strip().lower()
    day = here.replace(hour=0, minute=0, second=0, microsecond=0)
    found = _NOW.fullmatch(word)
    if found is not None:
        seconds = int(found[2] or 0) * _UNITS[found[3] or "second"]
        try:
            return here - timedelta(seconds=seconds) if found[1] == "-" else here + timedelta(seconds=seconds)
        except OverflowError:
            pass
    elif word in ("today", *_HOURS):
        return day + timedelta(hours=_HOURS.get(word, 0))
    elif word in ("yesterday", "tomorrow"):
        return day + timedelta(days=1 if word == "tomorrow" else -1)
    for form in _FORMS:
        match = form.fullmatch(text.strip())
        if match is not None:
            try:
                return _read(match.groupdict(), day)
            except (ValueError, OverflowError):
                break
    raise BadOption(f"--{option}={text}: no time; write for example 2026-01-31T08:00, 01/31, now-2days or today")


def _read(parts: dict[str, str | None], day: datetime) -> datetime:
    hour = int(parts["hour"] or 0)
    half = (parts["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half == "pm" else 0)
    year = int(parts.get("year") or day.year)
    # The zone is that of the named day, which may have summer time.
    return datetime(
        year + 2000 if year < 100 else year, int(parts.get("month") or day.month), int(parts.get("day") or 1)
        if parts.get("month") else day.day, hour, int(parts["minute"] or 0), int(parts["second"] or 0),
    ).astimezone()  # fmt: skip
