"""Events: the feed, the audit trail and the outbox in one append-only table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, func, insert, or_, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.store.rows import EVENT, event_values
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import EVENTS

_ADD = insert(EVENTS)


class StoredEvents(StoredPart):
    """The events, which are only appended: none is changed, and only those of long ago are deleted.

    Their `seq` grows in the order of commits, so a reader who goes on after the last one that it knows misses none.
    """

    async def add(self, event: HistoryEvent) -> HistoryEvent:
        """Append an event; returns it with its `seq`. Seqs follow commits because writers are serialised."""
        (seq,) = (await self._sql.change(_ADD, event_values(event))).inserted_primary_key or (0,)
        return replace(event, seq=seq)

    async def add_all(self, events: Iterable[HistoryEvent]) -> None:
        """Append all these events, faster than with one `add` after the other."""
        self._sql.change_later(_ADD, [event_values(event) for event in events])

    async def page(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """At most `limit` events with a seq greater than `after`, in the order of seq.

        Args:
            after: The seq of the last event that is already known.
            limit: How many events at most.
            user: Only events of this user's tasks and of the cluster; None: all.
            task_id: Only events of this task; None: all.
        """
        found = select(EVENTS).where(EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(limit)
        if user is not None:
            found = found.where(or_(EVENTS.c.user_name == user, EVENTS.c.user_name.is_(None)))
        if task_id is not None:
            found = found.where(EVENTS.c.task_id == task_id)
        return [EVENT.of(row) for row in await self._sql.ask(found)]

    async def last_seq(self) -> int:
        """The greatest seq of an event; 0 if there is no event."""
        return int((await self._sql.summary()).last_event)

    async def delete_of_task(self, task_id: TaskId) -> None:
        """Delete the events of a task."""
        await self._sql.change(delete(EVENTS).where(EVENTS.c.task_id == task_id))

    async def trim(self, keep: int) -> int:
        """Delete events of each task that has more than `keep`: its first event and its latest ones stay.

        Returns:
            How many events were deleted.
        """
        task, seq = EVENTS.c.task_id, EVENTS.c.seq
        many = select(task, func.min(seq)).where(task.is_not(None)).group_by(task).having(func.count() > keep)
        trimmed = 0
        rows: Iterable[Any] = await self._sql.ask(many)
        for number, first in list(rows):
            latest = select(seq).where(task == number).order_by(seq.desc()).offset(keep - 1).limit(1)
            cut = (await self._sql.ask(latest)).scalar_one()
            trimmed += (await self._sql.change(delete(EVENTS).where(task == number, seq <= cut, seq != first))).rowcount
        return trimmed
