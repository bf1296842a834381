"""How much each user has stored, and what is deleted of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hai_scheduler.adapters.memory.base import TxPart
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.bounds import Stored


class BoundPart(TxPart):
    """The part of a transaction that deals with the amount of stored data."""

    async def stored(self, user: str) -> Stored:
        """See `BoundTx.stored`."""
        sizes = {True: 0, False: 0}
        ended = 0
        for task, size in self._sizes():
            if task.user == user:
                sizes[task.state.ended] += size
                ended += task.state.ended
        return Stored(unfinished_bytes=sizes[False], ended_bytes=sizes[True], ended_tasks=ended)

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """See `BoundTx.users_beyond`."""
        tasks: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for task, bytes_ in self._sizes():
            tasks[task.user] += task.state.ended
            sizes[task.user] += bytes_
        return sorted(user for user in tasks if tasks[user] > ended_tasks or sizes[user] > size)

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """See `BoundTx.ended_of`."""
        over = [
            (task.ended_at, task.id, size)
            for task, size in self._sizes()
            if task.user == user and task.state.ended and task.ended_at is not None
        ]
        return [(number, size) for _, number, size in sorted(over)[:limit]]

    async def delete_events(self, task_id: TaskId) -> None:
        """See `BoundTx.delete_events`."""
        events = self._writable().events
        for event in list(events.rising()):
            if event.task_id == task_id:
                events = events.drop(event.seq)
        self.state = replace(self.state, events=events)

    async def trim_events(self, keep: int) -> int:
        """See `BoundTx.trim_events`."""
        events = self._writable().events
        lines: defaultdict[TaskId, list[int]] = defaultdict(list)
        for event in events.rising():
            if event.task_id is not None:
                lines[event.task_id].append(event.seq)
        gone = [seq for seqs in lines.values() if len(seqs) > keep for seq in seqs[1 : 1 + len(seqs) - keep]]
        for seq in gone:
            events = events.drop(seq)
        self.state = replace(self.state, events=events)
        return len(gone)

    def _sizes(self) -> Iterator[tuple[Task, int]]:
        state = self._seen()
        for task in state.tasks.rising():
            spec = state.specs.get(task.id)
            yield task, 0 if spec is None else size_of(spec)
