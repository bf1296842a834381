"""The scheduling loop and the API as two real processes: each does its part, and each outlives the other."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from integration.replicas.conftest import Replica, _end_ranks, service_environment
from kit.databases import empty_postgres, postgres_url
from kit.waiting import until

#: The Hub of a module is shared, and with it the loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

#: Only a ring makes a tick within a minute: the longest wait is also a quarter of the lease.
RARELY = ("--HaiScheduler.tick_every=60s", "--HaiScheduler.lease_length=10m")


@pytest_asyncio.fixture(loop_scope="module", params=["sqlite", "postgres"])
async def machine(request: pytest.FixtureRequest, tmp_path: Path, hub: str) -> AsyncIterator[Replica]:
    """One machine without Redis; nothing has been started."""
    database = ""
    if request.param == "postgres":
        database = postgres_url()
        await empty_postgres(database, drop=True)
    state = tmp_path / "state"
    words = ["--state-dir", str(state), "--nodes", "1", "--gpus-per-node", "1"]
    async with aiohttp.ClientSession() as client:
        made = Replica("machine", tmp_path / "machine.log", words, service_environment(hub, database, None), client)
        try:
            yield made
        finally:
            if made.up:
                await made.end()
            _end_ranks(state)


async def health(machine: Replica) -> dict[str, object]:
    """What the API says; nothing while it is away."""
    try:
        return dict((await machine.json("GET", "/health", None))[1])
    except (aiohttp.ClientError, TimeoutError):
        return {}


async def well(machine: Replica) -> bool:
    return (await health(machine)).get("status") == "ok"


async def test_on_a_fresh_machine_both_start_at_once_and_a_ring_starts_what_is_submitted(machine: Replica) -> None:
    machine.words += RARELY
    await machine.launch()
    await until("the service to lead", machine.leads)
    task = await machine.submit("rung", "sleep 600")
    await machine.wait_for(task, "running", within=30)
    status, _ = await machine.json("POST", f"/tasks/{task}/stop")
    assert status in (200, 202)
    await machine.wait_for(task, "stopped", within=30)


async def test_with_the_loop_dead_the_api_answers_and_says_what_is_wrong(machine: Replica) -> None:
    await machine.launch()
    await until("all to be well", lambda: well(machine))
    assert machine.process is not None
    machine.process.send_signal(signal.SIGKILL)
    await machine.process.wait()
    task = await machine.submit("meanwhile", "true")

    async def told() -> bool:
        said = await health(machine)
        return "The scheduling loop has not ticked for" in str(said.get("detail"))

    await until("the health to say that the loop does not tick", told)
    assert await machine.state(task) == "queued"
    await machine.launch_loop()
    await machine.wait_for(task, "succeeded")
    await until("all to be well", lambda: well(machine))


async def test_with_the_api_dead_ticks_go_on(machine: Replica, tmp_path: Path) -> None:
    await machine.launch()
    await until("all to be well", lambda: well(machine))
    one = await machine.submit("one", f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")
    two = await machine.submit("two", f"touch {tmp_path}/two")
    await machine.wait_for(one, "running")
    assert machine.api is not None
    machine.api.send_signal(signal.SIGKILL)
    await machine.api.wait()
    await asyncio.to_thread((tmp_path / "go").touch)

    async def ran() -> bool:
        return await asyncio.to_thread((tmp_path / "two").exists)

    await until("the second task to run", ran)
    assert await machine.loop_says() == "this"
    await machine.launch_api()
    await until("the service to be ready", machine.ready)
    for task in (one, two):
        await machine.wait_for(task, "succeeded")


async def test_either_may_come_first(machine: Replica) -> None:
    await machine.launch_api()

    async def answers() -> bool:
        try:
            return (await machine.json("GET", "/health/ready", None)) == (200, {"status": "ready", "leader": "nobody"})
        except (aiohttp.ClientError, TimeoutError):
            return False

    await until("the API to answer without a loop", answers)
    assert "has not ticked yet" in str((await health(machine))["detail"])
    task = await machine.submit("first", "true")
    await machine.launch_loop()
    await machine.wait_for(task, "succeeded")
    assert machine.api is not None
    machine.api.send_signal(signal.SIGTERM)
    assert await machine.api.wait() == 0
    assert machine.process is not None
    machine.process.send_signal(signal.SIGTERM)
    assert await machine.process.wait() == 0
    assert "Traceback" not in machine.said
