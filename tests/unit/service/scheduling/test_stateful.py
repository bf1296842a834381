"""A whole service under random actions in any order, with crashes in the middle of ticks.

More of it with, for example, HAI_EXAMPLES=20.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.ordering.quota import QuotaAccounts, QuotaTable
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.scheduling.planner import Planner
from hai_scheduler.service.shared.errors import HaiError
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service

NODES = ("node-1", "node-2", "node-3")
USERS = ("ann", "bob", "cy")
GPUS = 8
LEVELS = (*[Priority.NORMAL] * 3, None, Priority.LOW, Priority.ABOVE_NORMAL, Priority.HIGH)
SUBJECTS = ("public", "user:ann", "group:lab", "total:lab")

#: Behaviours of jobs, all of which end at some time.
behaviours = st.builds(
    Behaviour,
    work=st.sampled_from([timedelta(seconds=s) for s in (5, 60, 200)]),
    exit_code=st.sampled_from([0, 0, 0, 3]),
    saves_in=st.sampled_from([timedelta(0), timedelta(seconds=5), None]),
    saves_every=st.sampled_from([timedelta(seconds=1), timedelta(seconds=20)]),
    start_takes=st.sampled_from([timedelta(0), timedelta(seconds=2)]),
    dies_in=st.sampled_from([timedelta(0), timedelta(seconds=10)]),
    start_error=st.sampled_from([None] * 9 + ["no such image"]),
)
numbers = st.integers(1, 8)
POLICIES: list[dict[str, object]] = [
    {"slice": "30s", "min_run": "30s"},
    {"slice": "5m", "min_run": "0s", "min_run_per_switch": 0},
    {"max_rotations": 1, "starve_after": "2m"},
    {"max_cross_zone": 0, "half_life": "10s"},
    {"quarantine_share": 0.4, "strikes": 1, "strike_tasks": 1, "strike_window": "10m"},
    {"quarantine_share": 0.0, "min_run_per_switch": 100, "slice_growth": 1},
]


class Crash(BaseException):
    """The death of the service's process."""


def plan_twice(planner: Planner, snapshot: Snapshot, policies: Policies) -> Plan:
    """Plan with the service's memory, and check that a plan from scratch is the same.

    Where the service keeps its last plan, times in it that count from now may be a moment old.
    """
    made, scratch = _plan(planner, snapshot, policies), plan(snapshot, policies)
    assert made.decisions == scratch.decisions
    found = [{number: seen(verdict) for number, verdict in each.verdicts.items()} for each in (made, scratch)]
    assert found[0] == found[1]
    return made


def seen(verdict: Verdict) -> tuple[object, ...]:
    data = {name: value for name, value in verdict.data.items() if name not in ("until", "deadline")}
    return verdict.kind, verdict.priority, verdict.position, data, verdict.holders


_plan = Planner.plan


class Fuse:
    """A counter that lets the process die at the n-th place where it can: before and after calls and commits."""

    def __init__(self) -> None:
        self.left: int | None = None

    def burn(self) -> None:
        """Count a place; raises Crash at the chosen one."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise Crash

    def around(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Wrap a call, with a place before it and a place after it."""

        async def burning(*given: object, **named: object) -> object:
            self.burn()
            result = await call(*given, **named)
            self.burn()
            return result

        return burning

    def writing(self, write: Callable[[], Any]) -> Callable[[], Any]:
        """Wrap a transaction, with a place before its commit and a place after it."""

        @asynccontextmanager
        async def burning() -> AsyncIterator[object]:
            async with write() as tx:
                yield tx
                self.burn()
            self.burn()

        return burning


class ServiceMachine(RuleBasedStateMachine):
    """Events that may happen to the service, and invariants."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.fuse = Fuse()
        self.service: Service
        self.submitted: list[TaskId] = []
        #: Whether the last event was a tick by the leader that left nothing to do.
        self.settled = False

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Carry out a request of a caller; a refusal is a valid answer."""
        self.settled = False
        with suppress(HaiError):
            return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(Planner, "plan", plan_twice)
        self.service = self.runner.run(self._opened())
        cluster, store, bus = self.service.cluster, self.service.store, self.service.bus
        for name in ("nodes", "observe", "launch", "kill"):
            setattr(cluster, name, self.fuse.around(getattr(cluster, name)))
        store.write = self.fuse.writing(store.write)  # type: ignore[method-assign]
        bus.ring = self.fuse.around(bus.ring)  # type: ignore[method-assign]

    async def _opened(self) -> Service:
        service = await Service(nodes=len(NODES)).open()
        async with service.store.write() as tx:
            for name in USERS:
                await tx.users.put(UserRecord(name=name, groups=frozenset({"lab"} if name != "cy" else ())))
        for node in await service.cluster.nodes():
            service.cluster.faults.put_node(replace(node, zone="a" if node.name == "node-1" else "b"))
        return service

    # -- users ------------------------------------------------------------------------------------

    @rule(
        who=st.sampled_from(USERS),
        nodes=st.integers(1, 3),
        gpus=st.sampled_from([None, None, 1, 3, 6]),
        level=st.sampled_from(LEVELS),
        does=behaviours,
        retries=st.sampled_from([0, 0, 2]),
        limit=st.sampled_from([None, None, timedelta(seconds=50)]),
    )
    def submit(self, who: str, level: Priority | None, limit: timedelta | None, retries: int, **fields: Any) -> None:
        fields |= {"retries": retries, "retry_backoff": timedelta(seconds=10 if retries else 0)}
        made = self.do(self.service.submit("task", who, priority=level, time_limit=limit, **fields))
        if made is not None:
            self.submitted.append(made)

    @precondition(lambda self: self.submitted)
    @rule(verb=st.sampled_from(["stop", "suspend", "hold", "resume", "resume"]), number=numbers)
    def ask(self, verb: str, number: int) -> None:
        self.do(getattr(self.service.platform.tasks.submissions, verb)(ADMIN, str(self._one(number))))

    @precondition(lambda self: self.submitted)
    @rule(number=numbers, level=st.sampled_from(LEVELS))
    def change_priority(self, number: int, level: Priority | None) -> None:
        self.do(self.service.platform.tasks.submissions.set_priority(ADMIN, str(self._one(number)), level))

    def _one(self, number: int) -> TaskId:
        return self.submitted[number % len(self.submitted)]

    # -- admins -----------------------------------------------------------------------------------

    @rule(
        subject=st.sampled_from(SUBJECTS),
        level=st.sampled_from([Priority.LOW, Priority.NORMAL, Priority.HIGH]),
        limit=st.sampled_from([None, 0, 1, 2, 3]),
    )
    def change_quota(self, subject: str, level: Priority, limit: int | None) -> None:
        row = Quota(subject=subject, group="training", priority=level, limit=limit)
        self.do(self.service.platform.administration.put_quota(ADMIN, row))

    @rule(values=st.sampled_from(POLICIES))
    def change_policy(self, values: dict[str, object]) -> None:
        self.do(self.service.platform.policy.change(ADMIN, None, values, ()))

    @rule(node=st.sampled_from(NODES), mark=st.sampled_from([NodeMark.NONE, NodeMark.NONE, NodeMark.DRAINING]))
    def mark(self, node: str, mark: NodeMark) -> None:
        self.do(self.service.platform.administration.mark_node(ADMIN, node, mark))

    @rule(verb=st.sampled_from(["pause", "unpause", "unpause"]))
    def pause(self, verb: str) -> None:
        self.do(getattr(self.service.platform.administration, verb)(ADMIN))

    # -- trouble ----------------------------------------------------------------------------------

    @rule(node=st.sampled_from(NODES))
    def lose_node(self, node: str) -> None:
        self.settled = False
        self.service.cluster.faults.lose_node(node)

    @rule(node=st.sampled_from(NODES))
    def mend_node(self, node: str) -> None:
        self.do(self._mend(node))

    async def _mend(self, name: str) -> None:
        (node,) = [node for node in await self.service.cluster.nodes() if node.name == name]
        self.service.cluster.faults.put_node(replace(node, ready=True))

    @rule(which=st.integers(0, 5), rank=st.integers(0, 2))
    def lose_rank(self, which: int, rank: int) -> None:
        holders = self.service.cluster.record.holders()
        present = sorted({(run_id, name) for name, runs in holders.items() for run_id in runs})
        if present:
            self.settled = False
            run_id = present[which % len(present)][0]
            ranks = sum(one == run_id for one, _ in present)
            self.service.cluster.faults.lose_rank(run_id, rank % ranks)

    @rule(after=st.integers(0, 2))
    def break_the_next_launch(self, after: int) -> None:
        self.settled = False
        self.service.cluster.faults.break_launch(after=after)

    @rule()
    def restart(self) -> None:
        self.settled = False
        self.service.restart()

    @rule(places=st.integers(0, 12))
    def crash_in_the_middle_of_a_tick(self, places: int) -> None:
        self.fuse.left = places
        try:
            self.runner.run(self._tick())
        except Crash:
            self.service.restart()
        finally:
            self.fuse.left = None
            self.settled = False

    # -- time -------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0, 0.5, 3, 12, 25, 65]))
    def let_time_pass(self, seconds: float) -> None:
        """Let time pass without any ring: the service looks again all the same."""
        self.runner.run(self._settle(seconds))

    @rule(seconds=st.sampled_from([600, 3000]))
    def jump(self, seconds: float) -> None:
        self.runner.run(self._settle(seconds))

    async def _settle(self, seconds: float) -> None:
        await self.service.clock.advance(seconds)
        for _ in range(4):
            self.settled = await self._tick()

    async def _tick(self) -> bool:
        """Tick, and check that started tasks are within quota (Q1, Q2); returns whether the service leads."""
        before = {task.id: task.run.number if task.run else 0 for task in await self._tasks()}
        leading = await self.service.loop.cycle.tick()
        after = await self._tasks()
        begun = [task for task in after if task.run is not None and task.run.number > before.get(task.id, 0)]
        await self._check_quota(after, begun)
        return leading

    async def _check_quota(self, tasks: list[Task], begun: list[Task]) -> None:
        async with self.service.store.read() as tx:
            groups = {user.name: user.groups for user in await tx.users.all()}
            book = QuotaTable(await tx.quotas.all(), groups, self.service.clock.now())
        accounts = QuotaAccounts(book, "training", GPUS)
        for task in tasks:
            if task.live_run is not None:
                accounts.add(task.user, task.live_run.priority, accounts.units(task))
        for task in begun:
            assert task.run is not None
            assert all(account.fits(0) for account in accounts.of(task.user, task.run.priority)), f"task {task.id}"

    async def _tasks(self) -> list[Task]:
        return [await self.service.task(task_id) for task_id in self.submitted]

    # -- what always holds ------------------------------------------------------------------------

    @invariant()
    def no_gpu_is_held_twice(self) -> None:
        self.service.cluster.record.check()
        unfinished = tuple(task for task in self.runner.run(self._tasks()) if not task.state.ended)
        nodes = tuple(self.runner.run(self.service.cluster.nodes()))
        Snapshot(now=self.service.clock.now(), nodes=nodes, tasks=unfinished).check()

    @invariant()
    def gangs_are_whole_and_no_task_runs_twice(self) -> None:
        for task in self.runner.run(self._tasks()):
            run = task.live_run
            if run is not None:
                assert len(set(run.nodes)) == len(run.ranks) == task.nodes
                assert {len(rank.gpus) for rank in run.ranks} == {task.gpus or 0}
        present = {run_id for runs in self.service.cluster.record.holders().values() for run_id in runs}
        assert len({run_id.split(".")[0] for run_id in present}) == len(present)

    @invariant()
    def no_run_is_ordered_that_the_store_does_not_know(self) -> None:
        tasks = {task.id: task for task in self.runner.run(self._tasks())}
        for run_id in self.service.cluster.record.launches:
            task_id, number = map(int, run_id.split("."))
            run = tasks[TaskId(task_id)].run
            assert run is not None
            assert run.number >= number

    @invariant()
    def who_waits_is_told_why(self) -> None:
        if self.settled:
            waiting = {task.id for task in self.runner.run(self._tasks()) if task.state.waiting}
            verdicts = self.service.loop.cycle.latest_plan.verdicts
            assert set(verdicts) == waiting
            assert all(verdicts[task_id].kind for task_id in waiting)

    # -- in the end -------------------------------------------------------------------------------

    def teardown(self) -> None:
        """Repair all faults and let the service run: then every task ends, and no run is left on the cluster."""
        try:
            if hasattr(self, "service"):
                self.runner.run(self._end())
        finally:
            self.patch.undo()
            self.runner.close()

    async def _end(self) -> None:
        service, platform = self.service, self.service.platform
        await self._settle(20)  # by then the lease of a dead process is over
        await platform.administration.unpause(ADMIN)
        for level in Priority:
            for subject in SUBJECTS:
                row = Quota(subject=subject, group="training", priority=level, limit=None)
                await platform.administration.put_quota(ADMIN, row)
        for name in NODES:
            await self._mend(name)
            await platform.administration.mark_node(ADMIN, name, NodeMark.NONE)
        await platform.policy.change(ADMIN, None, {"quarantine_share": 0.0, "slice": "60s", "min_run": "30s"}, ())
        await platform.policy.change(
            ADMIN, None, {"max_cross_zone": 3, "max_rotations": 16, "min_run_per_switch": 0}, ()
        )
        for task in await self._tasks():
            if task.held and not task.state.ended:
                await platform.tasks.submissions.resume(ADMIN, str(task.id))
        for _ in range(300):
            if all(task.state.ended for task in await self._tasks()):
                break
            await service.clock.advance(30)
            await self._tick()
            await self._tick()
        for task in await self._tasks():
            unlucky = len(task.avoid) > len(NODES) - task.nodes
            why = service.loop.cycle.latest_plan.verdicts.get(task.id)
            assert task.state.ended or unlucky, f"task {task.id} is {task.state.value}: {why}, {task}"
            assert task.state is not TaskState.SUCCEEDED or task.reason is not None
        await self._settle(60)
        assert {run for runs in service.cluster.record.holders().values() for run in runs} == set()


ServiceMachine.TestCase.settings = settings(
    max_examples=100 * int(os.environ.get("HAI_EXAMPLES", "1")), stateful_step_count=30, deadline=None
)
TestServiceUnderWhateverHappens = ServiceMachine.TestCase
