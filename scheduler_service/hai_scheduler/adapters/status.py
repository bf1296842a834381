"""What supervisors write about checkpoints and times, on every cluster alike; a job may have had a hand in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_scheduler.core.model import Checkpoint


def checkpoint_of(data: Any) -> Checkpoint | None:
    """A checkpoint as `status.json` has it: anything else is none."""
    at = time_of(data.get("at")) if isinstance(data, dict) else None
    return None if at is None else Checkpoint(at=at, step=data.get("step"), path=data.get("path"))


def time_of(text: Any) -> datetime | None:
    """A time with its zone: anything else is none."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return at if at.tzinfo is not None else None


def signalled_of(status: dict[str, Any]) -> bool | None:
    """Whether the command was sent a signal before it ended: supervisors of older versions do not say."""
    told = status.get("signalled")
    return told if isinstance(told, bool) else None
