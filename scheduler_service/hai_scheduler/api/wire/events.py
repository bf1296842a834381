"""Models of events, the history of tasks and of the platform."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_scheduler.api.wire.base import (
    Output,
)


class EventOut(Output):
    """One event of the history."""

    seq: int
    at: datetime
    kind: str
    actor: str
    user: str | None
    task_id: int | None
    data: dict[str, Any]


class EventPage(Output):
    """Events in order."""

    items: list[EventOut]
