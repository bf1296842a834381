"""A row of quota in the service: whether it has expired, and its key and facts for events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_scheduler.core.model.quota import Quota


def expired(row: Quota, now: datetime) -> bool:
    """True if the row has expired and no longer counts (Q3)."""
    return row.expires_at is not None and row.expires_at <= now


def key(row: Quota) -> dict[str, Any]:
    """The key of the row, for its events."""
    return {"subject": row.subject, "group": row.group, "priority": row.priority.name}


def facts(row: Quota) -> dict[str, Any]:
    """All fields of the row, for its events."""
    until = None if row.expires_at is None else row.expires_at.isoformat()
    return {**key(row), "limit": row.limit, "ceiling": row.ceiling, "expires_at": until}
