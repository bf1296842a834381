"""The store: what it keeps is read and written in transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.quota import Quota, Use
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.ports.bounds import BoundTx
from hai_scheduler.ports.lineage import DatabaseTx
from hai_scheduler.ports.logs import KeptLogs
from hai_scheduler.ports.values import Event, Lease, NewTask, TaskFilter, UserRecord


class Tx(DatabaseTx, BoundTx, Protocol):
    """One transaction: all of it or nothing. Reads see its own writes."""

    async def add_task(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """Store a new task; its id is given here (`task.id` is ignored), ids grow.

        With a key that the same user has used before, nothing is stored and the earlier task is returned.
        """
        ...

    async def add_tasks(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """Store all of them, as `add_task` does one after the other, but faster.

        No two of them have the same user and key, and none has a key that `keyed` finds.
        """
        ...

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """The tasks that were stored with those keys, by user and key; unused keys are left out."""
        ...

    async def get_task(self, task_id: TaskId) -> Task:
        """The task with its latest run. Raises NotFound."""
        ...

    async def find_task(self, user: str, name: str) -> Task | None:
        """The user's latest task of that name: an unfinished one if there is one."""
        ...

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """What it executes. Raises NotFound."""
        ...

    async def tasks_with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """What `get_task` and `get_spec` say of each, faster than one after the other; unknown ids are left out."""
        ...

    async def save_task(self, task: Task) -> Task:
        """Write the task and its latest run; returns it with the next version.

        Raises Conflict if the stored version is not `task.version`, NotFound if there is no such task: at the latest
        when the transaction ends, as writes of one transaction go to the database together.
        """
        ...

    async def unfinished_tasks(self) -> Sequence[Task]:
        """Every task that has not ended, by id."""
        ...

    async def list_tasks(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """At most `limit` tasks with ids smaller than `before`, newest first."""
        ...

    async def count_tasks(self, user: str) -> int:
        """How many unfinished tasks the user has."""
        ...

    async def runs(self, task_id: TaskId) -> Sequence[Run]:
        """All runs of a task, by number."""
        ...

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """Tasks that ended before then, oldest first."""
        ...

    async def delete_task(self, task_id: TaskId) -> None:
        """Forget an ended task, its spec and its runs; its events stay. Raises Conflict if it has not ended."""
        ...

    async def add_event(self, event: Event) -> Event:
        """Append; `seq` is given here and grows in commit order."""
        ...

    async def add_events(self, events: Iterable[Event]) -> None:
        """Append all of them, as `add_event` does one after the other, but faster."""
        ...

    async def events(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[Event]:
        """At most `limit` events with a greater seq, in order. With `user`: his own and the cluster's."""
        ...

    async def last_event_seq(self) -> int:
        """The greatest seq, 0 if there is none."""
        ...

    async def quotas(self) -> Sequence[Quota]:
        """All rows, by subject, group, priority."""
        ...

    async def put_quota(self, quota: Quota) -> None:
        """Write the row of (subject, group, priority)."""
        ...

    async def delete_quota(self, quota: Quota) -> bool:
        """Remove the row of (subject, group, priority); whether there was one."""
        ...

    async def uses(self) -> Sequence[Use]:
        """What users have held lately (O3), by user and group."""
        ...

    async def put_use(self, use: Use) -> None:
        """Write the row of (user, group)."""
        ...

    async def delete_use(self, use: Use) -> None:
        """Remove the row of (user, group), if there is one."""
        ...

    async def strikes(self) -> Sequence[Strike]:
        """Failures on nodes that are still remembered (H3), oldest first, each with the user of its task."""
        ...

    async def add_strike(self, strike: Strike) -> None:
        """Remember one. Whose it was is the task's to say."""
        ...

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """Forget those of the node, or those that are older, or both conditions together."""
        ...

    async def users(self) -> Sequence[UserRecord]:
        """All users seen so far."""
        ...

    async def put_user(self, user: UserRecord) -> None:
        """Write what the Hub shows of a user."""
        ...

    async def mount_rules(self) -> Sequence[MountRule]:
        """All of them, by name."""
        ...

    async def put_mount_rule(self, rule: MountRule) -> None:
        """Write the rule of that name, all of it."""
        ...

    async def delete_mount_rule(self, name: str) -> bool:
        """Remove the rule; whether there was one."""
        ...

    async def environments(self) -> Sequence[Environment]:
        """All of them, by name."""
        ...

    async def put_environment(self, environment: Environment) -> None:
        """Write the environment of that name, all of it."""
        ...

    async def delete_environment(self, name: str) -> bool:
        """Remove the environment; whether there was one."""
        ...

    async def node_marks(self) -> Mapping[str, NodeMark]:
        """Marks by node name; nodes without one are left out."""
        ...

    async def put_node_mark(self, node: str, mark: NodeMark) -> None:
        """Mark a node; NONE removes the mark."""
        ...

    async def setting(self, name: str) -> str | None:
        """A small named value of the platform (`paused`), or None."""
        ...

    async def put_setting(self, name: str, value: str | None) -> None:
        """Write or, with None, remove it."""
        ...

    async def lease(self) -> Lease | None:
        """The leader lease as it was last written, expired or not; None while nobody holds it."""
        ...

    async def acquire_lease(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """Take or extend the leader lease; None while somebody else's has not expired.

        The token grows when the holder changes and stays when the same holder extends.
        """
        ...

    async def check_lease(self, token: int) -> None:
        """Raises LeaseLost unless the lease's token is this one. Holds until the transaction ends."""
        ...

    async def release_lease(self, holder: str) -> None:
        """Give the lease up, if it is this holder's; its token is worthless from then on."""
        ...


class Store(Protocol):
    """Durable truth. What a committed transaction wrote survives any crash."""

    @property
    def logs(self) -> KeptLogs:
        """What ranks have sent of their logs."""
        ...

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """A consistent view. Writing in it raises RuntimeError. Raises Temporary, as `write` does."""
        ...

    def write(self) -> AbstractAsyncContextManager[Tx]:
        """Commits at the end, rolls back on any exception. Writers are serialised."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
