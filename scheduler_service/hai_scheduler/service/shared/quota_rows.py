"""A row of quota in the service: whether it has expired, and its key and facts for events."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from hai_scheduler.core.model.quota import Quota


def expired(row: Quota, now: datetime) -> bool:
    """True if the row has expired and no longer counts (Q3)."""
    return row.expires_at is not None and row.expires_at <= now


def key(row: Quota) -> dict[str, Any]:
    """The key of the row, for its events."""
    return {"subject": row.subject, "group": row.group, "priority": row.priority.name}


def find_row(rows: Iterable[Quota], wanted: Quota) -> Quota | None:
    """The row with the key of the wanted one; None if there is none."""
    own = (wanted.subject, wanted.group, wanted.priority)
    return next((row for row in rows if (row.subject, row.group, row.priority) == own), None)


def named(row: Quota) -> str:
    """The row in a sentence."""
    return f"The quota row of {row.subject} at {row.priority.name} in group {row.group!r}"


def facts(row: Quota) -> dict[str, Any]:
    """All fields of the row, for its events."""
    until = None if row.expires_at is None else row.expires_at.isoformat()
    return {**key(row), "limit": row.limit, "ceiling": row.ceiling, "expires_at": until}
