"""`explain` of a running task says since when nothing was heard of it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta


async def test_a_silent_task_is_said_to_be_silent(world) -> None:
    task = await world.start(await world.submit(nodes=1))
    world.cluster.logs["1.1", 0] = b"2026-01-05T12:34:56.000000Z epoch 1\n"
    _, found = await world.json("GET", f"/tasks/{task.id}/explain")
    assert "no rank has printed anything since 2026-01-05 12:34 UTC" in found["sentence"]
    assert "hai profile" in found["sentence"]
    newest = int(time.time()) // 10 * 10
    headers = {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}
    point = {"at": newest, "values": {"cpu": [1.0, 1.0, 1.0]}}
    await world.json("PUT", "/runs/1.1/ranks/0/metrics", None, json={"points": [point]}, headers=headers)
    _, found = await world.json("GET", f"/tasks/{task.id}/explain")
    assert "silent" not in found["sentence"]


async def test_a_task_that_has_just_begun_is_not(world) -> None:
    task = await world.start(await world.submit(nodes=1))
    async with world.store.write() as tx:
        known = await tx.tasks.get(task.id)
        assert known.run is not None
        await tx.tasks.save(replace(known, run=replace(known.run, running_at=datetime.now(UTC) - timedelta(minutes=1))))
    _, found = await world.json("GET", f"/tasks/{task.id}/explain")
    assert "silent" not in found["sentence"]
