"""The leader ends, or is stopped: the other leads, and no task is lost or run twice."""

from __future__ import annotations

import signal
import time

import pytest

from integration.replicas.conftest import TAKEOVER, Pair
from kit.waiting import until

#: The replicas of a module are shared, and with them the loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("database", ["postgres", "sqlite"], indirect=True)
async def test_after_a_kill_the_other_leads_and_every_task_runs_once(pair: Pair) -> None:
    leader, follower = await pair.start()
    gate = pair.folder / "gate"
    before = await leader.submit("before", pair.counting("before", f"until [ -e {gate} ]; do sleep 0.1; done"))
    await leader.wait_for(before, "running")

    await leader.end(signal.SIGKILL)
    died = time.monotonic()
    gap = [await follower.submit(f"gap-{n}", pair.counting(f"gap-{n}")) for n in range(4)]
    await until("the service to lead", follower.leads, within=TAKEOVER)
    print(f"took over in {time.monotonic() - died:.1f} s")

    for task in gap:
        await follower.wait_for(task, "succeeded")
    assert await follower.state(before) == "running"
    gate.touch()
    await follower.wait_for(before, "succeeded")
    for name in ("before", *(f"gap-{n}" for n in range(4))):
        assert pair.count(name) == 1, name
    for task in (before, *gap):
        assert len((await follower.get(f"/tasks/{task}"))["runs"]) == 1


async def test_killed_again_and_again_while_tasks_come_nothing_is_lost_or_doubled(pair: Pair) -> None:
    await pair.start()
    tasks: dict[str, int] = {}
    for turn in range(3):
        leader, follower = await pair.roles()
        for n in range(4):
            name = f"task-{turn}-{n}"
            tasks[name] = await (leader, follower)[n % 2].submit(name, pair.counting(name, "sleep 0.3"))
        # Whatever the leader is doing now, it does not finish it.
        await leader.end(signal.SIGKILL)
        await until("the service to lead", follower.leads, within=TAKEOVER)
        await leader.launch()
    leader, _ = await pair.roles()
    for name, task in tasks.items():
        await leader.wait_for(task, "succeeded")
        assert pair.count(name) == 1, name
        assert len((await leader.get(f"/tasks/{task}"))["runs"]) == 1


async def test_a_leader_that_was_stopped_for_long_follows_when_it_goes_on(pair: Pair) -> None:
    leader, follower = await pair.start()
    first = await follower.submit("first", pair.counting("first", "sleep 300"))
    await follower.wait_for(first, "running")
    leader.send(signal.SIGSTOP)
    try:
        # Stopped in the middle of a transaction, it is thrown out by the database first.
        await until("the service to lead", follower.leads, within=2 * TAKEOVER)
        tasks = [await follower.submit(f"t-{n}", pair.counting(f"t-{n}")) for n in range(3)]
        for task in tasks:
            await follower.wait_for(task, "succeeded")
        assert (await follower.json("POST", f"/tasks/{first}/stop"))[0] == 200
    finally:
        leader.send(signal.SIGCONT)
    await until("the old leader to follow", leader.follows)
    assert await pair.roles() == (follower, leader)
    await leader.wait_for(first, "stopped")
    more = await leader.submit("more", pair.counting("more"))
    await leader.wait_for(more, "succeeded")
    for name in ("first", "t-0", "t-1", "t-2", "more"):
        assert pair.count(name) == 1, name


async def test_a_leader_that_is_told_to_end_hands_over_at_once(pair: Pair) -> None:
    usual = list(pair.one.words)
    for replica in (pair.one, pair.other):
        if replica.up:
            await replica.end(signal.SIGTERM)
        # The lease lasts longer than this test, so the next leader leads only because it was given the lease.
        replica.words = [*usual, "--HaiScheduler.lease_length=10m"]
    try:
        leader, follower = await pair.start()
        assert await leader.end(signal.SIGTERM) == 0
        ended = time.monotonic()
        await until("the service to lead", follower.leads)
        print(f"handed over in {time.monotonic() - ended:.2f} s")
        task = await follower.submit("after", pair.counting("after"))
        await follower.wait_for(task, "succeeded")
        await leader.launch()
        assert await pair.roles() == (follower, leader)
        for replica in (leader, follower):
            assert await replica.end(signal.SIGTERM) == 0
    finally:
        for replica in (pair.one, pair.other):
            replica.words = usual
    await pair.start()
