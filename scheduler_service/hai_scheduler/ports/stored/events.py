"""Events in a transaction of the store: history, feed and audit trail in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import HistoryEvent


class StoredEvents(Protocol):
    """The events, which are only appended: none is changed, and only those of long ago are deleted.

    Their `seq` grows in the order of commits, so a reader who goes on after the last one that it knows misses none.
    """

    async def add(self, event: HistoryEvent) -> HistoryEvent:
        """Append an event; returns it with its `seq`."""
        ...

    async def add_all(self, events: Iterable[HistoryEvent]) -> None:
        """Append all these events, faster than with one `add` after the other."""
        ...

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
        ...

    async def last_seq(self) -> int:
        """The greatest seq of an event; 0 if there is no event."""
        ...

    async def delete_of_task(self, task_id: TaskId) -> None:
        """Delete the events of a task."""
        ...

    async def trim(self, keep: int) -> int:
        """Delete events of each task that has more than `keep`: its first event and its latest ones stay.

        Returns:
            How many events were deleted.
        """
        ...
