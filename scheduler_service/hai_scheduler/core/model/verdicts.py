"""Why a task waits, as data. `explain` turns it into a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority

#: What a verdict's data may hold.
Value = str | int | float | bool | None | datetime


class VerdictKind(StrEnum):
    """What a task waits for (docs/scheduling.md, "Why is it waiting?")."""

    #: Its user's quota is in use. data: subject, limit, used.
    QUOTA = "QUOTA"
    #: Tasks that it may not suspend hold the nodes. data: needs, free; unsaved, unsaved_runs: a task that leaves for no
    #: equal because nothing shows that it saves (P8), and how often it was interrupted so.
    CAPACITY = "CAPACITY"
    #: Equals hold the nodes until their turns are over. data: needs, free, until.
    TURN = "TURN"
    #: Free nodes are kept for a task before it (B1). data: needs, free, until; holders: for whom.
    RESERVED = "RESERVED"
    #: Nodes are on their way to it. data: needs, free, coming, deadline.
    DRAINING = "DRAINING"
    #: Enough is free, but too far apart (F2). data: needs, free, together.
    TOPOLOGY = "TOPOLOGY"
    #: Its command failed (H2), or it could not be started; it is started again later. data: until, retries, of;
    #: after a start that failed: until, starts, of, why; after a killed supervisor: until, starts, of, broken.
    RETRY = "RETRY"
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
    #: GPUs that it holds on each node; None is whole nodes (U2).
    gpus: int | None = None


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


class Answering(Protocol):
    """What knows why the tasks of a node group wait."""

    @property
    def ids(self) -> Collection[TaskId]:
        """The tasks that wait."""
        ...

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        """What a task waits for. Raises KeyError."""
        ...

    def level_of(self, task_id: TaskId) -> Priority:
        """What the task counts as (Q4). Raises KeyError."""
        ...

    def verdict(self, task_id: TaskId) -> Verdict:
        """Everything about why it waits. Raises KeyError."""
        ...


class Verdicts(Mapping[TaskId, Verdict]):
    """The verdicts of a plan. A verdict is put into data when it is looked up: most are never read."""

    def __init__(self, groups: Sequence[Answering] = ()) -> None:
        """`groups` answer for the tasks of a node group each."""
        self._groups = groups
        self._made: dict[TaskId, Verdict] = {}

    def kind_of(self, task_id: TaskId) -> VerdictKind | None:
        """What the task waits for, at the cost of a look; None if it does not wait."""
        for group in self._groups:
            if task_id in group.ids:
                return group.kind_of(task_id)
        return None

    def level_of(self, task_id: TaskId) -> Priority | None:
        """What the task counts as (Q4), at the cost of a look; None if it does not wait."""
        for group in self._groups:
            if task_id in group.ids:
                return group.level_of(task_id)
        return None

    def __getitem__(self, task_id: TaskId) -> Verdict:
        if task_id not in self._made:
            group = next((group for group in self._groups if task_id in group.ids), None)
            if group is None:
                raise KeyError(task_id)
            self._made[task_id] = group.verdict(task_id)
        return self._made[task_id]

    def __iter__(self) -> Iterator[TaskId]:
        for group in self._groups:
            yield from group.ids

    def __len__(self) -> int:
        return sum(len(group.ids) for group in self._groups)

    def __repr__(self) -> str:
        return f"Verdicts({dict(self)!r})"
