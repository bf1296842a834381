"""The progress of tasks in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.progress import StepProgress


class StoredProgress(Protocol):
    """The newest progress of each task that has reported some; it is deleted with its task.

    It is no part of the task: a report changes no version, so that it is in no other writer's way.
    """

    async def of(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, StepProgress]:
        """The progress of those tasks; tasks without any are left out."""
        ...

    async def put(self, task_id: TaskId, progress: StepProgress) -> None:
        """Write the progress of a task that is in the store, over what was there."""
        ...
