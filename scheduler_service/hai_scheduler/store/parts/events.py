"""Events: the feed, the audit trail and the outbox in one append-only table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, func, insert, or_, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.store.rows import EVENT, event_values
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.summary import Summary
from hai_scheduler.store.tables import EVENTS

_ADD = insert(EVENTS)


class SqlEvents:
    """See `ports.stored.events.StoredEvents`."""

    def __init__(self, statements: Statements, summary: Summary) -> None:
        self._sql = statements
        self._summary = summary

    async def add(self, event: HistoryEvent) -> HistoryEvent:
        """See `StoredEvents.add`. Seqs follow commits because writers are serialised."""
        (seq,) = (await self._sql.change(_ADD, event_values(event))).inserted_primary_key or (0,)
        return replace(event, seq=seq)

    async def add_all(self, events: Iterable[HistoryEvent]) -> None:
        """See `StoredEvents.add_all`."""
        self._sql.change_later(_ADD, [event_values(event) for event in events])

    async def page(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """See `StoredEvents.page`."""
        found = select(EVENTS).where(EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(limit)
        if user is not None:
            found = found.where(or_(EVENTS.c.user_name == user, EVENTS.c.user_name.is_(None)))
        if task_id is not None:
            found = found.where(EVENTS.c.task_id == task_id)
        return [EVENT.of(row) for row in await self._sql.ask(found)]

    async def last_seq(self) -> int:
        """See `StoredEvents.last_seq`."""
        return int((await self._summary.row()).last_event)

    async def delete_of_task(self, task_id: TaskId) -> None:
        """See `StoredEvents.delete_of_task`."""
        await self._sql.change(delete(EVENTS).where(EVENTS.c.task_id == task_id))

    async def trim(self, keep: int) -> int:
        """See `StoredEvents.trim`."""
        task, seq = EVENTS.c.task_id, EVENTS.c.seq
        many = select(task, func.min(seq)).where(task.is_not(None)).group_by(task).having(func.count() > keep)
        trimmed = 0
        rows: Iterable[Any] = await self._sql.ask(many)
        for number, first in list(rows):
            latest = select(seq).where(task == number).order_by(seq.desc()).offset(keep - 1).limit(1)
            cut = (await self._sql.ask(latest)).scalar_one()
            trimmed += (await self._sql.change(delete(EVENTS).where(task == number, seq <= cut, seq != first))).rowcount
        return trimmed
