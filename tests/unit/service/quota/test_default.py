"""The default quota of a platform whose nodes come after it (Q1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.service.quota.default import decide
from hai_scheduler.service.scheduling import housekeeping
from hai_scheduler.service.scheduling.housekeeping import LOOK
from kit.builders import some_nodes
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service


async def test_the_leader_decides_when_the_first_nodes_are_there() -> None:
    service = Service(nodes=0)
    service.settings = replace(service.settings, default_quota=3)
    service.restart()
    assert not await decide(service.store, (), 3)
    deciding = asyncio.create_task(service.loop.housekeeping.decide_quota())
    await service.step(LOOK)
    await service.clock.advance(LOOK)
    assert not deciding.done()
    for node in some_nodes(2):
        service.cluster.faults.put_node(node)
    await service.step(LOOK)
    await service.clock.advance(LOOK)
    async with asyncio.timeout(10):
        await deciding
    async with service.store.read() as tx:
        assert {(row.priority.name, row.limit) for row in await tx.quotas.all()} == {
            (level, 3) for level in ("NORMAL", "BELOW_NORMAL", "LOW")
        }
    task = await service.submit("first", "ann", nodes=2)
    await service.step()
    assert await service.states(task) == ["starting"] or await service.states(task) == ["running"]


@pytest.mark.parametrize("trouble", [None, RuntimeError("unforeseen")])
async def test_what_is_old_is_forgotten_though_the_quota_is_not_decided(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception | None
) -> None:
    async def undecided(*_: object) -> bool:
        if trouble is not None:
            raise trouble
        return False

    monkeypatch.setattr(housekeeping, "decide", undecided)
    service = await Service(nodes=1).open()
    task = await service.submit("old", "ann", does=Behaviour(work=timedelta(0)))
    await service.step(3)
    assert await service.states(task) == ["succeeded"]
    await service.clock.advance(service.settings.keep_ended.total_seconds() + 1)
    sweeping = asyncio.create_task(service.loop.housekeeping.run())
    await service.step(1)
    await service.clock.advance(2 * LOOK)
    async with service.store.read() as tx:
        assert await tx.tasks.ended_before(service.clock.now(), limit=10) == []
    assert not sweeping.done()
    sweeping.cancel()
    await asyncio.gather(sweeping, return_exceptions=True)
