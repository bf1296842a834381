"""The simulator's loop: virtual time, and the same core as in production.

`plan` decides and `advance` changes tasks, exactly as in the service; `Stage` is the world around them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Promised, Started
from hai_scheduler.core.model.decisions import Decision, Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Strike
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.quota import Use
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.memory import Memory
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.sim.agenda import Agenda
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Job, Setting
from hai_scheduler.sim.stage import Stage

#: So many plans at one moment are enough: what they still stir waits for the next tick.
_MOST_ROUNDS = 12
#: So many plans without any task ending, and the rules will never let one end.
_MOST_IDLE_PLANS = 500_000
_KNOWING = (Discipline.SJF, Discipline.SRTF)


class Stalled(RuntimeError):
    """The rules keep on changing who runs, and nothing ever ends."""


class Engine:
    """A cluster in virtual time, moved on moment by moment.

    Args:
        setting: The cluster, the rules and the costs.
        now: When it begins; plans are made at multiples of the tick after it.
        jobs: Those that are there, and those that are submitted later.
        uses: What users have held before (O3).
        strikes: Failures on nodes before (H3).
        records: Takes down what happens.
    """

    def __init__(
        self,
        setting: Setting,
        now: datetime,
        *,
        jobs: Iterable[Job] = (),
        uses: Iterable[Use] = (),
        strikes: Iterable[Strike] = (),
        records: Records | None = None,
    ) -> None:
        self.setting = setting
        #: When plans have been made up to.
        self.now = now
        #: Plans made.
        self.plans = 0
        self.last_plan: Plan | None = None
        #: When tasks were started for the first time in this simulation.
        self.starts: dict[TaskId, datetime] = {}
        self._begin = now
        self._look_again: datetime | None = None
        self._records = records
        self._agenda = Agenda(now)
        self._stage = Stage(setting, self._agenda, records)
        self._stage.uses = {(use.user, use.group): use for use in uses}
        self._stage.strikes = list(strikes)
        self._quotas = setting.rows_of_quota()
        self._idle_since = 0
        self._unfinished = 0
        self._memory = Memory()
        for job in jobs:
            self.add(job)

    @classmethod
    def of_snapshot(
        cls,
        snapshot: Snapshot,
        policies: Policy | Policies,
        *,
        jobs: Iterable[Job] = (),
        discipline: Discipline = Discipline.HAI,
        restart_cost: timedelta = timedelta(0),
        tick: timedelta = timedelta(seconds=1),
    ) -> Engine:
        """An engine that begins with the cluster and the queue of a snapshot.

        Args:
            snapshot: Where to begin.
            policies: The numbers of the rules.
            jobs: How its tasks behave, and hypothetical ones besides; a task of the snapshot without a job
                works for ever.
            discipline: The rules.
            restart_cost: What a start after the first costs.
            tick: How often plans are made.
        """
        known = {job.task.id: job for job in jobs}
        setting = Setting(
            nodes=snapshot.nodes,
            policies=policies,
            discipline=discipline,
            quotas=snapshot.quotas,
            groups_of=snapshot.groups_of,
            restart_cost=restart_cost,
            tick=tick,
            paused=snapshot.paused,
            pause_grace=snapshot.pause_grace,
        )
        engine = cls(setting, snapshot.now, uses=snapshot.uses, strikes=snapshot.strikes)
        for task in snapshot.tasks:
            engine.add(known.pop(task.id) if task.id in known else Job(task=task, work=None))
        for job in known.values():
            engine.add(job)
        return engine

    def add(self, job: Job) -> None:
        """A job that is there now or, with a later `submitted_at`, is submitted then."""
        self._stage.expect(job)

    @property
    def tasks(self) -> dict[TaskId, Task]:
        """Every task that has been submitted and has not ended. To be read only."""
        return self._stage.tasks

    @property
    def finished(self) -> bool:
        """Whether nothing will ever happen again: everything has ended, or what is left can never start."""
        return self._next() is None

    def snapshot(self) -> Snapshot:
        """What a plan is made from now."""
        stage = self._stage
        return Snapshot(
            now=self.now,
            nodes=tuple(stage.nodes.values()),
            tasks=tuple(stage.tasks.values()),
            quotas=self._quotas,
            uses=tuple(stage.uses.values()),
            strikes=tuple(stage.strikes),
            groups_of=self.setting.groups_of,
            remaining=self._remaining() if self.setting.discipline in _KNOWING else {},
            paused=self.setting.paused,
            pause_grace=self.setting.pause_grace,
        )

    def step(self) -> bool:
        """Go on to the next moment at which something happens, and plan if that calls for it.

        Returns:
            False when nothing will ever happen again.

        Raises:
            Stalled: Plan after plan is made and nothing ever ends.
        """
        at = self._next()
        if at is None:
            return False
        self._agenda.play(at)
        self.now = at
        if self._stage.stirred or (self._look_again is not None and self._look_again <= at):
            self._settle()
        return True

    def run_until_started(
        self, task_id: TaskId, *, until: datetime | None = None, max_plans: int | None = None
    ) -> datetime | None:
        """Go on until the task is started.

        Args:
            task_id: Which.
            until: Go no further than this.
            max_plans: Make no more plans than this.

        Returns:
            When it starts. None if it does not within these bounds or, if `finished`, never.
        """
        most = None if max_plans is None else self.plans + max_plans
        while task_id not in self.starts:
            at = self._next()
            if at is None or (until is not None and at > until) or (most is not None and self.plans >= most):
                return None
            self.step()
        return self.starts[task_id]

    # -- time -------------------------------------------------------------------------------------

    def _next(self) -> datetime | None:
        """The next moment: of an event, rounded up to a tick, or the one that the last plan named."""
        stage, look = self._stage, self._look_again
        if stage.stirred:
            return self._rounded(self.now)
        if stage.over or (look is None and stage.still):
            return None
        event = self._agenda.next
        if event is None or (look is not None and look <= event):
            return look
        at = self._rounded(event)
        return at if look is None else min(at, look)

    def _rounded(self, at: datetime) -> datetime:
        """The first tick that is not before a time."""
        over = (at - self._begin) % self.setting.tick
        return at + (self.setting.tick - over) if over else at

    # -- plans ------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Plan, carry it out and, where that stirs things at once, plan again."""
        stage, rounds = self._stage, 0
        while True:
            stage.stirred = False
            made = self._plan()
            self._agenda.play(self.now)
            rounds += 1
            if not stage.stirred or rounds == _MOST_ROUNDS:
                break
        tick_on = self.now + self.setting.tick
        look = tick_on if stage.stirred else made.look_again
        stage.stirred = False
        self._look_again = None if look is None else self._rounded(max(look, tick_on))
        if self._records is not None:
            self._records.moment(self.now, stage.held, stage.waiting, stage.wanted, stage.ready)

    def _plan(self) -> Plan:
        """Plan once and carry it out."""
        snapshot, timer = self.snapshot(), self.setting.timer
        if self.setting.check:
            snapshot.check()
        began = timer()
        made = plan(snapshot, self.setting.policies, self.setting.discipline, self._memory)
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
            stage.quarantine(decision.node)
            return
        task = stage.tasks[decision.task_id]
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
        """Raise Stalled when plans go on and on, and nothing ever ends."""
        unfinished = len(self._stage.tasks) + self._stage.to_come
        if unfinished != self._unfinished:
            self._unfinished, self._idle_since = unfinished, self.plans
        elif self.plans - self._idle_since > _MOST_IDLE_PLANS:
            raise Stalled(
                f"no task has ended for {_MOST_IDLE_PLANS} plans, at {self.now:%Y-%m-%d %H:%M:%S}: "
                "turns are too short for what starting costs; raise min_run or slice, or lower --restart-cost"
            )

    def _remaining(self) -> dict[TaskId, timedelta]:
        """How much longer each task works, for the disciplines that know."""
        found = {}
        for task_id, body in self._stage.bodies.items():
            left = body.left(self.now)
            if left is not None:
                found[task_id] = left
        return found
