"""What the service needs of the world. One contract suite a port runs against every adapter (tests/contract)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from hai_scheduler.bound_ports import BoundTx
from hai_scheduler.core.environments import Environment
from hai_scheduler.core.leaving import Signal
from hai_scheduler.core.model import (
    Node,
    NodeMark,
    Observation,
    Origin,
    Quota,
    Run,
    RunId,
    Strike,
    Task,
    TaskId,
    TaskSpec,
    TaskState,
    Use,
)
from hai_scheduler.core.mounts import Mount, MountRule
from hai_scheduler.lineage_ports import DatabaseTx, MarkedCluster
from hai_scheduler.log_ports import KeptLogs as KeptLogs
from hai_scheduler.log_ports import LogChunk as LogChunk
from hai_scheduler.log_ports import LogPlace as LogPlace
from hai_scheduler.log_ports import LogSource as LogSource
from hai_scheduler.secret import Secret


class NotFound(LookupError):
    """There is no such thing."""


class Conflict(Exception):
    """Somebody else changed it meanwhile; nothing was written."""


class LeaseLost(Conflict):
    """Another scheduler holds the leader lease; nothing was written."""


class Misplaced(Conflict):
    """A piece of a log that does not follow what is kept of it; nothing was written. `expected` is where it ends."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"the log goes on at {expected}")
        self.expected = expected


class Temporary(Exception):
    """The cluster or the database cannot do it now; the loop tries again at its next tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of history, of the feed and of the audit trail.

    `kind` is a word of `core.event_kinds.EventKind`; what an earlier or later version has written may be another.
    `user` is whose task it is about (None: the cluster's), `actor` who caused it (`scheduler` for the loop).
    """

    seq: int = 0
    at: datetime
    kind: str
    actor: str
    user: str | None = None
    task_id: TaskId | None = None
    #: JSON values only.
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list; None is any. Newest first."""

    user: str | None = None
    states: frozenset[TaskState] | None = None
    group: str | None = None
    #: The level asked for, or `AUTO`.
    priority: str | None = None
    #: A part of the name, letter case ignored.
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """A user as the Hub last showed him."""

    name: str
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The leader lease. `token` grows with every change of holder: a write with an older one is refused."""

    holder: str
    token: int
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task that is to be stored; `task.id` is given then."""

    task: Task
    spec: TaskSpec
    idempotency_key: str | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All that a cluster needs to start a run."""

    run_id: RunId
    task_id: TaskId
    user: str
    #: Node names in rank order.
    nodes: tuple[str, ...]
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()
    command: tuple[str, ...]
    cwd: str
    #: The same for every rank. The cluster adds what only it knows: rank, node, addresses, GPUs, folders.
    env: Mapping[str, str]
    profile: str
    #: How often the command runs on each node, under a launcher; None: once, without one.
    ranks_per_node: int | None = None
    #: What the ranks speak to the service with.
    token: Secret
    #: Its node group.
    group: str = "training"
    #: How long it has to save after a notice.
    grace: timedelta = timedelta(seconds=120)
    #: The signal of its user's choice; None: what the profile says.
    signal: Signal | None = None
    #: Profile `auto`: how long a job that neither catches a signal nor polls is let go on, to save; at most its grace.
    patience: timedelta = timedelta(seconds=30)
    #: Paths whose changes count as checkpoints, beside those below `HAI_CHECKPOINT_DIR`.
    watch: tuple[str, ...] = ()
    #: The image that its ranks run in, where ranks have images; None is the cluster's default.
    image: str | None = None
    #: The Python of its environment, an absolute path: its folder comes first on the ranks' PATH.
    python: str | None = None
    #: Folders that its ranks see, where ranks have file systems of their own; a folder before those below it.
    mounts: tuple[Mount, ...] = ()
    #: Rights of the user beyond the ordinary: `rdma`.
    rights: frozenset[str] = frozenset()
    #: Who decided the run; shown again by `Cluster.observe`.
    origin: Origin | None = None


class Cluster(MarkedCluster, Protocol):
    """The machines. Everything is idempotent by run id; all truth is read by `observe`.

    Ranks learn of notices from the service's REST interface through their supervisor, on every cluster alike.
    """

    async def nodes(self) -> Sequence[Node]:
        """Every node, unmarked. Raises Temporary."""
        ...

    async def observe(self) -> Sequence[Observation]:
        """Every run that it has not forgotten and is not sure to have ended long ago. Raises Temporary.

        One that was killed before its launch shows no ranks. A rank is EXITED or LOST only when no process is left.
        """
        ...

    def changes(self) -> AsyncIterator[None]:
        """Bare wake-ups: something may have changed. May be late, may be too many, carries no fact."""
        ...

    async def launch(self, launch: Launch) -> None:
        """Order every rank of the run. Repeating it starts no rank twice and completes a partial start.

        One that comes late starts nothing: the run was killed or settled, or a later one of its task was launched.

        Raises Temporary when it should be tried again, and while a run of another origin has the id. A rank that cannot
        be started is observed EXITED with a `start_error`.
        """
        ...

    async def kill(self, run_id: RunId) -> None:
        """End every rank: SIGTERM, ten seconds later SIGKILL, with all their descendants. Raises Temporary.

        From then on the run, also one that is not known yet, is `killed`: no launch of any replica starts it.
        """
        ...

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """Where its ranks reach each other, in rank order; None until every rank's supervisor is up.

        Raises NotFound for a run that it does not know.
        """
        ...

    async def settle(self, run_id: RunId) -> None:
        """The end of the run was recorded: all but its logs may go. Unknown runs are fine."""
        ...

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """At most about `limit` bytes from `offset`; an offset behind the end is the end.

        Raises NotFound for a run or rank it does not know.
        """
        ...

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """Where a worker process can read the run's logs, if there are any; None: only `read_log` can."""
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove all that is kept of an ended run, its logs included."""
        ...

    async def close(self) -> None:
        """Let go of resources; runs go on."""
        ...


class Bus(Protocol):
    """A doorbell. A ring carries no fact; a lost ring costs latency, never a task."""

    async def ring(self, topic: str) -> None:
        """Wake everybody who listens to the topic. Never raises."""
        ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Ears]:
        """Rings from the moment of entering on are kept until waited for."""
        ...

    async def close(self) -> None:
        """Ring what was still to be rung and let go of every connection. Never raises."""
        ...


class Ears(Protocol):
    """What `Bus.listen` gives."""

    async def wait(self, timeout: float | None) -> bool:  # noqa: ASYNC109  # virtual time needs it
        """Wait for the next ring, at most `timeout` seconds; whether there was one. Rings are merged."""
        ...


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Aware UTC. Never goes back within a process."""
        ...

    def steady(self) -> float:
        """Seconds since some moment, as they pass, also while this process is stopped: nobody sets this clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
