"""Times as text."""

from __future__ import annotations

import time


def seconds_of(text: object) -> float | None:
    """Return the seconds since the epoch of an RFC 3339 time; None if the text is not a time."""
    # Imported here to keep the start of a rank fast.
    from datetime import datetime, timezone

    try:
        at = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)).timestamp()


def rfc3339(at_ns: int | None = None) -> str:
    """Return a time as text in UTC with microseconds, for example `2026-11-21T04:00:00.123456Z`.

    Args:
        at_ns: Nanoseconds since the epoch; None is now.
    """
    seconds, rest = divmod(time.time_ns() if at_ns is None else at_ns, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"
