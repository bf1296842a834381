"""The store: keeps tasks, quota, nodes, users and events, which are read and written in transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.ports.bounds import BoundTx
from hai_scheduler.ports.lineage import DatabaseTx
from hai_scheduler.ports.logs import KeptLogs
from hai_scheduler.ports.values import HistoryEvent, Lease, NewTask, TaskFilter, UserRecord


class Tx(DatabaseTx, BoundTx, Protocol):
    """One transaction: its writes are committed together or not at all. Reads see the transaction's own writes."""

    async def add_task(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """Store a new task under a new id (`task.id` is ignored); ids grow.

        If the same user has used the idempotency key before, nothing is stored.

        Returns:
            The stored task with its id, or the earlier task with the same key.
        """
        ...

    async def add_tasks(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """Store all these tasks, faster than with one `add_task` after the other.

        The caller makes sure that no two of the tasks have the same user and key, and that `keyed` finds no key.
        """
        ...

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """The tasks that were stored with those idempotency keys, by (user, key); unused keys are left out."""
        ...

    async def get_task(self, task_id: TaskId) -> Task:
        """The task with its latest run. Raises Absent."""
        ...

    async def find_task(self, user: str, name: str) -> Task | None:
        """The user's latest task of that name; an unfinished one if there is any. None: no task has the name."""
        ...

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """The specification of the task: what it executes. Raises Absent."""
        ...

    async def tasks_with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """Each task with its specification, faster than with `get_task` and `get_spec`; unknown ids are left out."""
        ...

    async def save_task(self, task: Task) -> Task:
        """Write the task and its latest run.

        Returns:
            The task with the next version.

        Raises:
            Conflict: The stored version is not `task.version`; raised at the end of the transaction at the latest,
                as the writes of one transaction go to the database together.
            NotFound: There is no such task; raised at the same time.
        """
        ...

    async def unfinished_tasks(self) -> Sequence[Task]:
        """All tasks that have not ended, in the order of their ids."""
        ...

    async def list_tasks(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """At most `limit` matching tasks with ids smaller than `before` (None: any), newest first."""
        ...

    async def count_tasks(self, user: str) -> int:
        """The number of unfinished tasks of the user."""
        ...

    async def runs(self, task_id: TaskId) -> Sequence[Run]:
        """All runs of a task, in the order of their numbers."""
        ...

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """At most `limit` tasks that ended before `when`, oldest first."""
        ...

    async def delete_task(self, task_id: TaskId) -> None:
        """Delete an ended task with its specification and runs, not its events.

        Raises WriteConflict if it has not ended.
        """
        ...

    async def add_event(self, event: HistoryEvent) -> HistoryEvent:
        """Append an event; returns it with its `seq`, which grows in commit order."""
        ...

    async def add_events(self, events: Iterable[HistoryEvent]) -> None:
        """Append all these events, faster than with one `add_event` after the other."""
        ...

    async def events(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """At most `limit` events with a seq greater than `after`, in the order of seq.

        Args:
            after: The seq of the last event that is already known.
            limit: How many events at most.
            user: Only events of this user's tasks and of the cluster; None: all.
            task_id: Only events of this task; None: all.
        """
        ...

    async def last_event_seq(self) -> int:
        """The greatest seq of an event; 0 if there is no event."""
        ...

    async def quotas(self) -> Sequence[Quota]:
        """All rows of quota, sorted by subject, group and priority."""
        ...

    async def put_quota(self, quota: Quota) -> None:
        """Write the quota row of (subject, group, priority)."""
        ...

    async def delete_quota(self, quota: Quota) -> bool:
        """Remove the quota row of (subject, group, priority); True if there was one."""
        ...

    async def uses(self) -> Sequence[Usage]:
        """The decayed use of users (O3), sorted by user and group."""
        ...

    async def put_use(self, use: Usage) -> None:
        """Write the decayed use of (user, group)."""
        ...

    async def delete_use(self, use: Usage) -> None:
        """Remove the decayed use of (user, group), if there is any."""
        ...

    async def strikes(self) -> Sequence[Strike]:
        """The failures on nodes that still count (H3), oldest first, each with the user of its task."""
        ...

    async def add_strike(self, strike: Strike) -> None:
        """Remember a failure on a node. The stored task, not `strike`, says which user's it was."""
        ...

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """Delete the failures of the node, or those before `before`; with both, those that match both.

        Without an argument, all failures are deleted.
        """
        ...

    async def users(self) -> Sequence[UserRecord]:
        """All users that the service has seen."""
        ...

    async def put_user(self, user: UserRecord) -> None:
        """Write what the Hub says of a user."""
        ...

    async def mount_rules(self) -> Sequence[MountRule]:
        """All mount rules, sorted by name."""
        ...

    async def put_mount_rule(self, rule: MountRule) -> None:
        """Write the whole mount rule of that name."""
        ...

    async def delete_mount_rule(self, name: str) -> bool:
        """Remove the mount rule; True if there was one."""
        ...

    async def environments(self) -> Sequence[Environment]:
        """All environments, sorted by name."""
        ...

    async def put_environment(self, environment: Environment) -> None:
        """Write the whole environment of that name."""
        ...

    async def delete_environment(self, name: str) -> bool:
        """Remove the environment; True if there was one."""
        ...

    async def node_marks(self) -> Mapping[str, NodeMark]:
        """The marks of nodes by node name; nodes without a mark are left out."""
        ...

    async def put_node_mark(self, node: str, mark: NodeMark) -> None:
        """Mark a node; NONE removes the mark."""
        ...

    async def setting(self, name: str) -> str | None:
        """A small named value of the platform, such as `paused`; None if it is not set."""
        ...

    async def put_setting(self, name: str, value: str | None) -> None:
        """Write the named value; None removes it."""
        ...

    async def lease(self) -> Lease | None:
        """The leader lease as it was last written, expired or not; None while no process holds it."""
        ...

    async def acquire_lease(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """Take or extend the leader lease; None while another holder's lease has not expired.

        The token grows when the holder changes and stays when the same holder extends.
        """
        ...

    async def check_lease(self, token: int) -> None:
        """Raise LeaseLost unless the lease has this token. The token stays valid until the transaction ends."""
        ...

    async def release_lease(self, holder: str) -> None:
        """Give up the lease if this holder has it; from then on its token is refused."""
        ...


class Store(Protocol):
    """The durable state of the platform. What a committed transaction wrote survives any crash."""

    @property
    def logs(self) -> KeptLogs:
        """The logs that ranks have sent."""
        ...

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """A transaction with a consistent view; a write raises RuntimeError. Raises Temporary, as `write` does."""
        ...

    def write(self) -> AbstractAsyncContextManager[Tx]:
        """A transaction that commits at its end and rolls back on any exception. Writers go one after the other."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
