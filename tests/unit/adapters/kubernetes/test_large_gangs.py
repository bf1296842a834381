"""The launch of a large gang takes only a part of the slots for the API server, so others do not wait for it."""

from __future__ import annotations

import asyncio

from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.things import a_kube_node

RANKS = 300


async def test_who_comes_after_a_large_gang_is_launched_in_the_middle_of_it(server, opened) -> None:
    for number in range(3, RANKS + 2):
        server.put("nodes", a_kube_node(f"node-{number}"))
    cluster = opened(parallel=4)

    async def seen() -> bool:
        return len(await cluster.nodes()) > RANKS

    await until("all nodes to be observed", seen)
    gang = a_launch(nodes=tuple(f"node-{number}" for number in range(2, RANKS + 2)))
    large = asyncio.create_task(cluster.launch(gang))

    async def begun() -> bool:
        return len(server.objects["pods"]) >= 5

    await until("the first pods", begun)
    await cluster.launch(a_launch(2, nodes=("node-1",)))
    there = len(server.objects["pods"])
    await large
    assert there < RANKS // 4, "the gang's pods still went one after the other"
    assert len(server.objects["pods"]) == RANKS + 1
