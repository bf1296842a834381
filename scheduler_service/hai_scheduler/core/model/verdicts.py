"""Verdicts: why a task waits, as data. `explain` turns a verdict into a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task

#: A value in the data of a verdict.
Value = str | int | float | bool | None | datetime


class VerdictKind(StrEnum):
    """What a task waits for (docs/scheduling.md, "Why is it waiting?")."""

    #: The quota of its user is in use. data: subject, limit, used.
    QUOTA = "QUOTA"
    #: Tasks that may not be suspended for it hold the nodes. data: needs, free; unsaved, unsaved_runs: a task that is
    #: not suspended for an equal because nothing shows that it saves (P8), and how often in a row that was so. Where
    #: a task waits for nodes, also crowded, crowd: how many carry pods from outside of HAI, and whose these are (F5).
    CAPACITY = "CAPACITY"
    #: Equals hold the nodes until the end of their turns. data: needs, free, until.
    TURN = "TURN"
    #: Free nodes are reserved for an earlier task (B1). data: needs, free, until; holders: that task.
    RESERVED = "RESERVED"
    #: Nodes are being freed for it. data: needs, free, coming, deadline.
    DRAINING = "DRAINING"
    #: Enough nodes are free, but in different zones (F2). data: needs, free, together.
    TOPOLOGY = "TOPOLOGY"
    #: The command failed (H2), or the task could not be started; it is started again later. data: until, retries, of;
    #: after a start that failed: until, starts, of, why; after a killed supervisor: until, starts, of, broken.
    RETRY = "RETRY"
    #: The owner of the task holds it.
    HELD = "HELD"
    #: The platform is paused.
    PAUSED = "PAUSED"
    #: The task can never start with these nodes and this quota. data: needs, cap, cause.
    NEVER = "NEVER"
    #: The task has been given nodes and starts now, or was submitted since the last tick.
    NEXT = "NEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A task that holds nodes which another task needs."""

    task_id: TaskId
    name: str
    user: str
    priority: Priority
    nodes: int
    #: How many GPUs the task holds on each node; None is whole nodes (U2).
    gpus: int | None = None

    @classmethod
    def of(cls, task: Task, priority: Priority, nodes: int) -> Holder:
        """Return the holder for a task that holds this many nodes at this priority."""
        return cls(task_id=task.id, name=task.name, user=task.user, priority=priority, nodes=nodes, gpus=task.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why one task waits."""

    kind: VerdictKind
    #: The effective priority of the task (O4, Q4).
    priority: Priority
    #: The place of the task among the waiting tasks of its node group, from 1; None while it is held.
    position: int | None = None
    #: The earliest time at which the task can start, if that can be said.
    earliest_start: datetime | None = None
    data: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    #: The tasks that hold the nodes it needs, most nodes first.
    holders: tuple[Holder, ...] = ()


class VerdictSource(Protocol):
    """An object that can say why the tasks of a node group wait."""

    @property
    def ids(self) -> Collection[TaskId]:
        """Ids of the tasks that wait."""
        ...

    @property
    def group(self) -> str:
        """The name of the node group."""
        ...

    @property
    def held(self) -> int:
        """How many of the tasks are held by their owners."""
        ...

    def in_order(self, after: int = 0) -> Iterator[tuple[int, Task]]:
        """Yield number and task of the tasks that wait, in the order of the queue, from the number `after` on.

        The numbers are positions; those of held tasks, which come last, go on from there.
        """
        ...

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        """Return what a task waits for. Raises KeyError if the task does not wait."""
        ...

    def level_of(self, task_id: TaskId) -> Priority:
        """Return the effective priority of a task (Q4). Raises KeyError if the task does not wait."""
        ...

    def verdict(self, task_id: TaskId) -> Verdict:
        """Return the whole verdict of a task. Raises KeyError if the task does not wait."""
        ...


class Verdicts(Mapping[TaskId, Verdict]):
    """The verdicts of a plan, by task id. A verdict is computed when it is first read: most are never read."""

    def __init__(self, groups: Sequence[VerdictSource] = ()) -> None:
        """Join the verdicts of all node groups; each of `groups` answers for the tasks of one node group."""
        self._groups = groups
        self._made: dict[TaskId, Verdict] = {}

    @property
    def groups(self) -> Sequence[VerdictSource]:
        """The verdicts of each node group, as they were given."""
        return self._groups

    def kind_of(self, task_id: TaskId) -> VerdictKind | None:
        """Return what the task waits for, without computing the whole verdict; None if the task does not wait."""
        for group in self._groups:
            if task_id in group.ids:
                return group.kind_of(task_id)
        return None

    def level_of(self, task_id: TaskId) -> Priority | None:
        """Return the effective priority of the task (Q4) without its whole verdict; None if the task does not wait."""
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
