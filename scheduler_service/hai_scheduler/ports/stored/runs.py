"""Runs in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.run import Run


class StoredRuns(Protocol):
    """All runs of tasks, the earlier ones too. They are written and deleted with their tasks (`StoredTasks`)."""

    async def of_task(self, task_id: TaskId) -> Sequence[Run]:
        """All runs of a task, in the order of their numbers; none for an unknown task."""
        ...

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """The origin of every run of those tasks, by run id; unknown tasks are left out (decision 0016)."""
        ...
