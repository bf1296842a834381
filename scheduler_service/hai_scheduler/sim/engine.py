"""The simulator's loop: virtual time, and the same core as in production.

`plan` decides and `advance` changes tasks, exactly as in the service; `SimulatedCluster` simulates the cluster and the
jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Promised, Started
from hai_scheduler.core.model.decisions import Decision, Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Strike
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Setting, SimulatedJob
from hai_scheduler.sim.simulated_cluster import SimulatedCluster

#: The most plans at one moment; if a further plan is needed, it is made at the next tick.
_MOST_ROUNDS = 12
#: After this many plans in which no task has ended, the simulation counts as stalled.
_MOST_IDLE_PLANS = 500_000
_KNOWING = (Discipline.SJF, Discipline.SRTF)


class Stalled(RuntimeError):
    """The plans keep changing which tasks run, and no task ever ends."""


class Engine:
    """A simulated cluster that moves from event to event in virtual time.

    Args:
        setting: The cluster, the rules and the costs.
        now: The virtual time at which it begins; plans are made at multiples of the tick after it.
        jobs: The jobs that are there at the beginning, and those that are submitted later.
        uses: Decayed use of users at the beginning (O3).
        strikes: Strikes against nodes at the beginning (H3).
        records: Where runs, tasks and plans are recorded; None: nowhere.
    """

    def __init__(
        self,
        setting: Setting,
        now: datetime,
        *,
        jobs: Iterable[SimulatedJob] = (),
        uses: Iterable[Usage] = (),
        strikes: Iterable[Strike] = (),
        records: Records | None = None,
    ) -> None:
        self.setting = setting
        #: The virtual time that the simulation has reached.
        self.now = now
        #: How many plans have been made.
        self.plans = 0
        self.last_plan: Plan | None = None
        #: When tasks were started for the first time in this simulation.
        self.starts: dict[TaskId, datetime] = {}
        self._begin = now
        self._look_again: datetime | None = None
        self._records = records
        self._agenda = EventQueue(now)
        self._stage = SimulatedCluster(setting, self._agenda, records)
        self._stage.uses = {(use.user, use.group): use for use in uses}
        self._stage.nodes.strikes = list(strikes)
        self._quotas = setting.rows_of_quota()
        self._idle_since = 0
        self._unfinished = 0
        self._cache = PlanCache()
        for job in jobs:
            self.add(job)

    @classmethod
    def of_snapshot(
        cls,
        snapshot: Snapshot,
        policies: Policy | Policies,
        *,
        jobs: Iterable[SimulatedJob] = (),
        tick: timedelta = timedelta(seconds=1),
    ) -> Engine:
        """Return an engine that begins with the cluster and the queue of a snapshot.

        Args:
            snapshot: The state at the beginning.
            policies: The policy numbers.
            jobs: How the tasks of the snapshot behave, and further, hypothetical jobs; a task of the snapshot without
                a job never ends.
            tick: The time between plans.
        """
        known = {job.task.id: job for job in jobs}
        setting = Setting(
            nodes=snapshot.nodes,
            policies=policies,
            quotas=snapshot.quotas,
            groups_of=snapshot.groups_of,
            counted_low=snapshot.counted_low,
            tick=tick,
            paused=snapshot.paused,
            pause_grace=snapshot.pause_grace,
        )
        engine = cls(setting, snapshot.now, uses=snapshot.uses, strikes=snapshot.strikes)
        for task in snapshot.tasks:
            engine.add(known.pop(task.id) if task.id in known else SimulatedJob(task=task, work=None))
        for job in known.values():
            engine.add(job)
        # Nodes may be draining in it: the first plan is made even if no task waits.
        engine._look_again = snapshot.now
        return engine

    def add(self, job: SimulatedJob) -> None:
        """Add a job; if its `submitted_at` is later than now, it is submitted then."""
        self._stage.expect(job)

    @property
    def tasks(self) -> dict[TaskId, Task]:
        """Every task that has been submitted and has not ended. Do not change the mapping."""
        return self._stage.occupancy.tasks

    @property
    def finished(self) -> bool:
        """Whether no further event will happen: all tasks have ended, or those that are left can never start."""
        return self._next() is None

    def snapshot(self) -> Snapshot:
        """Return the snapshot from which a plan would be made now."""
        stage = self._stage
        return Snapshot(
            now=self.now,
            nodes=tuple(stage.nodes.by_name.values()),
            tasks=tuple(stage.occupancy.tasks.values()),
            quotas=self._quotas,
            uses=tuple(stage.uses.values()),
            strikes=tuple(stage.nodes.strikes),
            groups_of=self.setting.groups_of,
            counted_low=self.setting.counted_low,
            remaining=self._remaining() if self.setting.discipline in _KNOWING else {},
            paused=self.setting.paused,
            pause_grace=self.setting.pause_grace,
        )

    def step(self) -> bool:
        """Go on to the next event, and make a plan if it is needed.

        Returns:
            False if no further event will happen.

        Raises:
            Stalled: Plan after plan is made, and no task ends.
        """
        at = self._next()
        if at is None:
            return False
        self._agenda.play(at)
        self.now = at
        if self._stage.occupancy.stirred or (self._look_again is not None and self._look_again <= at):
            self._settle()
        return True

    # -- time -------------------------------------------------------------------------------------

    def _next(self) -> datetime | None:
        """Return the next moment: that of an event, rounded up to a tick, or when the last plan may change."""
        stage, look = self._stage, self._look_again
        if stage.occupancy.stirred:
            return self._rounded(self.now)
        if stage.over or (look is None and stage.still):
            return None
        event = self._agenda.next
        if event is None or (look is not None and look <= event):
            return look
        at = self._rounded(event)
        return at if look is None else min(at, look)

    def _rounded(self, at: datetime) -> datetime:
        """Return the first tick at or after a time."""
        over = (at - self._begin) % self.setting.tick
        return at + (self.setting.tick - over) if over else at

    # -- plans ------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Plan, carry out the decisions and, if they change the state at once, plan again."""
        occupancy, rounds = self._stage.occupancy, 0
        while True:
            occupancy.stirred = False
            made = self._plan()
            self._agenda.play(self.now)
            rounds += 1
            if not occupancy.stirred or rounds == _MOST_ROUNDS:
                break
        tick_on = self.now + self.setting.tick
        look = tick_on if occupancy.stirred else made.look_again
        occupancy.stirred = False
        self._look_again = None if look is None else self._rounded(max(look, tick_on))
        if self._records is not None:
            ready = self._stage.nodes.ready
            self._records.moment(self.now, occupancy.held, occupancy.waiting, occupancy.wanted, ready)

    def _plan(self) -> Plan:
        """Plan once, and carry out the decisions."""
        snapshot, timer = self.snapshot(), self.setting.timer
        if self.setting.check:
            snapshot.check()
            self._stage.occupancy.check()
        began = timer()
        made = plan(snapshot, self.setting.policies, self.setting.discipline, self._cache)
        if self._records is not None:
            self._records.plan_seconds.append(timer() - began)
        self.plans += 1
        self.last_plan = made
        for decision in made.decisions:
            self._carry_out(decision)
        self._guard()
        return made

    def _carry_out(self, decision: Decision) -> None:
        now, stage = self.now, self._stage
        if isinstance(decision, Quarantine):
            stage.nodes.quarantine(decision.node)
            return
        task = stage.occupancy.tasks[decision.task_id]
        limit = self.setting.policies.of(task.group).max_grace
        match decision:
            case Start():
                self.starts.setdefault(task.id, now)
                event = Started(at=now, nodes=decision.nodes, gpus=decision.gpus, priority=decision.priority)
                stage.tell(task.id, event)
            case Suspend():
                wish = AskedToSuspend(
                    at=now,
                    reason=decision.reason,
                    beneficiary=decision.beneficiary,
                    at_most=self.setting.pause_grace if self.setting.paused else None,
                    limit=limit,
                )
                stage.tell(task.id, wish)
            case Keep():
                stage.tell(task.id, Promised(at=now, nodes=decision.nodes))
            case Stop():
                stage.tell(task.id, AskedToStop(at=now, reason=decision.reason, limit=limit))

    def _guard(self) -> None:
        """Raise Stalled if no task has ended in the last `_MOST_IDLE_PLANS` plans."""
        unfinished = len(self._stage.occupancy.tasks) + self._stage.to_come
        if unfinished != self._unfinished:
            self._unfinished, self._idle_since = unfinished, self.plans
        elif self.plans - self._idle_since > _MOST_IDLE_PLANS:
            raise Stalled(
                f"no task has ended for {_MOST_IDLE_PLANS} plans, at {self.now:%Y-%m-%d %H:%M:%S}: "
                "turns are too short for what starting costs; raise min_run or slice, or lower --restart-cost"
            )

    def _remaining(self) -> dict[TaskId, timedelta]:
        """Return how much longer each task works, for the disciplines that know it."""
        found = {}
        for task_id, body in self._stage.jobs.progress.items():
            left = body.left(self.now)
            if left is not None:
                found[task_id] = left
        return found
