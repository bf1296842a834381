"""One tick, and the loop that repeats it (docs/architecture.md, "The core decides, the shell acts").

Hold the lease, read the world, turn what it shows into events, plan, write the targets in one transaction,
then act. A tick that dies anywhere is simply done again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hai_scheduler.core.decisions import Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.events import AskedToStop, AskedToSuspend, Event, Promised, Started
from hai_scheduler.core.lifecycle import Effect, Kill, Launch, Settle
from hai_scheduler.core.model import Node, NodeMark, Observation, RunId, Task, TaskId
from hai_scheduler.core.observing import read
from hai_scheduler.core.plan import plan
from hai_scheduler.core.policy import Policies, Policy
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.ports import Bus, Clock, Cluster, Conflict, Lease, Store, Temporary, Tx
from hai_scheduler.ports import Event as Line
from hai_scheduler.service.changes import SCHEDULER, change
from hai_scheduler.service.decision_log import DecisionLog
from hai_scheduler.service.effects import FEED, TICK, Effects
from hai_scheduler.service.pause import pause_of
from hai_scheduler.service.policy_book import PolicyBook
from hai_scheduler.service.rotation_alarm import alarm_data, alarms
from hai_scheduler.service.run_ends import RunEnds, largest
from hai_scheduler.service.settings import ServiceSettings
from hai_scheduler.service.undisturbed import undisturbed
from hai_scheduler.service.watch import Watch

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Cycle:
    """The scheduler's loop. Of several replicas, the one that holds the lease does the work."""

    store: Store
    cluster: Cluster
    bus: Bus
    clock: Clock
    effects: Effects
    settings: ServiceSettings
    policies: PolicyBook
    watch: Watch
    #: Who this replica is, unlike any other.
    holder: str
    decisions: DecisionLog = field(default_factory=DecisionLog)
    _lease: Lease | None = None
    #: GPUs of the largest node of each group, as last seen.
    _gpus: dict[str, int] = field(default_factory=dict)
    #: Alarms that the tick at hand has raised; they count once it is committed.
    _alarms: int = 0
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def tick(self) -> bool:
        """Do one tick; whether this replica is the leader. Raises Temporary and Conflict: try again."""
        began = time.perf_counter()
        nodes = await self.cluster.nodes()
        observed = {o.run_id: o for o in await self.cluster.observe()}
        now = self.clock.now()
        async with self.store.write() as tx:
            leading = await self._hold_lease(tx, now)
            policies = await self.policies.refresh(tx)
            self.watch.policy_trouble = self.policies.trouble
            marks = await tx.node_marks()
            marked = tuple(replace(node, mark=marks.get(node.name, NodeMark.NONE)) for node in nodes)
            if not leading:
                self.watch.nodes = sorted(marked, key=lambda node: node.name)
                return False
            first_seq = await tx.last_event_seq()
            self._gpus |= largest(marked)
            ends = await RunEnds.read(tx, policies, self._gpus, now)
            tasks, effects = await self._read_world(tx, observed, ends)
            snapshot = await self._snapshot(tx, marked, tasks, ends)
            planning = time.perf_counter()
            with undisturbed():
                made = plan(snapshot, policies)
            self.watch.plan_seconds = time.perf_counter() - planning
            effects += await self._write_targets(tx, tasks, made, policies)
            told = await tx.last_event_seq() > first_seq
            await self.decisions.write(tx, snapshot.now, tasks.values(), made.verdicts)
        self.decisions.settle()
        self.watch.snapshot, self.watch.policies = replace(snapshot, tasks=tuple(tasks.values())), policies
        self._show(marked, made, time.perf_counter() - began)
        if told:
            await self.bus.ring(FEED)
        self.watch.trouble = await self.effects.carry_out(effects, nodes=self.watch.by_name())
        return True

    async def _hold_lease(self, tx: Tx, now: datetime) -> bool:
        """Whether this replica is the leader, to the end of the transaction.

        The lease is written anew only when half of it is over: a tick that changes nothing writes nothing.
        """
        length, held = self.settings.lease_length, self._lease
        self._lease = None
        if held is not None and held.expires_at - now > length / 2:
            await tx.check_lease(held.token)
        else:
            held = await tx.acquire_lease(self.holder, now=now, length=length)
        self._lease = held
        return held is not None

    async def _read_world(
        self, tx: Tx, observed: Mapping[RunId, Observation], ends: RunEnds
    ) -> tuple[dict[TaskId, Task], list[Effect]]:
        """Bring every live task up to what the cluster shows, and end what belongs to nobody."""
        now = self.clock.now()
        effects: list[Effect] = []
        tasks: dict[TaskId, Task] = {}
        live: set[RunId] = set()
        for task in await tx.unfinished_tasks():
            run = task.live_run
            if run is not None:
                most = ends.policies.of(task.group).max_failed_starts
                before, seen = task, read(task, observed.get(run.id), now, max_failed_starts=most)
                task, wanted = await change(tx, task, *seen.events, actor=SCHEDULER)
                await ends.note(before, task, seen.events)
                effects += wanted
                run = task.live_run
                if run is not None and seen.launch_again:
                    effects.append(Launch(task.id, run.id))
                if run is not None:
                    live.add(run.id)
                    if run.killed_at is not None:
                        effects.append(Kill(run.id))
            if not task.state.ended:
                tasks[task.id] = task
        effects += _left_behind(observed.values(), live)
        return tasks, list(dict.fromkeys(effects))

    async def _snapshot(self, tx: Tx, nodes: tuple[Node, ...], tasks: Mapping[TaskId, Task], ends: RunEnds) -> Snapshot:
        pause = pause_of(await tx.setting("paused"))
        return Snapshot(
            now=self.clock.now(),
            nodes=nodes,
            tasks=tuple(tasks.values()),
            quotas=tuple(await tx.quotas()),
            uses=tuple(ends.uses.values()),
            strikes=tuple(ends.strikes),
            groups_of={user.name: user.groups for user in await tx.users()},
            paused=pause is not None,
            pause_grace=pause.grace if pause else None,
        )

    async def _write_targets(self, tx: Tx, tasks: dict[TaskId, Task], made: Plan, policies: Policies) -> list[Effect]:
        """Write what was decided, in the store and in `tasks`."""
        effects: list[Effect] = []
        self._alarms = 0
        pause = pause_of(await tx.setting("paused"))
        at_most = pause.grace if pause else None
        for decision in made.decisions:
            if isinstance(decision, Quarantine):
                await self._quarantine(tx, decision)
                continue
            task = tasks[decision.task_id]
            policy = policies.of(task.group)
            after, wanted = await change(tx, task, self._event_of(decision, at_most, policy.max_grace), actor=SCHEDULER)
            effects += wanted
            tasks[task.id] = after
            if alarms(task, after, policy, self.clock.now()):
                await self._alarm(tx, after, policy)
        return effects

    async def _quarantine(self, tx: Tx, decision: Quarantine) -> None:
        mark = NodeMark.QUARANTINED
        await tx.put_node_mark(decision.node, mark)
        data = {"node": decision.node, "mark": mark.value, "tasks": list(decision.tasks)}
        await tx.add_event(Line(at=self.clock.now(), kind="node.mark", actor=SCHEDULER, data=data))
        log.warning("node %s is quarantined: runs of tasks %s failed on it", decision.node, list(decision.tasks))

    async def _alarm(self, tx: Tx, task: Task, policy: Policy) -> None:
        data = alarm_data(task, policy)
        await tx.add_event(
            Line(at=self.clock.now(), kind="task.alarm", actor=SCHEDULER, user=task.user, task_id=task.id, data=data)
        )
        self._alarms += 1
        log.warning("%s", data["message"])

    def _event_of(self, decision: Start | Suspend | Keep | Stop, at_most: timedelta | None, limit: timedelta) -> Event:
        now = self.clock.now()
        match decision:
            case Start():
                return Started(at=now, nodes=decision.nodes, priority=decision.priority, gpus=decision.gpus)
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

    def _show(self, nodes: Sequence[Node], made: Plan, seconds: float) -> None:
        self.watch.nodes = sorted(nodes, key=lambda node: node.name)
        self.watch.verdicts = made.verdicts
        self.watch.last_tick = self.clock.now()
        self.watch.tick_seconds = seconds
        self.watch.ticks += 1
        self.watch.rotation_alarms += self._alarms

    # -- the loop ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Tick until `stop`. A tick is begun by a ring, by a change of the cluster or by the time.

        After a tick the loop rests as long as the tick took: a storm of rings never takes more than half
        of the process from those who ask.
        """
        async with self.bus.listen(TICK) as ears:
            changes = asyncio.create_task(self._ring_on_changes())
            try:
                while not self._stopping.is_set():
                    await self._tick_safely()
                    await self.clock.sleep(min(self.watch.tick_seconds, 1.0))
                    await ears.wait(self.settings.tick_every.total_seconds())
            finally:
                changes.cancel()
                with suppress(asyncio.CancelledError):
                    await changes
                async with self.store.write() as tx:
                    await tx.release_lease(self.holder)

    async def stop(self) -> None:
        """End the loop after the tick that it is in."""
        self._stopping.set()
        await self.bus.ring(TICK)

    async def _tick_safely(self) -> None:
        try:
            await self.tick()
        except (Temporary, Conflict) as error:
            self.watch.trouble = str(error)
            log.warning("tick will be repeated: %s", error)
        except Exception as error:  # the loop must outlive any single tick; it is level-triggered
            self.watch.trouble = f"{type(error).__name__}"
            log.exception("tick failed and will be repeated")

    async def _ring_on_changes(self) -> None:
        while True:
            try:
                async for _ in self.cluster.changes():
                    await self.bus.ring(TICK)
            except Temporary as error:
                log.warning("watching the cluster failed and starts again: %s", error)
            await self.clock.sleep(1.0)


def _left_behind(observed: Iterable[Observation], live: Collection[RunId]) -> Iterator[Effect]:
    """What is to be done about runs that belong to no live task: end them, or tell that their end is recorded."""
    for shown in observed:
        if shown.run_id in live:
            continue
        if not all(rank.state.gone for rank in shown.ranks):
            yield Kill(shown.run_id)
        elif shown.unsettled:
            yield Settle(shown.run_id)
