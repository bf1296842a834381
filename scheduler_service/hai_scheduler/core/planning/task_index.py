"""An index of the unfinished tasks of one node group, kept from plan to plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from heapq import heappop, heappush
from operator import itemgetter
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.rules import Rules
from hai_scheduler.core.ordering.task_buckets import BucketKey, RequestShape, TaskBucket, shape_of
from hai_scheduler.core.ordering.turns import Turn, TurnFacts, facts_of, turn_at


class _Bin(NamedTuple):
    """Where a task waits: by the priority that it asks for. AUTO tasks (None) by their size too: it decides (Q4)."""

    asked: Priority | None
    shape: RequestShape | None


class _Place(NamedTuple):
    """The bin and the bucket of a waiting task."""

    bin: _Bin
    bucket_key: BucketKey


class _Rise(NamedTuple):
    """When time alone may change the precedence of a task; the next to come sorts first."""

    at: datetime
    task_id: TaskId


_QUEUED, _SUSPENDED = TaskState.QUEUED, TaskState.SUSPENDED


class TaskIndex:
    """The unfinished tasks of one node group: held, waiting or running."""

    def __init__(self) -> None:
        self.held: dict[TaskId, Task] = {}
        #: Tasks that wait for a turn.
        self.waiting: dict[TaskId, Task] = {}
        #: Waiting tasks that each plan has to examine: they have been promised nodes (B3), or avoid nodes (F3).
        self.special: dict[TaskId, Task] = {}
        #: All other waiting tasks. Parts and mappings are replaced, never changed: verdicts of earlier plans use them.
        self._bins: dict[_Bin, dict[BucketKey, TaskBucket]] = {}
        self._places: dict[TaskId, _Place] = {}
        self._come: list[Task] = []
        self._gone: list[Task] = []
        #: When time alone may change the precedences of tasks; tasks that have gone since may still be here.
        self._rises: list[_Rise] = []
        self._live: dict[TaskId, Task] = {}
        self._begun: list[Task] = []
        self._spans: dict[TaskId, TurnFacts] = {}
        self._node_group = NodeGroup(())

    def __bool__(self) -> bool:
        return bool(self._live or self.held or self.waiting)

    def add(self, task: Task) -> None:
        """Add a task to the index."""
        if task.state is not _QUEUED and task.state is not _SUSPENDED:
            self._live[task.id] = task
            self._begun.append(task)
        elif task.held:
            self.held[task.id] = task
        else:
            self.waiting[task.id] = task
            if task.promise or task.avoid:
                self.special[task.id] = task
            else:
                self._come.append(task)

    def remove(self, task: Task) -> None:
        """Remove a task; a newer version of it may be added afterwards."""
        if self._live.pop(task.id, None) is not None:
            self._spans.pop(task.id, None)
        elif self.held.pop(task.id, None) is None:
            del self.waiting[task.id]
            if self.special.pop(task.id, None) is None:
                self._gone.append(task)

    # -- who holds nodes --------------------------------------------------------------------------

    def turns(self, policy: Policy, now: datetime, node_group: NodeGroup) -> dict[TaskId, Turn]:
        """Return the turns of the running tasks, by id, in order of id. The policy must be that of earlier calls.

        `Memory` begins with a new index when the policy changes.
        """
        begun = self._begun
        if node_group is not self._node_group:
            begun = list(self._live.values())
            self._spans.clear()
        for task in begun:
            run = task.live_run
            if run is not None and self._live.get(task.id) is task:
                self._spans[task.id] = facts_of(task, run, policy, node_group)
        self._node_group, self._begun = node_group, []
        return {task_id: turn_at(span, now) for task_id, span in sorted(self._spans.items(), key=itemgetter(0))}

    # -- who waits --------------------------------------------------------------------------------

    def plain(self, level: Priority, without: AbstractSet[str] = frozenset()) -> Mapping[BucketKey, TaskBucket]:
        """Return the waiting tasks that ask for the priority, without the special ones and those of some users."""
        found = self._bins.get(_Bin(level, None), {})
        return {key: bucket for key, bucket in found.items() if key[1] not in without} if without else found

    def asked_by(self, users: AbstractSet[str]) -> Iterator[tuple[BucketKey, TaskBucket]]:
        """Yield the tasks of these users that ask for a priority, without the special ones."""
        for (level, _), buckets in self._bins.items() if users else ():
            if level is not None:
                yield from ((key, bucket) for key, bucket in buckets.items() if key[1] in users)

    def auto(self) -> Iterator[tuple[BucketKey, TaskBucket]]:
        """Yield the AUTO tasks without the special ones. All tasks of a part get the same priority (Q4)."""
        for (level, _), buckets in self._bins.items():
            if level is None:
                yield from buckets.items()

    def users(self) -> set[str]:
        """Return the users who have waiting tasks."""
        users = {user for buckets in self._bins.values() for _, user in buckets}
        return users | {task.user for task in self.special.values()}

    def line_up(self, rules: Rules) -> None:
        """Bring the order up to date: add new tasks, remove those that are gone, move those of a new precedence."""
        moved = self._risen(rules)
        lost: defaultdict[_Place, list[Task]] = defaultdict(list)
        for task in (*self._gone, *moved):
            lost[self._places.pop(task.id)].append(task)
        come = [*self._come, *moved]
        found: defaultdict[_Place, list[Task]] = defaultdict(list)
        for precedence, task in zip(rules.precedences(come), come, strict=True):
            level = task.priority
            place = _Place(_Bin(level, shape_of(task) if level is None else None), (precedence, task.user))
            self._places[task.id] = place
            found[place].append(task)
            if precedence and (until := rules.precedence_until(task)) is not None:
                heappush(self._rises, _Rise(until, task.id))
        changed = lost.keys() | found.keys()
        self._bins |= {key: dict(self._bins.get(key, {})) for key in {place.bin for place in changed}}
        for place in changed:
            self._change(place, lost.get(place, ()), found.get(place, ()))
        self._come, self._gone = [], []

    def _risen(self, rules: Rules) -> list[Task]:
        """Return the tasks already in the order whose precedence may have changed since the last plan."""
        risen: set[TaskId] = set()
        while self._rises and self._rises[0].at < rules.now:
            risen.add(heappop(self._rises).task_id)
        if rules.volatile:
            risen |= self._places.keys()
        risen -= {task.id for task in self._gone}
        return [self.waiting[task_id] for task_id in risen if task_id in self._places]

    def _change(self, place: _Place, lost: Collection[Task], found: Collection[Task]) -> None:
        buckets = self._bins[place.bin]
        before = buckets.pop(place.bucket_key, None)
        after = TaskBucket(found) if before is None else before.changed(lost, found)
        if after is not None:
            buckets[place.bucket_key] = after
