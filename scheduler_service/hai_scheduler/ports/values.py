"""The values that a store keeps besides those of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskSpec, TaskState


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
