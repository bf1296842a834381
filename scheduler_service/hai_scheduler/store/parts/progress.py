"""The progress of tasks, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import bindparam, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.store.rows import REPORTED
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import PROGRESS

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY = 500
_SOME = select(PROGRESS).where(PROGRESS.c.task_id.in_(bindparam("task_ids", expanding=True)))


class StoredProgress(StoredPart):
    """The newest progress of each task that has reported some; it is deleted with its task.

    It is no part of the task: a report changes no version, so that it is in no other writer's way.
    """

    async def of(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, StepProgress]:
        """The progress of those tasks; tasks without any are left out."""
        asked, found = sorted(task_ids), {}
        for begin in range(0, len(asked), _MANY):
            rows = await self._sql.ask(_SOME, {"task_ids": asked[begin : begin + _MANY]})
            found.update({TaskId(row.task_id): REPORTED.of(row) for row in rows})
        return found

    async def put(self, task_id: TaskId, progress: StepProgress) -> None:
        """Write the progress of a task that is in the store, over what was there."""
        self._sql.put(PROGRESS, REPORTED.values(progress, task_id=task_id))
