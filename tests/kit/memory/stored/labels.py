"""Tags and stars of tasks, in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.errors import Absent
from kit.memory.draft import MemoryPart


class MemoryLabels(MemoryPart):
    """See `ports.stored.labels.StoredLabels`."""

    async def tags(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[str, ...]]:
        """See `StoredLabels.tags`."""
        specs = self._draft.seen().specs
        found = {task_id: specs.get(task_id) for task_id in task_ids}
        return {task_id: spec.tags for task_id, spec in found.items() if spec is not None and spec.tags}

    async def put_tags(self, task_id: TaskId, tags: Sequence[str]) -> None:
        """See `StoredLabels.put_tags`."""
        state = self._draft.writable()
        spec = state.specs.get(task_id)
        if spec is None:
            raise Absent(f"there is no task {task_id}")
        self._draft.state = replace(state, specs=state.specs.put(task_id, replace(spec, tags=tuple(tags))))

    async def starred(self, user: str, task_ids: Collection[TaskId]) -> frozenset[TaskId]:
        """See `StoredLabels.starred`."""
        stars = self._draft.seen().stars
        return frozenset(task_id for task_id in task_ids if (user, task_id) in stars)

    async def put_star(self, user: str, task_id: TaskId, *, starred: bool) -> None:
        """See `StoredLabels.put_star`."""
        state = self._draft.writable()
        rest = state.stars - {(user, task_id)}
        self._draft.state = replace(state, stars=rest | {(user, task_id)} if starred else rest)
