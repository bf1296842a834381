"""A busy cluster in virtual time, without I/O: plans are carried out, turns begin and end, tasks come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Event, Promised, RanksSeen, Saved, Started
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.run import Checkpoint, RankState
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.ordering.usage import with_run
from kit.seeded_clusters import GPUS, Maker, Shape

Planner = Callable[[Snapshot], Plan]

#: How many tasks end in a measured second on average; as many save, and as many arrive. A cluster of
#: 500 nodes whose tasks hold them for 5 minutes each would be as busy; larger ones are in proportion.
CHANGES = 1.0
#: Time from the order until every rank is up, and from the notice until every rank is gone.
STARTING = timedelta(seconds=5)
LEAVING = timedelta(seconds=20)
#: The turns of a filled cluster have lasted up to this long.
OLDEST_TURN = timedelta(minutes=75)
WARM_UP_STEP = timedelta(minutes=2)


class World:
    """One node group in a steady state."""

    def __init__(self, shape: Shape, seed: int = 0, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self._maker = Maker(shape, seed)
        self._rng = self._maker.rng
        made = self._maker.snapshot()
        self._made = made
        self.now: datetime = made.now
        self.nodes = {node.name: node for node in made.nodes}
        self.tasks: dict[TaskId, Task] = {task.id: task for task in made.tasks}
        self._uses = {use.user: use for use in made.uses}

    def snapshot(self) -> Snapshot:
        """The snapshot of the present moment."""
        return replace(
            self._made,
            now=self.now,
            nodes=tuple(self.nodes.values()),
            tasks=tuple(self.tasks.values()),
            uses=tuple(self._uses.values()),
        )

    # -- to a steady state ------------------------------------------------------------------------

    def fill(self, planner: Planner) -> None:
        """Start what the planner starts on the empty cluster, with turns of all ages."""
        self.carry_out(planner(self.snapshot()))
        for task in list(self.tasks.values()):
            if task.state is TaskState.STARTING:
                self._age(task)

    def _age(self, task: Task) -> None:
        began = self.now - OLDEST_TURN * self._rng.random()
        started = replace(task, submitted_at=min(task.submitted_at, began))
        assert started.run is not None
        started = replace(started, run=replace(started.run, started_at=began))
        up = self._seen(started, RankState.RUNNING, None, began)
        if self._rng.random() < 0.7:
            up = self._save(up, began + (self.now - began) * self._rng.random())
        self.tasks[task.id] = up

    def settle(self, planner: Planner, rounds: int = 8) -> int:
        """Plan and carry out, without letting time pass, until a plan decides nothing.

        Tasks that must leave are gone at once. Returns how many plans decided something.
        """
        for number in range(rounds):
            made = planner(self.snapshot())
            if not made.decisions:
                return number
            self.carry_out(made)
            self._happen(at_once=True)
        return rounds

    def warm_up(self, planner: Planner, steps: int) -> None:
        """Let time pass in large steps with many changes, so that the ages of turns follow from the planner."""
        for _ in range(steps):
            self.now += WARM_UP_STEP
            self.change(CHANGES * 8)
            self._happen(at_once=True)
            self.carry_out(planner(self.snapshot()))
        self.settle(planner)

    # -- one round --------------------------------------------------------------------------------

    def step(self) -> None:
        """Let a second pass."""
        self.now += timedelta(seconds=1)
        self._happen(at_once=False)
        self.change(CHANGES)

    def change(self, mean: float) -> None:
        """Let `mean` running tasks end on average, as many save, and as many arrive."""
        running = [task for task in self.tasks.values() if task.state is TaskState.RUNNING]
        for task in self._rng.sample(running, min(self._number(mean), len(running))):
            self._put(self._seen(task, RankState.EXITED, 0, self.now))
        for task in self._rng.sample(running, min(self._number(mean), len(running))):
            if task.id in self.tasks:
                self._put(self._save(task, self.now))
        for _ in range(self._number(mean)):
            self._put(self._maker.arriving(self.now))

    def _number(self, mean: float) -> int:
        """A random number with the Poisson distribution of this mean."""
        count, waited = 0, self._rng.expovariate(mean)
        while waited < 1:
            count, waited = count + 1, waited + self._rng.expovariate(mean)
        return count

    def _happen(self, *, at_once: bool) -> None:
        """Let starting tasks be up and leaving tasks be gone, when it is time."""
        for task in list(self.tasks.values()):
            run = task.live_run
            if run is None:
                continue
            if task.state is TaskState.STARTING and (at_once or self.now >= run.started_at + STARTING):
                self._put(self._seen(task, RankState.RUNNING, None, self.now))
            elif run.notice is not None and (at_once or self.now >= run.notice.at + LEAVING):
                saved = self._save(task, self.now)
                self._put(self._seen(saved, RankState.EXITED, 143, self.now))

    def carry_out(self, made: Plan) -> None:
        """Apply the decisions of a plan to the tasks."""
        for decision in made.decisions:
            if isinstance(decision, Quarantine):
                self.nodes[decision.node] = replace(self.nodes[decision.node], mark=NodeMark.QUARANTINED)
                continue
            self._put(advance(self.tasks[decision.task_id], _event_of(decision, self.now))[0])

    def _seen(self, task: Task, state: RankState, code: int | None, at: datetime) -> Task:
        assert task.run is not None
        ranks = tuple(replace(rank, state=state, exit_code=code) for rank in task.run.ranks)
        return advance(task, RanksSeen(at=at, ranks=ranks))[0]

    def _save(self, task: Task, at: datetime) -> Task:
        return advance(task, Saved(at=at, checkpoint=Checkpoint(at=at, step=1)))[0]

    def _put(self, task: Task) -> None:
        before = self.tasks.get(task.id)
        if before is not None and before.live_run is not None and task.live_run is None:
            self._uses[task.user] = self._used(task)
        if task.state.ended:
            del self.tasks[task.id]
        else:
            self.tasks[task.id] = task

    def _used(self, task: Task) -> Usage:
        assert task.run is not None
        use = self._uses.get(task.user)
        return with_run(use, task, task.run, gpus_per_node=GPUS, half_life=self.policy.half_life)


def _event_of(decision: Start | Suspend | Keep | Stop, now: datetime) -> Event:
    match decision:
        case Start():
            return Started(at=now, nodes=decision.nodes, priority=decision.priority, gpus=decision.gpus)
        case Suspend():
            return AskedToSuspend(at=now, reason=decision.reason, beneficiary=decision.beneficiary)
        case Keep():
            return Promised(at=now, nodes=decision.nodes)
        case Stop():
            return AskedToStop(at=now, reason=decision.reason)


def live(tasks: Iterable[Task]) -> int:
    """The number of tasks that hold nodes."""
    return sum(task.state.live for task in tasks)
