"""What users write on tasks to find them again, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId


class StoredLabels(Protocol):
    """The tags of tasks, which all who may see the task share, and the stars, of which each user has their own.

    Both go with their task.
    """

    async def tags(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[str, ...]]:
        """The tags of those tasks, in the order in which they were given; tasks without tags are left out."""
        ...

    async def put_tags(self, task_id: TaskId, tags: Sequence[str]) -> None:
        """Give the task these tags in place of those that it has. Raises Absent."""
        ...

    async def starred(self, user: str, task_ids: Collection[TaskId]) -> frozenset[TaskId]:
        """Which of those tasks the user has starred."""
        ...

    async def put_star(self, user: str, task_id: TaskId, *, starred: bool) -> None:
        """Star a task for the user, or take the star away. To do it again changes nothing."""
        ...
