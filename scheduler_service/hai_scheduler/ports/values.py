"""The values that a store keeps besides those of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskSpec, TaskState

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line of history, of the feed and of the audit trail.

    `kind` is a word of `core.model.event_kinds.EventKind`; an earlier or later version may have written other words.
    `user` is the owner of the task (None: the event is about the cluster). `actor` is the user who caused the event,
    or `scheduler` for the loop.
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
    """Which tasks to list; None is any."""

    user: str | None = None
    states: frozenset[TaskState] | None = None
    group: str | None = None
    #: The level asked for, or `AUTO`.
    priority: str | None = None
    #: A part of the name, letter case ignored.
    name: str | None = None
    #: A part of the name, of the user's name or of a tag, letter case ignored; or the number of the task.
    text: str | None = None
    tag: str | None = None
    #: Only tasks that this user has starred.
    starred_by: str | None = None
    #: Only tasks that were submitted, or ended, at this time or later.
    submitted_since: datetime | None = None
    ended_since: datetime | None = None


class TaskKey(StrEnum):
    """What a list of tasks can be in the order of."""

    ID = "id"
    NAME = "name"
    USER = "user"
    GROUP = "group"
    STATE = "state"
    #: The level asked for; AUTO comes before LOW.
    PRIORITY = "priority"
    NODES = "nodes"
    #: When the task has ended; unfinished tasks come before all others.
    ENDED = "ended"
    #: The running time of runs that have ended.
    RAN = "ran"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSort:
    """The order of a list of tasks; tasks that are equal by the key are in the same order by their ids."""

    key: TaskKey = TaskKey.ID
    falling: bool = True


#: The keys whose values are texts; those of the others are whole numbers.
TEXT_KEYS: Final = frozenset({TaskKey.NAME, TaskKey.USER, TaskKey.GROUP, TaskKey.STATE})
#: The value by which a task has its place in a list.
TaskKeyValue = str | int


def sort_value(task: Task, key: TaskKey) -> TaskKeyValue:
    """Return the value by which the task has its place in a list."""
    match key:
        case TaskKey.ID:
            return task.id
        case TaskKey.NAME:
            return task.name
        case TaskKey.USER:
            return task.user
        case TaskKey.GROUP:
            return task.group
        case TaskKey.STATE:
            return task.state.value
        case TaskKey.PRIORITY:
            return -1 if task.priority is None else task.priority.value
        case TaskKey.NODES:
            return task.nodes
        case TaskKey.ENDED:
            return 0 if task.ended_at is None else (task.ended_at - _EPOCH) // _US
        case TaskKey.RAN:
            return task.served // _US


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """A user as the Hub last showed them."""

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
    """A task that is to be stored; the store gives it its id."""

    task: Task
    spec: TaskSpec
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserVisit:
    """When a user last used the service."""

    name: str
    #: To about ten minutes: not every request is written.
    seen_at: datetime
    #: When a token of the user last carried the right of admins; None: never.
    admin_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedUser:
    """A user who may not use the platform until an admin restores them."""

    name: str
    at: datetime
    #: The admin.
    by: str
    #: Why, in the admin's words; may be empty.
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action of an admin, written in the transaction of the action."""

    number: int = 0
    at: datetime
    #: The user who did it.
    actor: str
    #: A word of `core.model.admin_actions.AdminAction`; another version may have written other words.
    action: str
    #: What was changed: `user:ann`, `node:node-3`, `task:41`.
    subject: str
    #: What was there before and is there now, as JSON values without secrets; None: there was or is nothing.
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    #: The address that the request came from; None: not known.
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries of the audit to list; None is any."""

    actor: str | None = None
    #: An action such as `quota.put`, or a family of them such as `quota`.
    action: str | None = None
    #: A subject such as `node:node-3`, or a kind of them such as `node`.
    subject: str | None = None
    #: From this time on, and before that time.
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStorage:
    """The amounts that a store keeps of one user's tasks.

    Bytes are those of `core.model.sizes.size_of`. Tasks that were stored by a version without sizes count as 0 bytes.
    """

    unfinished_bytes: int = 0
    ended_bytes: int = 0
    ended_tasks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """What admins want to know of a database."""

    #: `sqlite` or `postgresql`.
    kind: str
    #: Its size in bytes; None: not known.
    size: int | None
    #: The revision of its tables; None: it has none.
    revision: str | None
    #: The newest revision that this version of HAI knows.
    known_revision: str
