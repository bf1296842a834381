"""The progress of tasks in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.progress import StepProgress
from kit.memory.draft import MemoryPart


class MemoryProgress(MemoryPart):
    """See `ports.stored.progress.StoredProgress`."""

    async def of(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, StepProgress]:
        """See `StoredProgress.of`."""
        known = self._draft.seen().progress
        return {task_id: found for task_id in task_ids if (found := known.get(task_id)) is not None}

    async def put(self, task_id: TaskId, progress: StepProgress) -> None:
        """See `StoredProgress.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, progress=state.progress.put(task_id, progress))
