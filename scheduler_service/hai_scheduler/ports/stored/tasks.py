"""Tasks in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.ports.values import NewTask, TaskFilter, TaskKeyValue, TaskSort


class StoredTasks(Protocol):
    """The tasks, each with its specification and its latest run.

    A task is written whole and only over the version that was read: of two writers of one version, the second fails.
    """

    async def add(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """Store a new task under a new id (`task.id` is ignored); ids grow.

        If the same user has used the idempotency key before, nothing is stored.

        Returns:
            The stored task with its id, or the earlier task with the same key.
        """
        ...

    async def add_all(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """Store all these tasks, faster than with one `add` after the other.

        The caller makes sure that no two of the tasks have the same user and key, and that `keyed` finds no key.
        """
        ...

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """The tasks that were stored with those idempotency keys, by (user, key); unused keys are left out."""
        ...

    async def get(self, task_id: TaskId) -> Task:
        """The task with its latest run. Raises Absent."""
        ...

    async def find(self, user: str, name: str) -> Task | None:
        """The user's latest task of that name; an unfinished one if there is any. None: no task has the name."""
        ...

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """The specification of the task: what it executes. Raises Absent."""
        ...

    async def with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """Each task with its specification, faster than with `get` and `get_spec`; unknown ids are left out."""
        ...

    async def save(self, task: Task) -> Task:
        """Write the task and its latest run.

        Returns:
            The task with the next version.

        Raises:
            WriteConflict: The stored version is not `task.version`; raised at the end of the transaction at the
                latest, as the writes of one transaction go to the database together.
            Absent: There is no such task; raised at the same time.
        """
        ...

    async def unfinished(self) -> Sequence[Task]:
        """All tasks that have not ended, in the order of their ids."""
        ...

    async def pinned(self) -> Mapping[TaskId, tuple[str, Pin]]:
        """The user, and the generation of an environment that must be kept, of each unfinished task that needs one."""
        ...

    async def snapshots(self) -> Mapping[str, frozenset[str]]:
        """The digests of the snapshots of code that unfinished tasks have, by user."""
        ...

    async def page(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """At most `limit` matching tasks with ids smaller than `before` (None: any), newest first."""
        ...

    async def sorted_page(
        self, where: TaskFilter, sort: TaskSort, *, after: tuple[TaskKeyValue, TaskId] | None, limit: int
    ) -> Sequence[Task]:
        """At most `limit` matching tasks in that order.

        Args:
            where: Which tasks.
            sort: Their order. Texts are in the order of their characters' numbers.
            after: Value and id of the last task of the page before (`sort_value`); None: from the first on.
            limit: How many at most.
        """
        ...

    async def count(self, where: TaskFilter) -> int:
        """How many tasks match."""
        ...

    async def count_unfinished(self, user: str) -> int:
        """The number of unfinished tasks of the user."""
        ...

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """At most `limit` tasks that ended before `when`, oldest first."""
        ...

    async def delete(self, task_id: TaskId) -> None:
        """Delete an ended task with its specification and runs, not its events.

        Raises:
            WriteConflict: The task has not ended.
            Absent: There is no such task.
        """
        ...
