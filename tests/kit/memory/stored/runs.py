"""Runs in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.run import Run
from kit.memory.draft import MemoryPart


class MemoryRuns(MemoryPart):
    """See `ports.stored.runs.StoredRuns`."""

    async def of_task(self, task_id: TaskId) -> Sequence[Run]:
        """See `StoredRuns.of_task`."""
        known = self._draft.seen().runs.get(task_id) or {}
        return [known[number] for number in sorted(known)]

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """See `StoredRuns.origins`."""
        runs = self._draft.seen().runs
        return {run.id: run.origin for task_id in task_ids for run in (runs.get(task_id) or {}).values()}
