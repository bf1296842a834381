"""A task that kills its own supervisor gains nothing: no storm of runs, no process that stays, no node.

Processes are real, and the scheduler's time is virtual: the tests do not wait for back-offs.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hai_client.linux.processes import read_arguments, read_table
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.folders import RankFolder
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.api.server import platform as rooms
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.shared.caller import SCOPE_WRITE, Caller
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.world import RankLocations
from hai_scheduler.service.tasks.submission import Submission
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore
from kit.waiting import until
from kit.worlds import TOKENS, make_world

#: A command that kills its parent, the supervisor, at once.
KILLS = "kill -9 $PPID; sleep 600"
#: A command that kills the supervisor and the supervisor's parent, the keeper, at the same moment.
KILLS_BOTH = 'keeper=$(cut -d" " -f4 /proc/$PPID/stat); kill -9 $keeper $PPID; sleep 600'


class Platform:
    """A service over ranks that are real processes, on twelve nodes of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.store = ScratchStore()
        self.policies = Policies(default=Policy())
        self.clusters: list[LocalCluster] = []
        self.restart()

    def restart(self) -> None:
        """Replace the service, as a new process of it would."""
        settings = LocalSettings(
            runs_dir=self.folder / "runs",
            nodes=tuple(LocalNode(node=Node(name=f"node-{number}")) for number in range(12)),
            api_url="http://127.0.0.1:9/api",
            path_prefix=(str(Path(sys.executable).parent),),
            term_wait_s=0.3,
        )
        self.clusters.append(LocalCluster(settings))
        world = make_world(
            store=self.store,
            cluster=self.clusters[-1],
            clock=self.clock,
            settings=ServiceSettings(policy=self.policies),
            locations=RankLocations(api_url="http://127.0.0.1:9/api", checkpoint_root=str(self.folder / "checkpoints")),
            holder=f"holder-{len(self.clusters)}",
        )
        self.loop = SchedulingLoop(world, TOKENS, predecessor=f"holder-{len(self.clusters) - 1}")
        self.platform = rooms.Platform(world)

    async def open(self) -> Platform:
        async with self.store.write() as tx:
            await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=None))
        await self.loop.cycle.tick()
        return self

    async def close(self) -> None:
        last = LocalCluster(self.clusters[-1]._settings)
        for run in await last.observe():
            await last.kill(run.run_id)

        async def gone() -> bool:
            return all(run.gone for run in await last.observe())

        await until("every run to be gone", gone)
        for cluster in (*self.clusters, last):
            await cluster.close()

    async def submit(self, user: str, script: str, nodes: int = 1) -> TaskId:
        caller = Caller(name=user, scopes=frozenset({SCOPE_WRITE}))
        words = ("sh", "-c", script)
        submission = Submission(name="t", command=words, cwd=str(self.folder), nodes=nodes)
        return (await self.platform.tasks.submissions.submit(caller, submission)).id

    async def task(self, task_id: TaskId) -> Task:
        async with self.store.read() as tx:
            return await tx.tasks.get(task_id)

    async def when(self, task_id: TaskId, *states: TaskState) -> Task:
        """The task as soon as it is in one of the states; the service ticks meanwhile, and its clock stands still."""

        async def look() -> Task | None:
            await self.loop.cycle.tick()
            task = await self.task(task_id)
            return task if task.state in states else None

        return await until(f"task {task_id} to be {', '.join(states)}", look)


async def kill_supervisor(platform: Platform, task: TaskId) -> None:
    """Kill the keeper and the supervisor of a task's only rank, and wait until no process holds its lock."""
    folder = RankFolder(platform.folder / "runs" / str(task) / "1" / "0", RunId(f"{task}.1"), 0)
    for pid in folder.find_supervisors():
        os.kill(pid, signal.SIGKILL)

    async def dead() -> bool:
        return not folder.supervised()

    await until("the lock of the rank to be free", dead)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    platform = await Platform(tmp_path).open()
    yield platform
    await platform.close()


@pytest.fixture
def nap() -> str:
    """A number of seconds that no other process sleeps: it identifies a process that has no environment."""
    return str(random.SystemRandom().randrange(10**6, 10**9))


def named(word: str) -> list[int]:
    table = read_table()
    return [pid for pid in table if not table[pid].zombie and read_arguments(pid) == ["sleep", word]]


async def test_h4_a_task_that_kills_its_supervisor_has_three_runs_and_no_more(platform: Platform) -> None:
    """Before rule H4, such a task had 18 runs in 25 seconds."""
    task = await platform.submit("mallory", KILLS)
    for wait in (15, 30):
        broken = await platform.when(task, TaskState.SUSPENDED, TaskState.FAILED)
        assert (broken.state, broken.reason) == (TaskState.SUSPENDED, Reason.SUPERVISOR_KILLED)
        await platform.clock.advance(wait - 1)
        for _ in range(3):
            await platform.loop.cycle.tick()
        assert (await platform.task(task)).state is TaskState.SUSPENDED
        await platform.clock.advance(1)
        await platform.when(task, TaskState.STARTING, TaskState.RUNNING)
    over = await platform.when(task, TaskState.FAILED)
    assert over.run is not None
    assert (over.reason, over.run.number) == (Reason.SUPERVISOR_KILLED, 3)


async def test_h3_one_user_takes_no_node_from_the_others(platform: Platform) -> None:
    """Before rule H4, two tasks of one user could put one node after another in quarantine."""
    tasks = [await platform.submit("mallory", KILLS) for _ in range(3)]
    for wait in (15, 30, 0):
        for task in tasks:
            await platform.when(task, TaskState.SUSPENDED, TaskState.FAILED)
        await platform.clock.advance(wait)
        for _ in range(2):
            await platform.loop.cycle.tick()
    async with platform.store.read() as tx:
        assert NodeMark.QUARANTINED not in (await tx.nodes.marks()).values()
        assert list(await tx.nodes.strikes()) == []
    gang = await platform.submit("bob", "sleep 600", nodes=12)
    await platform.when(gang, TaskState.RUNNING)


async def test_h4_when_everybodys_supervisors_are_killed_nobody_is_to_blame(platform: Platform) -> None:
    tasks = [await platform.submit(user, "sleep 600") for user in ("ann", "bob")]
    for task in tasks:
        await platform.when(task, TaskState.RUNNING)
    # Both are gone before the service looks: it does not tick meanwhile.
    for task in tasks:
        await kill_supervisor(platform, task)

    async def again() -> bool:
        await platform.loop.cycle.tick()
        now = [await platform.task(task) for task in tasks]
        return all(task.run is not None and task.run.number == 2 for task in now)

    await until("the second run", again)
    assert [(await platform.task(task)).failed_starts for task in tasks] == [0, 0]


async def test_h4_what_dies_with_the_service_is_nobodys_doing(platform: Platform) -> None:
    task = await platform.submit("ann", "sleep 600")
    await platform.when(task, TaskState.RUNNING)
    await platform.clusters[-1].close()
    await kill_supervisor(platform, task)
    platform.restart()

    async def again() -> bool:
        await platform.loop.cycle.tick()
        run = (await platform.task(task)).run
        return run is not None and run.number == 2

    await until("the second run", again)
    assert (await platform.task(task)).failed_starts == 0


@pytest.mark.parametrize("kills", [KILLS, KILLS_BOTH], ids=["the supervisor", "the supervisor and the keeper"])
async def test_nothing_of_it_stays_behind_but_what_has_neither_name_nor_parent(
    platform: Platform, nap: str, kills: str
) -> None:
    """Daemons in sessions of their own, forked twice; without an environment where a keeper is left to find them."""
    naked = "env -i " if kills is KILLS else ""
    daemons = f"for i in 1 2 3; do {naked}setsid sh -c '(sleep {nap} & sleep {nap}) & sleep {nap}' & done"
    ready = f"while [ $(ps -eo args | grep -c '^sleep {nap}$') -lt 9 ]; do sleep 0.02; done"
    task = await platform.submit("mallory", f"{daemons}; {ready}; {kills}")
    broken = await platform.when(task, TaskState.SUSPENDED, TaskState.FAILED)
    assert broken.reason is Reason.SUPERVISOR_KILLED
    assert named(nap) == []
