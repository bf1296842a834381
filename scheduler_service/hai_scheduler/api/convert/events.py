"""Lines of history as models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.events import EventOut
from hai_scheduler.ports.values import Event


def event_out(event: Event) -> EventOut:
    """One line of history."""
    return EventOut(
        seq=event.seq,
        at=event.at,
        kind=event.kind,
        actor=event.actor,
        user=event.user,
        task_id=event.task_id,
        data=dict(event.data),
    )
