"""What probes are told: whether the process answers, and whether requests should be sent to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from types import SimpleNamespace

from hai_scheduler.ports.errors import Temporary


async def test_a_process_that_answers_is_live_whatever_else(world) -> None:
    world.latest_plan.last_tick = None
    assert await world.json("GET", "/health/live", None) == (200, {"status": "live"})


async def test_ready_says_who_leads_and_tells_no_names(world) -> None:
    async def ready() -> dict:
        status, body = await world.json("GET", "/health/ready", None)
        assert status == 200
        return body

    assert await ready() == {"status": "ready", "leader": "nobody"}
    now, another, this = world.latest_plan.last_tick, "machine-8:815", "machine-7:4711"
    async with world.store.write() as tx:
        await tx.lease.acquire(another, now=now, length=timedelta(hours=1))
    assert await ready() == {"status": "ready", "leader": "another"}
    world.latest_plan.leading = True
    assert await ready() == {"status": "ready", "leader": "another"}, "it has been lost, and no service has noticed yet"
    async with world.store.write() as tx:
        await tx.lease.release(another)
        await tx.lease.acquire(this, now=now, length=timedelta(hours=1))
    assert await ready() == {"status": "ready", "leader": "this"}
    world.latest_plan.sure = lambda: False
    assert await ready() == {"status": "ready", "leader": "nobody"}, "it may have run out since"
    async with world.store.write() as tx:
        await tx.lease.release(this)
        await tx.lease.acquire(another, now=now - timedelta(hours=1), length=timedelta(minutes=1))
    assert await ready() == {"status": "ready", "leader": "nobody"}


async def test_before_the_first_look_at_the_nodes_it_is_not_ready(world) -> None:
    world.latest_plan.last_tick, world.latest_plan.leading = None, True
    status, problem = await world.json("GET", "/health/ready", None)
    assert (status, problem["code"]) == (503, "unavailable")


async def test_without_its_database_it_is_not_ready_and_says_so_in_time(world, monkeypatch) -> None:
    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        raise Temporary("connection to 10.1.2.3 refused")
        yield

    @asynccontextmanager
    async def hanging() -> AsyncIterator[None]:
        """As of a driver that cannot give up: it waits for an answer before it closes the connection."""
        nonlocal looks
        looks += 1
        with suppress(asyncio.CancelledError):
            await thawed.wait()
        await thawed.wait()
        yield SimpleNamespace(lease=SimpleNamespace(get=no_lease))

    async def no_lease() -> None:
        return None

    looks, thawed = 0, asyncio.Event()
    for read in (away, hanging, hanging):
        monkeypatch.setattr(world.store, "read", read)
        async with asyncio.timeout(60):
            status, problem = await world.json("GET", "/health/ready", None)
        assert (status, problem["detail"]) == (503, "The state database does not answer.")
        assert (await world.json("GET", "/health/live", None))[0] == 200
    assert looks == 1, "no request more hangs on the database for each that asks"
    thawed.set()
    assert await world.json("GET", "/health/ready", None) == (200, {"status": "ready", "leader": "nobody"})
