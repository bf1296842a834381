"""Why a task waits, as data. `explain` turns it into a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from hai_scheduler.core.model import Priority, TaskId

#: What a verdict's data may hold.
Value = str | int | float | bool | None | datetime


class VerdictKind(StrEnum):
    """What a task waits for (docs/scheduling.md, "Why is it waiting?")."""

    #: Its user's quota is in use. data: subject, limit, used.
    QUOTA = "QUOTA"
    #: Tasks that it may not suspend hold the nodes. data: needs, free.
    CAPACITY = "CAPACITY"
    #: Equals hold the nodes until their turns are over. data: needs, free, until.
    TURN = "TURN"
    #: Nodes are on their way to it. data: needs, free, coming, deadline.
    DRAINING = "DRAINING"
    #: Its owner holds it.
    HELD = "HELD"
    #: The platform is paused.
    PAUSED = "PAUSED"
    #: It cannot start as things are set up. data: needs, cap, cause.
    NEVER = "NEVER"
    #: It has been given nodes and starts now, or was submitted since the last tick.
    NEXT = "NEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A task that holds nodes which another one needs."""

    task_id: TaskId
    name: str
    user: str
    priority: Priority
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why one task waits."""

    kind: VerdictKind
    #: What it counts as now (Q4).
    priority: Priority
    #: Its place among the waiting tasks of its group, from 1; None while it is held.
    position: int | None = None
    #: When it can start at the earliest, if that can be said.
    earliest_start: datetime | None = None
    data: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    #: Who holds the nodes it needs, most nodes first.
    holders: tuple[Holder, ...] = ()
