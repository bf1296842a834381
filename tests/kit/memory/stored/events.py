"""Events in a transaction of the memory store."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import HistoryEvent
from kit.memory.draft import MemoryPart


class MemoryEvents(MemoryPart):
    """See `ports.stored.events.StoredEvents`."""

    async def add(self, event: HistoryEvent) -> HistoryEvent:
        """See `StoredEvents.add`."""
        state = self._draft.writable()
        # Through JSON, so that data that no database takes fail here too, and the caller's dict is not shared.
        added = replace(event, seq=state.last_event + 1, data=json.loads(json.dumps(dict(event.data), allow_nan=False)))
        self._draft.state = replace(state, last_event=added.seq, events=state.events.put(added.seq, added))
        return added

    async def add_all(self, events: Iterable[HistoryEvent]) -> None:
        """See `StoredEvents.add_all`."""
        for event in events:
            await self.add(event)

    async def page(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """See `StoredEvents.page`."""
        found: Iterable[HistoryEvent] = self._draft.seen().events.after(after)
        if user is not None:
            found = (event for event in found if event.user is None or event.user == user)
        if task_id is not None:
            found = (event for event in found if event.task_id == task_id)
        return list(islice(found, limit))

    async def last_seq(self) -> int:
        """See `StoredEvents.last_seq`."""
        return self._draft.seen().last_event

    async def delete_of_task(self, task_id: TaskId) -> None:
        """See `StoredEvents.delete_of_task`."""
        events = self._draft.writable().events
        for event in list(events.rising()):
            if event.task_id == task_id:
                events = events.drop(event.seq)
        self._draft.state = replace(self._draft.state, events=events)

    async def trim(self, keep: int) -> int:
        """See `StoredEvents.trim`."""
        events = self._draft.writable().events
        lines: defaultdict[TaskId, list[int]] = defaultdict(list)
        for event in events.rising():
            if event.task_id is not None:
                lines[event.task_id].append(event.seq)
        gone = [seq for seqs in lines.values() if len(seqs) > keep for seq in seqs[1 : 1 + len(seqs) - keep]]
        for seq in gone:
            events = events.drop(seq)
        self._draft.state = replace(self._draft.state, events=events)
        return len(gone)
