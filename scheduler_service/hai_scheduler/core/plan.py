"""`plan(snapshot, policy) -> Plan`: who starts, who leaves, and why everybody else waits.

The same function runs in production, in simulations and in tests. It reads as the rules of
docs/scheduling.md, group by group (U3): first what must leave anyway, then what was promised, then the queue.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hai_scheduler.core.ledger import Ledger
from hai_scheduler.core.model import NodeMark, Priority, Run, Task, TaskId, TaskState
from hai_scheduler.core.order import QueueKey, places, queue_key
from hai_scheduler.core.placement import place
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.preemption import Victim, candidates, choose_victims, turn_ends
from hai_scheduler.core.quota import QuotaBook, QuotaUse, level_of
from hai_scheduler.core.reasons import Reason
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.core.verdicts import Holder, Value, Verdict, VerdictKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Give the task these nodes (rank order) for a turn at this effective priority."""

    task_id: TaskId
    nodes: tuple[str, ...]
    priority: Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Tell the task's run to leave; it will have its turn again."""

    task_id: TaskId
    reason: Reason
    beneficiary: TaskId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Keep these nodes for a waiting task that others are told to leave for (B3)."""

    task_id: TaskId
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Tell the task's run to leave for good."""

    task_id: TaskId
    reason: Reason


Decision = Start | Suspend | Keep | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now, and why each other waiting task waits."""

    decisions: tuple[Decision, ...]
    verdicts: Mapping[TaskId, Verdict]


def plan(snapshot: Snapshot, policy: Policy) -> Plan:
    """Decide. Pure: equal snapshots give equal plans, whatever the order of their parts (F4)."""
    book = QuotaBook(snapshot.quotas, snapshot.groups_of)
    groups = sorted({n.group for n in snapshot.nodes} | {t.group for t in snapshot.tasks})
    decisions: list[Decision] = []
    verdicts: dict[TaskId, Verdict] = {}
    by_group: defaultdict[str, list[Task]] = defaultdict(list)
    for task in sorted(snapshot.tasks, key=lambda task: task.id):
        by_group[task.group].append(task)
    for group in groups:
        part = _GroupPlan(snapshot, policy, book, group, by_group[group])
        part.run()
        decisions += part.decisions
        verdicts |= part.verdicts
    return Plan(decisions=tuple(decisions), verdicts=verdicts)


@dataclass(slots=True)
class _Waiting:
    """A waiting task on its way through the queue."""

    task: Task
    priority: Priority
    position: int = 0


@dataclass(slots=True)
class _GroupPlan:
    """The plan of one node group in the making."""

    snapshot: Snapshot
    policy: Policy
    book: QuotaBook
    group: str
    tasks: Sequence[Task]
    decisions: list[Decision] = field(default_factory=list)
    verdicts: dict[TaskId, Verdict] = field(default_factory=dict)
    use: QuotaUse = field(default_factory=QuotaUse)
    #: Quota that is set aside for tasks with a promise, by task.
    reserved: dict[TaskId, Priority] = field(default_factory=dict)
    #: Who may still be asked to leave.
    live: dict[TaskId, Task] = field(init=False)
    ledger: Ledger = field(init=False)
    #: Where each waiting task stands among its level.
    seats: dict[TaskId, tuple[datetime, TaskId]] = field(init=False)

    def run(self) -> None:
        """Fill `decisions` and `verdicts`."""
        nodes = [node for node in self.snapshot.nodes if node.group == self.group]
        self.live = {task.id: task for task in self.tasks if task.state.live}
        self.ledger = Ledger(nodes, self.live.values())
        for task in self.live.values():
            if task.live_run is not None:
                self.use.add(task.user, self.group, task.live_run.priority, task.nodes)  # Q6
        self._end_what_must_end()
        waiting = [task for task in self.tasks if task.state.waiting]
        for task in waiting:
            if task.held:
                self.verdicts[task.id] = Verdict(kind=VerdictKind.HELD, priority=self._level(task))
        self.seats = places(task for task in waiting if not task.held)
        ready = [task for task in waiting if not task.held]
        if not self.snapshot.paused:
            self._keep_promises(ready)
        self._serve(ready)

    # -- what must leave anyway -------------------------------------------------------------------

    def _end_what_must_end(self) -> None:
        draining = {node.name for node in self.ledger.nodes.values() if node.mark is NodeMark.DRAINING}
        for task in list(self.live.values()):
            run = task.live_run
            if run is None:
                continue
            if self._overtime(task) and task.state is not TaskState.STOPPING:
                self.decisions.append(Stop(task_id=task.id, reason=Reason.TIME_LIMIT))
            elif self.snapshot.paused and self._stays_too_long(run):
                self.decisions.append(Suspend(task_id=task.id, reason=Reason.PAUSED))
            elif run.notice is None and draining.intersection(run.nodes):
                self.decisions.append(Suspend(task_id=task.id, reason=Reason.DRAINED))
            else:
                continue
            self._is_leaving(task)

    def _stays_too_long(self, run: Run) -> bool:
        """Whether a pause has to tell the run to leave, or to leave sooner than it was told."""
        if run.notice is None:
            return True
        grace = self.snapshot.pause_grace
        return grace is not None and run.notice.deadline > self.snapshot.now + grace

    def _overtime(self, task: Task) -> bool:
        run = task.live_run
        if task.time_limit is None or run is None or run.running_at is None:
            return False
        return task.served + (self.snapshot.now - run.running_at) >= task.time_limit

    def _is_leaving(self, task: Task) -> None:
        self.ledger.leave(task)
        self.live.pop(task.id)  # no victim any more

    # -- promises (B3) ----------------------------------------------------------------------------

    def _level(self, task: Task) -> Priority:
        return level_of(self.book, self.use, task.user, self.group, task.priority, task.nodes)

    def _in_quota(self, task: Task, priority: Priority) -> bool:
        used = self.use.used(task.user, self.group, priority)
        return self.book.cap(task.user, self.group, priority).allows(used + task.nodes)

    def _keep_promises(self, ready: Sequence[Task]) -> None:
        """Keep nodes and quota for tasks that others have been told to leave for.

        A promise lapses when it cannot be kept whole any more, so that no node idles for nothing.
        """
        promised = sorted(
            (task for task in ready if task.promise),
            key=lambda task: queue_key(self._level(task), self.seats[task.id]),
        )
        for task in promised:
            priority = self._level(task)
            if self._in_quota(task, priority) and self._reserve(task, priority):
                self._set_quota_aside(task, priority)

    def _reserve(self, task: Task, priority: Priority) -> bool:
        """Promise as many nodes as the task needs: those promised before, others being freed, free ones."""
        coming = self.ledger.coming_for(task, priority)
        free = self.ledger.free_for(task, priority)
        own = sorted(name for name in (*coming, *free) if name in task.promise)
        names = [*own, *(name for name in (*coming, *free) if name not in task.promise)][: task.nodes]
        if len(names) < task.nodes:
            return False
        self.ledger.promise(names, task.id, priority)
        return True

    def _set_quota_aside(self, task: Task, priority: Priority) -> None:
        self.use.add(task.user, self.group, priority, task.nodes)
        self.reserved[task.id] = priority

    def _give_quota_back(self, task: Task) -> None:
        priority = self.reserved.pop(task.id, None)
        if priority is not None:
            self.use.add(task.user, self.group, priority, -task.nodes)

    # -- the queue (O1, Q4) -----------------------------------------------------------------------

    def _serve(self, ready: Sequence[Task]) -> None:
        heap: list[tuple[QueueKey, TaskId]] = []
        by_id = {task.id: task for task in ready}
        for task in ready:
            priority = self.reserved.get(task.id, self._level(task))
            heap.append((queue_key(priority, self.seats[task.id]), task.id))
        heapq.heapify(heap)
        position = 0
        while heap:
            key, task_id = heapq.heappop(heap)
            task = by_id[task_id]
            self._give_quota_back(task)
            priority = self._level(task)
            if -priority > key[0]:  # AUTO: its level was used up meanwhile; it queues again, lower (Q4)
                heapq.heappush(heap, (queue_key(priority, self.seats[task_id]), task_id))
                continue
            position += 1
            self._consider(_Waiting(task, priority, position))

    def _consider(self, waiting: _Waiting) -> None:
        """Start it, free nodes for it, or say why not."""
        task, priority = waiting.task, waiting.priority
        cap = self.book.cap(task.user, self.group, priority)
        total = len(self.ledger.nodes)
        if task.nodes > total:
            self._wait(waiting, VerdictKind.NEVER, needs=task.nodes, cap=total, cause="group")
        elif not cap.allows(task.nodes):
            self._wait(waiting, VerdictKind.NEVER, needs=task.nodes, cap=cap.limit, cause=cap.source)
        elif self.snapshot.paused:
            self._wait(waiting, VerdictKind.PAUSED)
        elif not self._in_quota(task, priority):
            used = self.use.used(task.user, self.group, priority)
            self._wait(waiting, VerdictKind.QUOTA, needs=task.nodes, subject=cap.source, limit=cap.limit, used=used)
        else:
            self._seat(waiting)

    def _seat(self, waiting: _Waiting) -> None:
        task, priority = waiting.task, waiting.priority
        free = self.ledger.free_for(task, priority)
        names = place(free, task.nodes)
        if names is not None:
            self.ledger.take(names)
            self.use.add(task.user, self.group, priority, task.nodes)
            self.decisions.append(Start(task_id=task.id, nodes=names, priority=priority))
            return
        coming = self.ledger.coming_for(task, priority)
        need = task.nodes - len(free) - len(coming)
        if need > 0:
            able = candidates(self.live.values(), task, priority, self.ledger, self.policy, self.snapshot.now)
            victims = choose_victims(able, need, self.snapshot.now)
            if victims is None:
                self._wait_for_capacity(waiting, len(free), len(coming), able)
                return
            self._suspend_for(task, victims, priority)
        else:
            self._reserve(task, priority)
        self._set_quota_aside(task, priority)
        deadline = self._deadline(task)
        self._wait(
            waiting,
            VerdictKind.DRAINING,
            earliest=deadline,
            holders=self._leaving_holders(task),
            needs=task.nodes,
            free=len(free),
            coming=task.nodes - min(task.nodes, len(free)),
            deadline=deadline,
        )

    def _suspend_for(self, task: Task, victims: Sequence[Victim], priority: Priority) -> None:
        free = self.ledger.free_for(task, priority)
        coming = self.ledger.coming_for(task, priority)
        for victim in victims:
            self.decisions.append(Suspend(task_id=victim.task.id, reason=victim.reason, beneficiary=task.id))
            self._is_leaving(victim.task)
        freed = sorted(name for victim in victims for name in victim.usable)
        names = [*freed, *coming, *free][: task.nodes]
        self.ledger.promise(names, task.id, priority)
        self.decisions.append(Keep(task_id=task.id, nodes=frozenset(names)))

    # -- verdicts ---------------------------------------------------------------------------------

    def _wait(
        self,
        waiting: _Waiting,
        kind: VerdictKind,
        *,
        earliest: datetime | None = None,
        holders: tuple[Holder, ...] = (),
        **data: Value,
    ) -> None:
        self.verdicts[waiting.task.id] = Verdict(
            kind=kind,
            priority=waiting.priority,
            position=waiting.position,
            earliest_start=earliest,
            data=data,
            holders=holders,
        )

    def _deadline(self, task: Task) -> datetime | None:
        """The latest moment by which the nodes promised to the task are to be free, as far as is known."""
        deadlines = [
            run.notice.deadline
            for name in self.ledger.promised_to(task.id)
            if (leaving := self.ledger.leaving_of(name)) and (run := leaving.live_run) and run.notice
        ]
        fresh = [
            self.snapshot.now + victim.grace
            for name in self.ledger.promised_to(task.id)
            if (victim := self.ledger.leaving_of(name)) and (run := victim.live_run) and not run.notice
        ]
        return max([*deadlines, *fresh], default=None)

    def _leaving_holders(self, task: Task) -> tuple[Holder, ...]:
        seen: dict[TaskId, Task] = {}
        for name in self.ledger.promised_to(task.id):
            leaving = self.ledger.leaving_of(name)
            if leaving is not None:
                seen[leaving.id] = leaving
        return _holders(seen.values())

    def _wait_for_capacity(self, waiting: _Waiting, free: int, coming: int, able: Sequence[Victim]) -> None:
        task, priority = waiting.task, waiting.priority
        open_now = free + coming
        until = self._turns_end(task, priority, task.nodes - free - coming, able)
        holders = _holders(self.live.values())
        if until is None:
            self._wait(waiting, VerdictKind.CAPACITY, holders=holders, needs=task.nodes, free=open_now)
        else:
            self._wait(
                waiting,
                VerdictKind.TURN,
                earliest=until,
                holders=tuple(holder for holder in holders if holder.priority == priority),
                needs=task.nodes,
                free=open_now,
                until=until,
            )

    def _turns_end(self, task: Task, priority: Priority, need: int, able: Sequence[Victim]) -> datetime | None:
        """When enough turns of equals are over for the task to start, if nothing else changes (P2)."""
        got = sum(len(victim.usable) for victim in able)
        counted = {victim.task.id for victim in able}
        ends: list[tuple[datetime, int]] = []
        for other in self.live.values():
            run = other.live_run
            if run is None or other.id in counted or other.user == task.user:
                continue
            if run.priority == priority and run.notice is None:
                ends.append((turn_ends(run, self.policy), len(self.ledger.usable(task, run.nodes))))
        for when, nodes in sorted(ends):
            got += nodes
            if got >= need:
                return when
        return None


def _holders(tasks: Iterable[Task]) -> tuple[Holder, ...]:
    found = [
        Holder(
            task_id=task.id,
            name=task.name,
            user=task.user,
            priority=task.live_run.priority,
            nodes=len(task.live_run.nodes),
        )
        for task in tasks
        if task.live_run is not None
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.nodes, holder.task_id)))
