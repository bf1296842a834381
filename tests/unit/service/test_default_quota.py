"""The default quota of a platform whose nodes come after it (Q1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from builders import some_nodes
from hai_scheduler.service.default_quota import decide
from hai_scheduler.service.housekeeping import LOOK
from unit.service.service_world import Service


async def test_the_leader_decides_when_the_first_nodes_are_there() -> None:
    service = Service(nodes=0)
    service.settings = replace(service.settings, default_quota=3)
    service.restart()
    assert not await decide(service.store, (), 3)
    deciding = asyncio.create_task(service.parts.housekeeping.decide_quota())
    await service.step(LOOK)
    await service.clock.advance(LOOK)
    assert not deciding.done()
    for node in some_nodes(2):
        service.cluster.put_node(node)
    await service.step(LOOK)
    await service.clock.advance(LOOK)
    async with asyncio.timeout(10):
        await deciding
    async with service.store.read() as tx:
        assert {(row.priority.name, row.limit) for row in await tx.quotas()} == {
            (level, 3) for level in ("NORMAL", "BELOW_NORMAL", "LOW")
        }
    task = await service.submit("first", "ann", nodes=2)
    await service.step()
    assert await service.states(task) == ["starting"] or await service.states(task) == ["running"]
