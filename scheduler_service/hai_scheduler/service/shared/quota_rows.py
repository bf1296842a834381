"""A row of quota as the service sees it: whether it holds, its key and its facts for events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_scheduler.core.model.quota import Quota


def expired(row: Quota, now: datetime) -> bool:
    """Whether the row is as if it were not there (Q3)."""
    return row.expires_at is not None and row.expires_at <= now


def key(row: Quota) -> dict[str, Any]:
    """What names the row, for its events."""
    return {"subject": row.subject, "group": row.group, "priority": row.priority.name}


def facts(row: Quota) -> dict[str, Any]:
    """All of the row, for its events."""
    until = None if row.expires_at is None else row.expires_at.isoformat()
    return {**key(row), "limit": row.limit, "ceiling": row.ceiling, "expires_at": until}
