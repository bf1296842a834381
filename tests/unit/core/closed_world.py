"""A closed world in virtual time: a finite set of tasks, `plan` and `advance`, and nothing else.

It plans whenever something has happened, whenever the last plan said so, and at regular times besides.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Event, Promised, RanksSeen, Saved, Started
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Keep, Start, Stop, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, RankState, Run
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdicts
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.usage import with_run
from hai_scheduler.core.planning.plan import plan


@dataclass(frozen=True, slots=True)
class Told:
    """A task was told to leave."""

    at: datetime
    task_id: TaskId
    reason: Reason
    beneficiary: TaskId | None
    #: How long its turn had lasted.
    after: timedelta


@dataclass(frozen=True, slots=True)
class Wait:
    """A task waited from then until its start, or it still does."""

    task_id: TaskId
    since: datetime
    until: datetime
    started: bool = True

    @property
    def length(self) -> timedelta:
        """How long the task waited."""
        return self.until - self.since


@dataclass(slots=True)
class World:
    """The cluster, its tasks, and what has happened. `starts_in` and `leaves_in` say what a switch costs a task."""

    nodes: tuple[Node, ...]
    now: datetime
    policy: Policy = field(default_factory=Policy)
    quotas: tuple[Quota, ...] = ()
    discipline: Discipline = Discipline.HAI
    starts_in: timedelta = timedelta(0)
    #: Whether tasks save when they leave.
    saves: bool = True
    leaves_in: Callable[[Task], timedelta] = lambda task: timedelta(0)
    #: Plan at least this often.
    every: timedelta = timedelta(minutes=10)
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    uses: dict[str, Usage] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    plans: int = 0
    verdicts: Verdicts = field(default_factory=Verdicts)
    _agenda: list[tuple[datetime, int, Callable[[], None]]] = field(default_factory=list)
    _ticket: Iterable[int] = field(default_factory=count)

    def submit(self, *tasks: Task) -> None:
        """Submit tasks now or, where `submitted_at` is later, at that time."""
        for task in tasks:
            self._at(task.submitted_at, lambda task=task: self._put(task))

    def run(self, length: timedelta) -> World:
        """Let `length` pass; returns the world."""
        until = self.now + length
        while self.now <= until:
            while self._agenda and self._agenda[0][0] <= self.now:
                heapq.heappop(self._agenda)[2]()
            later = self._plan()
            times = [self.now + self.every, *(when for when, _, _ in self._agenda[:1])]
            times += [later] if later is not None else []
            self.now = max(min(times), self.now)
        return self

    def still_waiting(self) -> list[Wait]:
        """The waits that have not ended yet."""
        waiting = [task for task in self.tasks.values() if task.state.waiting]
        return [Wait(task.id, task.waiting_since, self.now, started=False) for task in waiting]

    def snapshot(self) -> Snapshot:
        """The snapshot of the present moment."""
        quotas = self.quotas or tuple(
            Quota(subject="public", group="training", priority=level, limit=None) for level in Priority
        )
        return Snapshot(
            now=self.now,
            nodes=self.nodes,
            tasks=tuple(self.tasks.values()),
            quotas=quotas,
            uses=tuple(self.uses.values()),
        )

    # -- inside -----------------------------------------------------------------------------------

    def _at(self, when: datetime, what: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (when, next(self._ticket), what))

    def _put(self, task: Task) -> None:
        self.tasks[task.id] = task

    def _plan(self) -> datetime | None:
        """Plan until a plan decides nothing; returns when to plan again, None for never."""
        for _ in range(10):
            shot = self.snapshot()
            shot.check()
            made = plan(shot, self.policy, self.discipline)
            self.plans += 1
            self.verdicts = made.verdicts
            for decision in made.decisions:
                self._carry_out(decision)
            if not made.decisions:
                return made.look_again
            while self._agenda and self._agenda[0][0] <= self.now:
                heapq.heappop(self._agenda)[2]()
        raise AssertionError(f"at {self.now} the plan never comes to rest: {made.decisions}")

    def _carry_out(self, decision: object) -> None:
        match decision:
            case Start():
                task = self.tasks[decision.task_id]
                self.waits.append(Wait(task.id, task.waiting_since, self.now))
                fields = {"nodes": decision.nodes, "priority": decision.priority, "gpus": decision.gpus}
                run = self._tell(decision.task_id, Started(at=self.now, **fields))
                self._at(self.now + self.starts_in, lambda: self._seen(run, RankState.RUNNING))
            case Suspend():
                task = self.tasks[decision.task_id]
                assert task.run is not None
                after = self.now - task.run.turn_start
                self.told.append(Told(self.now, task.id, decision.reason, decision.beneficiary, after))
                wish = AskedToSuspend(at=self.now, reason=decision.reason, beneficiary=decision.beneficiary)
                run = self._tell(task.id, wish)
                self._at(self.now + self.leaves_in(task), lambda: self._seen(run, RankState.EXITED))
            case Keep():
                self._tell(decision.task_id, Promised(at=self.now, nodes=decision.nodes))
            case Stop():
                run = self._tell(decision.task_id, AskedToStop(at=self.now, reason=decision.reason))
                self._at(self.now, lambda: self._seen(run, RankState.EXITED))

    def _tell(self, task_id: TaskId, event: Event) -> Run:
        task, _ = advance(self.tasks[task_id], event)
        self.tasks[task_id] = task
        assert task.run is not None or isinstance(event, Promised)
        return task.run

    def _seen(self, run: Run, state: RankState) -> None:
        task = next(task for task in self.tasks.values() if task.run is not None and task.run.id == run.id)
        assert task.run is not None
        if not task.run.live or (state is RankState.RUNNING and task.run.running_at):
            return
        if state is RankState.EXITED and self.saves:
            task, _ = advance(task, Saved(at=self.now, checkpoint=Checkpoint(at=self.now)))
            assert task.run is not None
        code = 0 if state is RankState.EXITED else None
        ranks = tuple(replace(rank, state=state, exit_code=code) for rank in task.run.ranks)
        task, _ = advance(task, RanksSeen(at=self.now, ranks=ranks))
        self.tasks[task.id] = task
        if task.run is not None and not task.run.live:
            half = self.policy.half_life
            use = with_run(self.uses.get(task.user), task, task.run, gpus_per_node=self._most_gpus(), half_life=half)
            self.uses[task.user] = use
        if task.state.ended:
            del self.tasks[task.id]

    def _most_gpus(self) -> int:
        return max(node.gpus for node in self.nodes)
