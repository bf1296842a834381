"""One tick, and the loop that repeats it (docs/architecture.md, "The core decides, the shell acts").

A tick holds the lease, reads the cluster, turns what it shows into events, plans, and writes the decisions in one
transaction; then it hands over the effects (launch/launching.py). A tick that fails at any point is repeated.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Event, Promised, Started, TimeSkipped
from hai_scheduler.core.lifecycle.reconcile import Observed, reconcile
from hai_scheduler.core.lifecycle.transitions import Effect, Finalize, Kill, Launch, RingNotice
from hai_scheduler.core.model.decisions import Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import largest
from hai_scheduler.core.tallies.families import PLAN, TICK
from hai_scheduler.ports.errors import LeaseLost, Temporary, WriteConflict
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.launch.effects import Effects
from hai_scheduler.service.launch.launching import Launching
from hai_scheduler.service.origin.belonging import Belonging, Belongings
from hai_scheduler.service.platform.leadership import Leadership
from hai_scheduler.service.platform.loop_status import StatusWriter
from hai_scheduler.service.platform.pause import pause_of
from hai_scheduler.service.scheduling import unsaved_alarm
from hai_scheduler.service.scheduling.decision_log import DecisionLog
from hai_scheduler.service.scheduling.duty_cycle import DutyCycle
from hai_scheduler.service.scheduling.node_conditions import note_conditions
from hai_scheduler.service.scheduling.planner import Planner
from hai_scheduler.service.scheduling.rotation_alarm import alarm_data, alarms
from hai_scheduler.service.scheduling.run_ends import RunEnds
from hai_scheduler.service.scheduling.snapshot_reader import marked, snapshot_of
from hai_scheduler.service.scheduling.steadiness import Steadiness
from hai_scheduler.service.scheduling.unfinished import LiveTasks, Unfinished
from hai_scheduler.service.shared.changes import SCHEDULER, change
from hai_scheduler.service.shared.doorbell import ring_notices
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.topics import TICK as TICK_TOPIC
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tallies.writer import TallyWriter

log = logging.getLogger(__name__)

#: Seconds in which a stopping loop still carries out effects; never longer than its lease.
_LAST_WORK_S: Final = 3.0


@dataclass(slots=True, eq=False)
class Cycle(UseCase):
    """The scheduling loop. Only the replica that holds the lease decides and acts."""

    effects: Effects
    launching: Launching
    leadership: Leadership
    belonging: Belonging
    telling: StatusWriter
    tallies: TallyWriter
    decisions: DecisionLog = field(default_factory=DecisionLog)
    #: GPUs of the largest node of each group, as last seen.
    _gpus: dict[str, int] = field(default_factory=dict)
    #: Alarms of the present tick; they count after its commit.
    _alarms: int = 0
    _steadiness: Steadiness = field(default_factory=Steadiness)
    _planner: Planner = field(default_factory=Planner)
    _live: LiveTasks = field(default_factory=LiveTasks)
    #: Ended runs with nothing left to do, as last observed: the cluster shows them for weeks.
    _over: dict[RunId, Observation] = field(default_factory=dict)
    _pace: DutyCycle = field(default_factory=DutyCycle)
    #: What failed in the latest tick itself; None: nothing.
    _trouble: str | None = None
    #: Whether the last tick has changed anything.
    _worked: bool = False
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def tick(self) -> bool:
        """Do one tick and wait until its effects are carried out: for callers without the loop, such as tests.

        Returns and raises the same as `decide`.
        """
        leads = await self.decide()
        await self.launching.idle()
        if leads:
            self._say_trouble()
        return leads

    async def decide(self) -> bool:
        """Do one tick and hand over its effects; returns True if this replica is the leader.

        Raises Temporary and WriteConflict; then the tick should be repeated.
        """
        self._worked = False
        if not await self._lead():
            self.launching.drop()
            return False
        began = time.perf_counter()
        self.tallies.begin()
        with self.latest_plan.seeing():
            nodes = await self.cluster.nodes()
            await self.belonging.look()
            launched = self.launching.mark()
            observed = await self.cluster.observe()
        now = self.clock.now()
        skipped = self._steadiness.look(now, self.clock.steady())
        async with self.store.write() as tx:
            try:
                await self.leadership.hold(tx)
            except LeaseLost:
                self.latest_plan.leading = False
                self.launching.drop()
                return False
            policies = await self.policies.refresh(tx)
            self.latest_plan.policy_trouble = self.policies.trouble
            first_seq = await tx.events.last_seq()
            belongings = await self.belonging.sort(tx, observed, now)
            nodes = await marked(tx, nodes)
            await note_conditions(tx, nodes, now)
            self._gpus |= largest(nodes)
            ends = await RunEnds.read(tx, policies, self._gpus, now)
            tasks, effects = await self._read_world(tx, belongings, ends, skipped)
            snapshot = await snapshot_of(tx, now, nodes, tasks.all(), ends.uses.values(), ends.strikes)
            made = self._planner.plan(snapshot, policies)
            self.latest_plan.plan_seconds = self._planner.seconds
            effects += await self._write_targets(tx, tasks, made, ends, belongings)
            await ends.settle(now)
            mark = await tx.database.mark()
            told = await tx.events.last_seq() > first_seq
            await self.decisions.write(tx, snapshot.now, tasks.all(), made.verdicts)
            await self.telling.with_lease(tx, snapshot.now)
            await self.tallies.write(
                tx, snapshot.now, nodes, lambda: self._live.of(tasks.all()), renews=self.leadership.renews
            )
        self._worked = told or bool(effects)
        self.leadership.keep()
        self._steadiness.settle()
        self.decisions.settle()
        self.tallies.settle()
        shown = replace(snapshot, tasks=tasks.all())
        self.latest_plan.show(shown, policies, made.verdicts, seconds=time.perf_counter() - began)
        self.world.timings.tallies.observe(PLAN, (), self.latest_plan.plan_seconds)
        self.world.timings.tallies.observe(TICK, (), self.latest_plan.tick_seconds)
        self.latest_plan.rotation_alarms += self._alarms
        if told:
            await self.bus.ring(FEED)
        untold = await self.belonging.tell(mark)
        if untold is not None:
            effects = [effect for effect in effects if not isinstance(effect, Launch)]
        starting = {
            effect.task_id: task
            for effect in effects
            if isinstance(effect, Launch) and (task := tasks.get(effect.task_id)) is not None
        }
        await ring_notices(self.bus, effects)
        on_cluster = [effect for effect in effects if not isinstance(effect, RingNotice)]
        self.launching.hand_over(on_cluster, starting, self.latest_plan.by_name(), since=launched)
        self._trouble = untold or await self.belonging.put_aside(belongings.aside)
        self._say_trouble()
        return True

    def _say_trouble(self) -> None:
        self.latest_plan.trouble = self._trouble or self.launching.trouble

    async def _lead(self) -> bool:
        """Seek the lease; returns True if this replica leads. A new leader drops what it remembers."""
        led = self.leadership.held is not None
        self.latest_plan.leading = await self.leadership.seek()
        if self.latest_plan.leading and not led:
            self.decisions = DecisionLog()
            self._steadiness = Steadiness()
            self.belonging.forget()
            self.tallies.forget()
        return self.latest_plan.leading

    async def _read_world(
        self, tx: Tx, belongings: Belongings, ends: RunEnds, skipped: timedelta
    ) -> tuple[Unfinished, list[Effect]]:
        """Update every task with a live run to what the cluster shows, and end runs that belong to no live task."""
        now, observed = self.clock.now(), belongings.ours
        effects: list[Effect] = [Kill(run_id) for run_id in belongings.kill]
        tasks = Unfinished(await tx.tasks.unfinished())
        live: set[RunId] = set()
        ended = 0
        for task in self._live.of(tasks.all()):
            run = task.live_run
            older = run is not None and run.number <= belongings.above(task.id)
            if older:
                task = await _given_up(tx, task, observed, now)
                run = task.live_run
            if run is not None:
                most = ends.policies.of(task.group).max_failed_starts
                if skipped:
                    task, wanted = await change(tx, task, TimeSkipped(at=now, by=skipped), actor=SCHEDULER)
                    effects += wanted
                trouble = self.effects.troubles.of(run.id) or self.launching.words(run.id)
                refusal = belongings.refusal(run, now)
                if refusal is not None:
                    seen = Observed((refusal,))
                else:
                    seen = reconcile(
                        task, observed.get(run.id), now, max_failed_starts=most, trouble=trouble, older=older
                    )
                before = task
                task, wanted = await change(tx, task, *seen.events, actor=SCHEDULER, later=ends.bookings)
                await ends.note(before, task, seen.events)
                self.tallies.note(before, task)
                policy = ends.policies.of(task.group)
                if unsaved_alarm.alarms(before, task, policy):
                    await self._alarm(tx, task, unsaved_alarm.alarm_data(task, policy))
                effects += wanted
                run = task.live_run
                ended += run is None
                if run is not None:
                    live.add(run.id)
                    effects += _wanted_again(run, task, launch=seen.launch_again)
            tasks.put(task)
        if ended:
            await tx.database.count_steps(ended, number=0)
        effects += self._left_behind(observed, live)
        return tasks, list(dict.fromkeys(effects))

    def _left_behind(self, observed: Mapping[RunId, Observation], live: Collection[RunId]) -> Iterator[Effect]:
        """The effects for runs that belong to no live task: kill them, or finalize those that have ended."""
        if len(self._over) > 2 * len(observed) + 100:
            self._over = {run_id: shown for run_id, shown in observed.items() if self._over.get(run_id) is shown}
        for run_id, shown in observed.items():
            if self._over.get(run_id) is shown or run_id in live:
                continue
            if not shown.gone:
                yield Kill(run_id)
            elif shown.unfinalized:
                yield Finalize(run_id)
            else:
                self._over[run_id] = shown

    async def _write_targets(
        self, tx: Tx, tasks: Unfinished, made: Plan, ends: RunEnds, belongings: Belongings
    ) -> list[Effect]:
        """Write the decisions of the plan into the store and into `tasks`; returns their effects."""
        effects: list[Effect] = []
        started: list[int] = []
        self._alarms = 0
        pause = pause_of(await tx.settings.get("paused"))
        at_most = pause.grace if pause else None
        for decision in made.decisions:
            if isinstance(decision, Quarantine):
                await self._quarantine(tx, decision)
                continue
            task = tasks[decision.task_id]
            policy = ends.policies.of(task.group)
            event = self._event_of(decision, at_most, policy.max_grace, belongings)
            after, wanted = await change(tx, task, event, actor=SCHEDULER, later=ends.bookings)
            effects += wanted
            self.tallies.note(task, after)
            if isinstance(event, Started) and after.run is not None:
                started.append(after.run.number)
            tasks.put(after)
            if alarms(task, after, policy, self.clock.now()):
                await self._alarm(tx, after, alarm_data(after, policy))
                self._alarms += 1
        if started:
            await tx.database.count_steps(len(started), number=max(started))
        return effects

    async def _quarantine(self, tx: Tx, decision: Quarantine) -> None:
        mark = NodeMark.QUARANTINED
        await tx.nodes.put_mark(decision.node, mark)
        data = {"node": decision.node, "mark": mark.value, "tasks": list(decision.tasks)}
        await tx.events.add(HistoryEvent(at=self.clock.now(), kind=EventKind.NODE_MARK, actor=SCHEDULER, data=data))
        log.warning("node %s is quarantined: runs of tasks %s failed on it", decision.node, list(decision.tasks))

    async def _alarm(self, tx: Tx, task: Task, data: Mapping[str, Any]) -> None:
        await tx.events.add(
            HistoryEvent(
                at=self.clock.now(),
                kind=EventKind.TASK_ALARM,
                actor=SCHEDULER,
                user=task.user,
                task_id=task.id,
                data=data,
            )
        )
        log.warning("%s", data["message"])

    def _event_of(
        self,
        decision: Start | Suspend | Keep | Stop,
        at_most: timedelta | None,
        limit: timedelta,
        belongings: Belongings,
    ) -> Event:
        now = self.clock.now()
        match decision:
            case Start():
                return Started(
                    at=now,
                    nodes=decision.nodes,
                    priority=decision.priority,
                    gpus=decision.gpus,
                    origin=belongings.origin,
                    above=belongings.above(decision.task_id),
                )
            case Suspend():
                return AskedToSuspend(
                    at=now,
                    reason=decision.reason,
                    beneficiary=decision.beneficiary,
                    at_most=at_most,
                    limit=limit,
                )
            case Keep():
                return Promised(at=now, nodes=decision.nodes)
            case Stop():
                return AskedToStop(at=now, reason=decision.reason, limit=limit)

    # -- the loop ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Tick until `stop`: after a ring, after a change of the cluster, and at least every `tick_every`.

        Rings without work take at most half of a core (duty_cycle.py). Even with a long `tick_every`, ticks are
        frequent enough to keep the lease.
        """
        async with self.bus.listen(TICK_TOPIC) as ears:
            changes = asyncio.create_task(self._ring_on_changes())
            try:
                while not self._stopping.is_set():
                    await self._tick_safely()
                    took, now = self.latest_plan.tick_seconds, self.clock.now()
                    await self.clock.sleep(self._pace.rest(took, now, working=self._worked))
                    await ears.wait(min(self.settings.tick_every, self.settings.lease_length / 4).total_seconds())
            finally:
                changes.cancel()
                with suppress(asyncio.CancelledError):
                    await changes
                await self.launching.finish(min(_LAST_WORK_S, self.settings.lease_length.total_seconds()))
                await self.leadership.release()
                self.latest_plan.leading = False
                # Standby replicas need not wait until their next look.
                await self.bus.ring(TICK_TOPIC)

    async def stop(self) -> None:
        """End the loop after the present tick; effects that are left get a few seconds more."""
        self._stopping.set()
        await self.bus.ring(TICK_TOPIC)

    async def _tick_safely(self) -> None:
        try:
            await self.decide()
        except (Temporary, WriteConflict) as error:
            self.latest_plan.trouble = str(error)
            log.warning("tick will be repeated: %s", error)
        except Exception as error:  # the loop must outlive any single tick; it is level-triggered
            self.latest_plan.trouble = f"{type(error).__name__}"
            log.exception("tick failed and will be repeated")
        try:
            await self.telling.at_once()
        except Exception:  # as above
            log.exception("the status of the scheduling loop cannot be written and is tried again")

    async def _ring_on_changes(self) -> None:
        while True:
            try:
                async for _ in self.cluster.changes():
                    # Every replica watches the cluster, but only the leader ticks.
                    if self.latest_plan.leading:
                        await self.bus.ring(TICK_TOPIC)
            except Temporary as error:
                log.warning("watching the cluster failed and starts again: %s", error)
            except Exception:  # without it ticks are begun by the time alone; it must outlive any fault
                log.exception("watching the cluster failed and starts again")
            await self.clock.sleep(1.0)


def _wanted_again(run: Run, task: Task, *, launch: bool) -> Iterator[Effect]:
    """Effects of earlier ticks that the cluster does not show yet: the loop may have died between commit and effect."""
    if launch:
        yield Launch(task.id, run.id)
    if run.killed_at is not None:
        yield Kill(run.id)
    elif run.notice is not None and any(rank.notified_at is None and not rank.state.gone for rank in run.ranks):
        yield RingNotice(run.id)


async def _given_up(tx: Tx, task: Task, observed: Mapping[RunId, Observation], now: datetime) -> Task:
    """The task after a start from before the restore was given up, if the cluster does not show the run.

    The run may have happened in the time that the restored database has lost, so it is not launched a second time.
    """
    run = task.live_run
    if run is None or run.id in observed or run.notice is not None:
        return task
    nothing = timedelta(0)
    leaves = AskedToSuspend(at=now, reason=Reason.RESTORED, at_most=nothing, limit=nothing)
    return (await change(tx, task, leaves, actor=SCHEDULER))[0]
