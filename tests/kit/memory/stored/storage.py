"""How much each user keeps, in a transaction of the memory store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.stored.storage import UserStorage
from kit.memory.draft import MemoryPart


class MemoryAmounts(MemoryPart):
    """See `ports.stored.storage.StoredAmounts`."""

    async def of_user(self, user: str) -> UserStorage:
        """See `StoredAmounts.of_user`."""
        sizes = {True: 0, False: 0}
        ended = 0
        for task, size in self._sizes():
            if task.user == user:
                sizes[task.state.ended] += size
                ended += task.state.ended
        return UserStorage(unfinished_bytes=sizes[False], ended_bytes=sizes[True], ended_tasks=ended)

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """See `StoredAmounts.users_beyond`."""
        tasks: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for task, bytes_ in self._sizes():
            tasks[task.user] += task.state.ended
            sizes[task.user] += bytes_
        return sorted(user for user in tasks if tasks[user] > ended_tasks or sizes[user] > size)

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """See `StoredAmounts.ended_of`."""
        over = [
            (task.ended_at, task.id, size)
            for task, size in self._sizes()
            if task.user == user and task.state.ended and task.ended_at is not None
        ]
        return [(number, size) for _, number, size in sorted(over)[:limit]]

    def _sizes(self) -> Iterator[tuple[Task, int]]:
        state = self._draft.seen()
        for task in state.tasks.rising():
            spec = state.specs.get(task.id)
            yield task, 0 if spec is None else size_of(spec)
