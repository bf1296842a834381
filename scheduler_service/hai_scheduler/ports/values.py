"""What a store keeps besides the values of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskSpec, TaskState


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
