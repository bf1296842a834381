"""Converts events into models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.events import EventOut
from hai_scheduler.ports.values import HistoryEvent


def event_out(event: HistoryEvent) -> EventOut:
    """Return the model of an event."""
    return EventOut.model_validate(event)
