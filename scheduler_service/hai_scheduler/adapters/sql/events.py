"""Events: the feed, the audit trail and the outbox in one append-only table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import insert, or_, select

from hai_scheduler.adapters.sql.looking import LookingPart
from hai_scheduler.adapters.sql.rows import event_of, event_values
from hai_scheduler.adapters.sql.tables import EVENTS
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import HistoryEvent

_ADD = insert(EVENTS)


class EventPart(LookingPart):
    """The part of a transaction that deals with events."""

    async def add_event(self, event: HistoryEvent) -> HistoryEvent:
        """See `Tx.add_event`. Seqs follow commits because writers are serialised."""
        (seq,) = (await self._change(_ADD, event_values(event))).inserted_primary_key or (0,)
        return replace(event, seq=seq)

    async def add_events(self, events: Iterable[HistoryEvent]) -> None:
        """See `Tx.add_events`."""
        self._change_later(_ADD, [event_values(event) for event in events])

    async def events(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """See `Tx.events`."""
        found = select(EVENTS).where(EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(limit)
        if user is not None:
            found = found.where(or_(EVENTS.c.user_name == user, EVENTS.c.user_name.is_(None)))
        if task_id is not None:
            found = found.where(EVENTS.c.task_id == task_id)
        return [event_of(row) for row in await self._ask(found)]

    async def last_event_seq(self) -> int:
        """See `Tx.last_event_seq`."""
        return int((await self._look()).last_event)
